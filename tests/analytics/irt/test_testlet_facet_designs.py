"""The model facet where designs are uneven, and its search against an independent one."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from analytics.irt.testlet_facet import fit_testlet_facet
from analytics.irt.testlet_facet_point import FacetScales
from analytics.irt.testlet_facet_search import (
    correction,
    estimate_facet,
    marginal_gradient,
    pack_facet,
    solve_facet,
    start_facet,
)
from analytics.irt.testlet_result import LARGEST_SD, SMALLEST_SD

UNEVEN = np.repeat(np.arange(5), [1, 4, 2, 9, 3])  # fewer and more raters of a model than items of a testlet
SIZES = [1, 2, 7, 3, 5, 12, 0, 6]  # items of each testlet; one has none


def draw(rng, model, sizes, missing):
    of_item = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    theta, b = rng.normal(size=(model.size, 1)), rng.normal(0.0, 1.3, of_item.size)
    u, v = rng.normal(0, 0.5, (model.size, len(sizes))), rng.normal(0, 0.8, (model.max() + 1, of_item.size))
    right = rng.random((model.size, of_item.size)) < expit(theta + u[:, of_item] - b - v[model])
    return np.where(rng.random(right.shape) < missing, np.nan, right.astype(float)), of_item


@pytest.mark.parametrize("sd_u", [0.5, 0.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_gradients_of_an_uneven_design_equal_finite_differences(rng, sd_u, missing) -> None:
    model = rng.permutation(UNEVEN)
    data = pack_facet(*draw(rng, model, SIZES, missing), model, 5)
    x, free = np.log([0.8, 1.3, sd_u or 1.0, 0.9]), np.array([True, True, sd_u > 0, True])

    def solve(x):
        sds = np.exp(x)
        return solve_facet(data, FacetScales(sds[0], sds[1], sds[2] if sd_u else 0.0, sds[3]), start_facet(data))

    step, state = 1e-4, solve(x)
    around = [(solve(x + e), solve(x - e)) for e in step * np.eye(4)]
    laplace = np.array([up.marginal - down.marginal for up, down in around]) / (2 * step)
    items = [correction(data, up).value - correction(data, down).value for up, down in around]
    np.testing.assert_allclose(marginal_gradient(data, state), np.where(free, laplace, 0.0), atol=1e-5)
    whole = marginal_gradient(data, state, correction(data, state))
    # the quadrature's own error, which its derivatives do not follow
    np.testing.assert_allclose(whole, np.where(free, laplace + np.array(items) / (2 * step), 0.0), atol=1e-3)


def test_no_other_optimiser_finds_a_higher_marginal_likelihood(rng) -> None:
    model = np.repeat(np.arange(4), 3)
    data = pack_facet(*draw(rng, model, [4] * 6, 0.1), model, 4)

    def value(x):
        state = solve_facet(data, FacetScales(*np.exp(x)), start_facet(data))
        return state.marginal + correction(data, state).value

    start = FacetScales(0.7, 1.5, 0.5, 0.7)
    best, is_converged = estimate_facet(data, solve_facet(data, start, start_facet(data)))
    assert is_converged
    ours = np.log([best.scales.theta, best.scales.b, best.scales.u, best.scales.v])
    bounds = [(np.log(SMALLEST_SD), np.log(LARGEST_SD))] * 4
    options = {"xatol": 1e-4, "fatol": 1e-9, "maxiter": 4000}
    for first in (np.log([0.7, 1.5, 0.5, 0.7]), ours + 0.3):
        found = minimize(lambda x: -value(x), first, method="Nelder-Mead", bounds=bounds, options=options)
        assert value(ours) > -found.fun - 1e-5  # what the search leaves
        np.testing.assert_allclose(np.exp(found.x), np.exp(ours), atol=2e-3)


def test_a_testlet_without_items_changes_nothing(rng) -> None:
    responses, of_item = draw(rng, UNEVEN, [5, 5, 5], 0.1)
    dense, sparse = (fit_testlet_facet(responses, testlet, UNEVEN) for testlet in (of_item, 2 * of_item))
    np.testing.assert_allclose(sparse.b, dense.b, atol=1e-3)
    assert sparse.u.shape == (UNEVEN.size, 5)
    assert not sparse.u[:, [1, 3]].any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rater_model": np.arange(5) % 2}, "5 models of raters do not fit"),
        ({"item_testlet": np.zeros(7, dtype=int)}, "7 testlets of items"),
        ({"responses": np.full((6, 8), np.nan)}, "no response is observed"),
        ({"responses": np.ones((6, 8))}, "every observed response is 1"),
        ({"scales": FacetScales(1.0, 1.0, 0.5, 0.0)}, "v are positive"),
    ],
)
def test_what_no_fit_can_be_made_of_is_refused(change, words) -> None:
    given = {
        "responses": np.arange(48).reshape(6, 8) % 3 % 2, "item_testlet": np.arange(8) // 4,
        "rater_model": np.arange(6) % 2,
    } | change  # fmt: skip
    with pytest.raises(ValueError, match=words):
        fit_testlet_facet(**given)
