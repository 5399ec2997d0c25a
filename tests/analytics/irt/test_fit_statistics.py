"""Item fit, residual correlations and person fit: by enumeration, by hand and under the true model."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from analytics.irt.fit_statistics import mean_squares, residual_correlations, score_fit
from analytics.irt.items import category_probabilities, item_parameters
from analytics.irt.person_fit import person_fit
from analytics.irt.reading import responses_from_matrix
from tests.analytics.irt.simulate import draw, some_items


def test_mean_squares_by_hand() -> None:
    items = item_parameters("logistic", np.array([0.0, np.log(3.0)]))
    data = responses_from_matrix([[1, 1], [0, 0], [1, np.nan]])
    # at theta 0: p = 1/2 and 1/4; squared standardised residuals 1, 1, 1 and 3, 1/3
    fit = mean_squares(items, data, np.zeros(3))
    np.testing.assert_allclose(fit.item_outfit, [1.0, (3 + 1 / 3) / 2])
    np.testing.assert_allclose(fit.item_infit, [1.0, (9 / 16 + 1 / 16) / (2 * 3 / 16)])
    np.testing.assert_allclose(fit.person_outfit, [(1 + 3) / 2, (1 + 1 / 3) / 2, 1.0])
    without = mean_squares(items, data, np.array([0.0, 0.0, np.inf]))
    assert np.isnan(without.person_outfit[2])


def test_expected_shares_of_score_fit_by_enumeration(rng: np.random.Generator) -> None:
    items = some_items("logistic", 4, rng)
    values = draw(items, rng.normal(size=4000), rng)
    found = score_fit(items, responses_from_matrix(values), n_parameters=0)
    theta = np.linspace(-6, 6, 49)
    weight = norm.pdf(theta) / norm.pdf(theta).sum()
    p, _, _ = category_probabilities(items, np.arange(4)[:, None], theta[None, :])
    share, right = np.zeros(5), np.zeros(5)
    for pattern in product((0, 1), repeat=4):
        mass = float(np.prod([p[j, :, k] for j, k in enumerate(pattern)], axis=0) @ weight)
        share[sum(pattern)] += mass
        right[sum(pattern)] += mass * pattern[0]
    score = values.sum(axis=1).astype(int)
    statistic = 0.0
    for s in (1, 2, 3):
        n, expected = np.sum(score == s), right[s] / share[s]
        observed = values[score == s, 0].mean()
        statistic += n * (observed - expected) ** 2 / (expected * (1 - expected))
    assert found.statistic[0] == pytest.approx(statistic, rel=1e-6)
    assert found.degrees_of_freedom[0] == 3


def test_score_fit_says_why_it_is_undefined() -> None:
    items = item_parameters("logistic", np.array([0.0, 1.0]))
    found = score_fit(items, responses_from_matrix([[1, np.nan], [np.nan, 0]]))
    assert np.isnan(found.statistic).all()
    assert set(found.reason) == {"no row is complete"}


def test_residual_correlations_with_missing_cells_by_hand(rng: np.random.Generator) -> None:
    items = some_items("graded", 5, rng)
    theta = rng.normal(size=60)
    values = draw(items, theta, rng, missing=0.2)
    found = residual_correlations(items, responses_from_matrix(values), theta)
    p, _, _ = category_probabilities(items, np.arange(5)[None, :], theta[:, None])
    residual = values - p @ np.arange(p.shape[2])
    for i, j in product(range(5), range(5)):
        both = ~np.isnan(residual[:, i]) & ~np.isnan(residual[:, j])
        assert found[i, j] == pytest.approx(np.corrcoef(residual[both, i], residual[both, j])[0, 1], abs=1e-10)
    few = residual_correlations(items, responses_from_matrix(values[:2]), theta[:2])
    assert np.isnan(few[0, 1])


@pytest.mark.parametrize("method", ["ml", "map", "wle"])
@pytest.mark.parametrize("family", ["logistic", "partial_credit"])
def test_corrected_person_fit_is_standard_normal_under_the_model(method: str, family: str) -> None:
    rng = np.random.default_rng(8)
    items = some_items(family, 40, rng)
    fit = person_fit(items, responses_from_matrix(draw(items, rng.normal(size=600), rng)), method=method)  # type: ignore[arg-type]
    assert abs(np.nanmean(fit.lz_star)) < 0.15
    assert 0.9 < np.nanstd(fit.lz_star) < 1.1
    assert np.nanstd(fit.lz) < np.nanstd(fit.lz_star)  # the uncorrected statistic varies too little


def test_a_reversed_row_is_misfit_and_the_bootstrap_says_so(rng: np.random.Generator) -> None:
    items = item_parameters("logistic", np.linspace(-2, 2, 20), slope=1.5)
    values = draw(items, np.zeros(6), rng)
    values[0] = (np.arange(20) >= 10).astype(float)  # right on the hard half, wrong on the easy half
    values[5] = 1.0
    data = responses_from_matrix(values)
    fit = person_fit(items, data, method="ml", n_draws=99, rng=np.random.default_rng(1))
    again = person_fit(items, data, method="ml", n_draws=99, rng=np.random.default_rng(1))
    assert fit.lz_star[0] < -3
    assert fit.p_value[0] == 0.01
    assert fit.p_value[1:5].min() > 0.01
    assert np.isnan(fit.lz_star[5])
    assert fit.reason[5]
    np.testing.assert_array_equal(fit.p_value, again.p_value)
    with pytest.raises(ValueError, match="rng"):
        person_fit(items, data, n_draws=5)
