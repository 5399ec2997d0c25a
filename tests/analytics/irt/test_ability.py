"""Abilities on a fixed calibration: the four estimators, ends of the scale, order, single rows."""

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from analytics.irt.ability import score_abilities
from analytics.irt.information import expected_scores, item_information, test_information
from analytics.irt.items import ItemParameters, category_probabilities, item_parameters
from analytics.irt.reading import responses_from_matrix
from tests.analytics.irt.simulate import draw, some_items

METHODS = ("ml", "map", "eap", "wle")


def log_likelihood(items: ItemParameters, row: np.ndarray, theta: np.ndarray) -> np.ndarray:
    codes = np.flatnonzero(~np.isnan(row))
    p, _, _ = category_probabilities(items, codes[:, None], np.atleast_1d(theta)[None, :])
    return np.log(p[np.arange(len(codes)), :, row[codes].astype(int)]).sum(axis=0)


@pytest.mark.parametrize("family", ["logistic", "graded", "partial_credit"])
def test_estimators_against_direct_maximisation_and_integration(family: str, rng: np.random.Generator) -> None:
    items = some_items(family, 9, rng)
    values = draw(items, rng.normal(size=12), rng, missing=0.2)
    data = responses_from_matrix(values)
    found = {m: score_abilities(items, data, method=m, prior_mean=0.3, prior_sd=1.2) for m in METHODS}  # type: ignore[arg-type]
    grid = np.linspace(-12, 12, 20001)
    for i, row in enumerate(values):
        logs = log_likelihood(items, row, grid)
        posterior = np.exp(logs) * norm.pdf(grid, 0.3, 1.2)
        mean = simpson(grid * posterior, x=grid) / simpson(posterior, x=grid)
        assert found["eap"].theta[i] == pytest.approx(mean, abs=1e-6)
        mode = minimize_scalar(
            lambda t, row=row: -log_likelihood(items, row, t)[0] - norm.logpdf(t, 0.3, 1.2),
            bracket=(grid[np.argmax(posterior)] - 0.1, grid[np.argmax(posterior)] + 0.1),
            options={"xtol": 1e-10},
        ).x
        assert found["map"].theta[i] == pytest.approx(mode, abs=1e-6)
        if np.isfinite(found["ml"].theta[i]):
            assert found["ml"].theta[i] == pytest.approx(grid[np.argmax(logs)], abs=2e-3)
        if family != "graded":  # for exponential families the WLE maximises log L + log(I) / 2 (Warm 1989)
            seen = np.flatnonzero(~np.isnan(row))
            warm = logs + 0.5 * np.log(item_information(items, grid)[seen].sum(axis=0))
            assert found["wle"].theta[i] == pytest.approx(grid[np.argmax(warm)], abs=2e-3)


def test_perfect_scores_are_infinite_by_ml_and_finite_and_ordered_by_the_others() -> None:
    # catsim "Hill Climbing Estimator contains dead code"
    items = item_parameters("logistic", np.array([-1.0, 0.0, 1.0]))
    data = responses_from_matrix([[1, 1, 1], [0, 0, 0], [1, 1, 0]])
    ml = score_abilities(items, data, method="ml")
    assert ml.theta[0] == np.inf
    assert ml.theta[1] == -np.inf
    assert np.isnan(ml.theta_se[:2]).all()
    assert all(ml.reason[:2])
    assert ml.reason[2] == ""
    assert ml.is_extreme.tolist() == [True, True, False]
    for method in ("map", "eap", "wle"):
        theta = score_abilities(items, data, method=method).theta  # type: ignore[arg-type]
        assert theta[1] < theta[2] < theta[0]
        assert np.isfinite(theta).all()


def test_one_row_on_fixed_items() -> None:
    # TAM "robustify single-case inputs": 1 x 3, [1, 0, 1] on b = 1.5, 2, 1
    items = item_parameters("logistic", np.array([1.5, 2.0, 1.0]))
    data = responses_from_matrix([[1, 0, 1]])
    for method in METHODS:
        scored = score_abilities(items, data, method=method)  # type: ignore[arg-type]
        assert np.isfinite(scored.theta[0])
        assert scored.theta_se[0] > 0


def test_equal_rows_get_equal_theta_in_input_order(rng: np.random.Generator) -> None:
    # mirt "Error in fscores() for the MultipleGroupClass": scores out of order after patterns were collapsed
    items = some_items("logistic", 12, rng)
    values = draw(items, rng.normal(size=30), rng)
    doubled = np.repeat(values, 2, axis=0)[rng.permutation(60)]
    for method in METHODS:
        theta = score_abilities(items, responses_from_matrix(doubled), method=method).theta  # type: ignore[arg-type]
        single = score_abilities(items, responses_from_matrix(values), method=method).theta  # type: ignore[arg-type]
        for row, value in zip(doubled, theta, strict=True):
            same = np.flatnonzero((values == row).all(axis=1))[0]
            np.testing.assert_allclose(value, single[same], atol=1e-9)
        assert len(set(theta.tolist())) <= 30


def test_missing_as_incorrect_lowers_theta() -> None:
    # mirtCAT "No answer = Wrong answer"
    from analytics.irt.responses import missing_as_incorrect

    items = item_parameters("logistic", np.zeros(3))
    data = responses_from_matrix([[1, np.nan, 0]])
    omitted = score_abilities(items, data).theta[0]
    assert score_abilities(items, missing_as_incorrect(data)).theta[0] < omitted


def test_items_match_by_label_and_strangers_are_named() -> None:
    items = item_parameters("logistic", np.array([-1.0, 0.5]), item_ids=("x", "y"))
    straight = score_abilities(items, responses_from_matrix([[1, 0]], item_ids=["x", "y"]))
    turned = score_abilities(items, responses_from_matrix([[0, 1]], item_ids=["y", "x"]))
    assert straight.theta[0] == pytest.approx(turned.theta[0], abs=1e-12)
    with pytest.raises(ValueError, match="'z'"):
        score_abilities(items, responses_from_matrix([[0, 1]], item_ids=["x", "z"]))
    with pytest.raises(ValueError, match="score 2"):
        score_abilities(items, responses_from_matrix([[0, 2]], item_ids=["x", "y"]))


def test_a_person_without_answers_has_no_ability() -> None:
    items = item_parameters("logistic", np.array([-1.0, 0.5]))
    scored = score_abilities(items, responses_from_matrix([[np.nan, np.nan], [1, 0]]))
    assert np.isnan(scored.theta[0])
    assert scored.reason[0]
    assert np.isfinite(scored.theta[1])


def test_information_is_the_squared_slope_of_the_expected_score_over_its_variance() -> None:
    items = item_parameters("logistic", np.array([0.0]), slope=1.5, lower=0.2)
    theta = np.array([-1.0, 0.0, 2.0])
    p = 0.2 + 0.8 / (1 + np.exp(-1.5 * theta))
    slope = 0.8 * 1.5 * np.exp(-1.5 * theta) / (1 + np.exp(-1.5 * theta)) ** 2
    np.testing.assert_allclose(item_information(items, theta)[0], slope**2 / (p * (1 - p)), rtol=1e-12)
    np.testing.assert_allclose(test_information(items, theta), item_information(items, theta)[0])
    np.testing.assert_allclose(expected_scores(items, theta)[0], p)
