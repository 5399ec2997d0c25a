"""Sparse responses in the testlet model: listed cells give what a table gives, in memory of what is observed."""

import tracemalloc

import numpy as np
import pytest

from analytics.irt.reading import responses_from_long
from analytics.irt.responses import compressed
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_cells import log_likelihood
from analytics.irt.testlet_laplace_items import information_by_items
from analytics.irt.testlet_listed import log_likelihood_of_listed, pack_listed
from analytics.irt.testlet_listed_items import information_of_listed
from analytics.irt.testlet_mode import find_mode
from analytics.irt.testlet_pack import pack_cells
from analytics.irt.testlet_point import Scales, rough_point
from analytics.irt.testlet_result import TestletFit as Fit
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_simulation import simulate_testlet

GIVEN = Options(variances="given", sd_theta=1.1, sd_b=1.4, sd_u=0.7)


def sparse(rng, n=60, j=24, t=5, answers=4, **how):
    """Draw responses, items in no order of testlets, of which each rater has a few; the last rater and item none."""
    x = simulate_testlet(rng, n_raters=n, n_items=j, n_testlets=t, sd_u=0.7, **how)
    order = rng.permutation(j)
    table, of_item = x.responses[:, order], x.item_testlet[order]
    hidden = rng.random(table.shape).argsort(axis=1) >= answers
    table = np.where(hidden, np.nan, table)
    table[-1], table[:, -1] = np.nan, np.nan
    return table, of_item


def listed(table):
    rows, items = np.nonzero(~np.isnan(table))
    ids = tuple(map(str, range(len(table)))), tuple(map(str, range(table.shape[1])))
    return compressed(*ids, np.ones(len(table)), rows, items, table[rows, items].astype(np.int8))


def both_layouts(rng, weight, **how):
    table, of_item = sparse(rng, **how)
    n_testlets = int(of_item.max()) + 1
    return pack_cells(table, of_item, n_testlets, weight), pack_listed(listed(table), of_item, n_testlets, weight)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("sd_u", [0.0, 0.7])
def test_mode_likelihood_and_information_are_those_of_the_table(rng, sd_u, is_weighted) -> None:
    weight = rng.uniform(0.5, 4.0, 60) if is_weighted else np.ones(60)
    full, few = both_layouts(rng, weight)
    scales = Scales(1.1, 1.4, sd_u)
    tight = {"tolerance": 1e-11, "max_iterations": 3000}
    of_full, of_few = (find_mode(cells, scales, rough_point(cells, scales), **tight) for cells in (full, few))
    assert of_full.is_converged
    assert of_few.is_converged
    where = few.pairs.testlet, few.pairs.rater
    for name in ("theta", "b", "mean_b"):
        np.testing.assert_allclose(getattr(of_few.point, name), getattr(of_full.point, name), atol=1e-9, err_msg=name)
    np.testing.assert_allclose(of_few.point.u, of_full.point.u[where], atol=1e-9)
    assert log_likelihood_of_listed(few, of_few.point) == pytest.approx(
        log_likelihood(full, of_full.point.b, of_full.point.s), abs=1e-9
    )
    by_table = information_by_items(full, scales, of_full.point)
    by_list = information_of_listed(few, scales, of_few.point)
    for name in ("var_theta", "var_b", "var_mean_b", "half_log_determinant"):
        np.testing.assert_allclose(getattr(by_list, name), getattr(by_table, name), rtol=1e-8, err_msg=name)
    np.testing.assert_allclose(by_list.var_u, by_table.var_u[where], rtol=1e-8)
    np.testing.assert_allclose(by_list.gradient, by_table.gradient, atol=1e-7)


def whole_testlets(rng):
    """Draw responses of raters who answer two of six testlets, so that the testlet effect shows."""
    x = simulate_testlet(rng, n_raters=80, n_items=60, n_testlets=6, sd_u=1.0)
    n_testlets_before = rng.random((80, 6)).argsort(axis=1).argsort(axis=1)
    return np.where(n_testlets_before[:, x.item_testlet] < 2, x.responses, np.nan), x.item_testlet


@pytest.mark.parametrize("options", [GIVEN, Options()])
@pytest.mark.parametrize("draw", [sparse, whole_testlets])
def test_a_fit_of_sparse_responses_is_that_of_their_table(rng, draw, options) -> None:
    table, of_item = draw(rng)
    a, b = fit_testlet(table, of_item, options), fit_testlet(listed(table), of_item, options)
    assert a.is_converged
    assert b.is_converged
    exact = options.variances == "given"  # the search for standard deviations ends within its tolerance
    for name in Fit.__dataclass_fields__:
        if name in ("effects", "effect_errors", "pairs", "n_iterations", "gradient_norm"):
            continue
        left, right = getattr(a, name), getattr(b, name)
        if isinstance(left, np.ndarray | float):
            np.testing.assert_allclose(left, right, atol=1e-7 if exact else 1e-4, err_msg=name)
        else:
            assert left == right, name
    np.testing.assert_allclose(a.u, b.u, atol=1e-7 if exact else 1e-4)
    np.testing.assert_allclose(a.u_se, b.u_se, atol=1e-7 if exact else 1e-4)
    if draw is sparse:
        assert np.isnan(b.theta[-1])
        assert np.isnan(b.b[-1])
        assert any("a rater answers 1." in said for said in b.warnings) == (options.variances == "laplace")
    else:
        assert b.sd_u > 0.5
        assert not any("a rater answers" in said for said in b.warnings)


def test_a_response_of_two_is_refused(rng) -> None:
    table, of_item = sparse(rng)
    table[0, np.flatnonzero(~np.isnan(table[0]))[0]] = 2
    with pytest.raises(ValueError, match="takes 0, 1 or missing; found 2"):
        fit_testlet(listed(table), of_item)


def test_sparse_responses_with_more_items_than_raters_are_fitted_too(rng) -> None:
    table, of_item = sparse(rng, n=12, j=40)
    a, b = fit_testlet(table, of_item, GIVEN), fit_testlet(listed(table), of_item, GIVEN)
    np.testing.assert_array_equal(a.b_se, b.b_se)


def test_memory_grows_with_what_is_observed() -> None:
    rng = np.random.default_rng(20)
    n_raters, n_items, n_testlets, answers = 20_000, 600, 60, 5
    items = np.stack([rng.choice(n_items, answers, replace=False) for _ in range(n_raters)])
    of_item = np.arange(n_items) % n_testlets
    theta, b = rng.normal(size=n_raters), rng.normal(size=n_items)
    u = rng.normal(0.0, 0.6, (n_raters, n_testlets))[np.arange(n_raters)[:, None], of_item[items]]
    right = rng.random(items.shape) < 1.0 / (1.0 + np.exp(b[items] - theta[:, None] - u))
    data = responses_from_long(
        np.repeat(np.arange(n_raters), answers), items.ravel(), right.ravel(),
        person_ids=range(n_raters), item_ids=range(n_items),
    )  # fmt: skip
    tracemalloc.start()
    fit = fit_testlet(data, of_item)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fit.is_converged
    assert np.corrcoef(fit.b, b)[0, 1] > 0.95
    assert any("of .7 some .6 with four" in said for said in fit.warnings)  # one answer a testlet shows no effect of it
    # 100,000 cells and pairs at some two hundred bytes each, and 600 x 600 numbers; a table has 96 MB
    assert peak < 30e6
