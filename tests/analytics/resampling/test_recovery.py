"""Parameter recovery and split halves: what is compared with what, from which seed."""

import numpy as np
import pytest
from scipy.special import expit

from analytics.irt.testlet import fit_testlet
from analytics.matrix import ResponseMatrix
from analytics.resampling.recovery import parameter_recovery, split_halves


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(8)
    n_raters, n_items, n_testlets = 12, 240, 24
    of_item = np.arange(n_items) % n_testlets
    theta, b, u = (
        rng.normal(size=(n_raters, 1)),
        rng.normal(0, 1.5, n_items),
        rng.normal(0, 0.5, (n_raters, n_testlets)),
    )
    responses = (rng.random((n_raters, n_items)) < expit(theta + u[:, of_item] - b)).astype(float)
    responses[rng.random(responses.shape) < 0.1] = np.nan
    matrix = ResponseMatrix(
        responses=responses,
        rater_ids=tuple(f"r{i:02d}" for i in range(n_raters)),
        item_ids=tuple(f"i{j:03d}" for j in range(n_items)),
        testlet_ids=tuple(f"t{t:02d}" for t in range(n_testlets)),
        item_testlet=of_item,
        rater_model=tuple(f"m{i % 4}" for i in range(n_raters)),
    )
    return matrix, fit_testlet(responses, of_item)


@pytest.mark.parametrize("design", ["fitted_parameters", "drawn_parameters"])
def test_ability_is_recovered_better_than_difficulty(fitted, design) -> None:
    rows = parameter_recovery(*fitted, design=design, n_replicates=4, seed=1)
    assert [(row.parameter, row.replicate) for row in rows] == [(p, k) for k in range(4) for p in ("theta", "b")]
    r = {name: np.mean([row.pearson_r for row in rows if row.parameter == name]) for name in ("theta", "b")}
    assert r["theta"] > 0.97
    assert 0.75 < r["b"] < r["theta"]
    assert np.mean([row.slope for row in rows if row.parameter == "theta"]) == pytest.approx(1.0, abs=0.15)
    assert all(np.isnan(row.spearman_brown) for row in rows)


def test_the_seed_decides(fitted) -> None:
    first, same, other = (
        parameter_recovery(*fitted, design="drawn_parameters", n_replicates=1, seed=seed) for seed in (1, 1, 2)
    )
    assert [row.rmse for row in first] == [row.rmse for row in same]
    assert first[0].rmse != other[0].rmse


def test_halves_share_no_testlet_and_no_model_and_splits_are_distinct(fitted) -> None:
    rows = split_halves(*fitted, n_replicates=10, seed=1)
    by_design = {design: [r for r in rows if r.design == design] for design in ("items_by_testlet", "raters_by_model")}
    assert len(by_design["items_by_testlet"]) == 10
    assert len(by_design["raters_by_model"]) == 3  # four models have three ways to be halved
    assert {row.n for row in by_design["raters_by_model"]} == {240}
    row = by_design["items_by_testlet"][0]
    assert row.spearman_brown == pytest.approx(2 * row.pearson_r / (1 + row.pearson_r))
    assert np.mean([r.pearson_r for r in by_design["items_by_testlet"]]) > 0.9


def test_shuffled_columns_leave_no_split_half_reliability_of_difficulty(fitted) -> None:
    matrix, _ = fitted
    rng = np.random.default_rng(3)
    shuffled = np.stack([row[rng.permutation(row.size)] for row in matrix.responses])
    control = ResponseMatrix(
        shuffled, matrix.rater_ids, matrix.item_ids, matrix.testlet_ids, matrix.item_testlet, matrix.rater_model
    )
    rows = split_halves(control, fit_testlet(shuffled, matrix.item_testlet), n_replicates=3, seed=1)
    r = [row.pearson_r for row in rows if row.parameter == "b"]
    assert np.nanmax(np.abs(r)) < 0.2  # 240 items: three standard errors of a correlation of 0


def test_an_unknown_design_is_refused(fitted) -> None:
    with pytest.raises(ValueError, match="unknown design 'paper'"):
        parameter_recovery(*fitted, design="paper", n_replicates=1, seed=1)
