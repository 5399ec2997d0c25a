"""Accuracy by bin and its slope: by hand, and the excess against a model that is true."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from analytics.robustness import bin_accuracy, bin_slope
from analytics.tables import CELL_COLUMNS, FitOptions, fit_dataset


def test_accuracy_by_bin_by_hand() -> None:
    nan = np.nan
    responses = np.array([[1, 1, 0, nan], [nan, nan, 1, 1]])
    found = bin_accuracy(responses, np.full((2, 4), 0.25), np.array([1, 1, 2, 2]), 3)
    np.testing.assert_array_equal(found.n, [[2, 1, 0], [0, 2, 0]])
    np.testing.assert_array_equal(found.n_missing, [[0, 1, 0], [2, 0, 0]])
    np.testing.assert_array_equal(found.accuracy, [[1, 0, nan], [nan, 1, nan]])
    np.testing.assert_array_equal(found.expected_accuracy, [[0.25, 0.25, nan], [nan, 0.25, nan]])


def test_slope_by_hand() -> None:
    # accuracies 1, .5, 0 in bins 1, 2, 3; expected .8, .5, .2
    response = np.array([1, 1, 1, 0, 0, 0], dtype=float)
    probability = np.array([0.8, 0.8, 0.5, 0.5, 0.2, 0.2])
    found = bin_slope(response, probability, np.array([1, 1, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 0, 1]))
    assert (found.slope, found.expected_slope) == pytest.approx((-0.5, -0.3))
    assert found.excess_slope == pytest.approx(-0.2)
    # weights -1/4 -1/4 0 0 1/4 1/4 on y - p = .2 .2 . . -.2 -.2: each testlet sums to -.1; 2 * .01 * 2/1
    assert found.excess_slope_se == pytest.approx(0.2)
    assert found.slope_se == 0.0  # no spread inside bins 1 and 3, and bin 2 has no weight
    assert found.excess_slope_ci_high == pytest.approx(-0.2 + 1.959964 * 0.2)


def test_one_bin_or_one_testlet_is_undefined_with_its_reason() -> None:
    one_bin = bin_slope(np.array([1.0, 0.0]), np.array([0.5, 0.5]), np.array([2, 2]), np.array([0, 1]))
    assert np.isnan(one_bin.slope)
    assert one_bin.undefined_reason == "responses in fewer than two bins"
    one_testlet = bin_slope(np.array([1.0, 0.0]), np.array([0.5, 0.5]), np.array([1, 2]), np.array([0, 0]))
    assert one_testlet.slope == -1.0
    assert np.isnan(one_testlet.slope_se)
    assert one_testlet.undefined_reason == "one testlet: no standard error"


def test_interval_of_the_excess_slope_covers_zero_when_the_model_is_true() -> None:
    rng = np.random.default_rng(7)
    n_items, covered = 400, []
    b = np.sort(rng.normal(0, 1.5, n_items))
    bins, testlet = np.repeat(np.arange(1, 6), 80), rng.integers(0, 60, n_items)
    for _ in range(400):
        p = expit(0.4 - b)
        found = bin_slope((rng.random(n_items) < p).astype(float), p, bins, testlet)
        covered.append(found.excess_slope_ci_low <= 0 <= found.excess_slope_ci_high)
    assert 0.92 < np.mean(covered) < 0.98  # .95, binomial error .011 on 400 draws


def test_a_rater_that_holds_up_better_has_a_positive_excess(rng) -> None:
    b = np.sort(rng.normal(0, 2, 2000))
    bins, testlet = np.repeat(np.arange(1, 6), 400), np.arange(2000) % 200
    response = (rng.random(2000) < expit(0.4 * (0.5 - b))).astype(float)  # falls at less than half the rate
    assert bin_slope(response, expit(0.5 - b), bins, testlet).excess_slope_ci_low > 0


def test_other_models_that_are_all_wrong_leave_no_bins_and_break_nothing() -> None:
    scores = {"a|0": "0000", "b|0": "1101", "b|1": "0110"}
    cells = pl.DataFrame(
        [
            (rater, rater[0], f"i{i}", "t", int(score), "ok", "right", "right" if score == "1" else "wrong")
            for rater, row in scores.items()
            for i, score in enumerate(row)
        ],
        schema=list(CELL_COLUMNS),
        orient="row",
    )
    slopes = fit_dataset(cells, dataset="tiny", options=FitOptions(n_replicates=0)).rater_slopes
    reasons = slopes.filter(bin_source="leave_model_out").select("rater_id", "undefined_reason").unique()
    assert dict(reasons.iter_rows())["b|0"] == "every response of the other models is 0"
    assert slopes.filter(bin_source="own_fit", rater_id="b|0")["slope"].is_not_null().all()
