"""The marginal likelihood of every family: gradients, an independent optimiser, brute-force integrals, invariances."""

import tracemalloc
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import norm

from analytics.irt.expectation import expect, prepare_rows
from analytics.irt.families import GRADED, LOGISTIC, PARTIAL_CREDIT, Family
from analytics.irt.fit_result import IrtFit
from analytics.irt.graded import fit_graded
from analytics.irt.items import category_probabilities
from analytics.irt.logistic import fit_logistic
from analytics.irt.marginal import Problem, SlopeRole, objective
from analytics.irt.model_spec import MarginalOptions
from analytics.irt.observed_information import information
from analytics.irt.partial_credit import fit_partial_credit
from analytics.irt.quadrature import normal_grid
from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import responses_from_long, responses_from_matrix
from analytics.irt.responses import FloatArray, Responses
from tests.analytics.irt.simulate import draw, some_items

FITS = {
    "rasch": fit_rasch,
    "1pl": lambda data, **kw: fit_logistic(data, irt_model="1pl", **kw),
    "2pl": lambda data, **kw: fit_logistic(data, irt_model="2pl", **kw),
    "3pl": lambda data, **kw: fit_logistic(data, irt_model="3pl", lower_prior=(5, 17), **kw),
    "grm": fit_graded,
    "pcm": fit_partial_credit,
    "gpcm": lambda data, **kw: fit_partial_credit(data, irt_model="gpcm", **kw),
}
FAMILY_OF = {"grm": "graded", "pcm": "partial_credit", "gpcm": "partial_credit"}


def small_data(model: str, rng: np.random.Generator, *, n: int = 120, missing: float = 0.1) -> FloatArray:
    items = some_items(FAMILY_OF.get(model, "logistic"), 6, rng)
    if model == "3pl":  # few persons let a slope run away: that case has its own test
        n, missing = 4 * n + 400, 0.0
    return draw(items, rng.normal(size=n), rng, missing=missing)


def problem_for(family: Family, data: Responses, x: FloatArray, n_categories: int, *, prior: bool) -> Problem:
    counts = np.full(data.n_items, n_categories, dtype=np.int64)
    return Problem(family, "free", counts, x, (5.0, 17.0) if prior else None)


CASES = [(LOGISTIC, 2, 2), (LOGISTIC, 3, 2), (GRADED, 3, 3), (PARTIAL_CREDIT, 3, 3)]


@pytest.mark.parametrize(("family", "width", "n_categories"), CASES)
def test_gradient_and_information_against_finite_differences(
    family: Family, width: int, n_categories: int, rng: np.random.Generator
) -> None:
    values = rng.integers(0, n_categories, (40, 4)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    data = responses_from_matrix(values)
    rows, rule = prepare_rows(data, n_categories), normal_grid()
    x = np.concatenate([np.full((4, 1), 1.2), rng.normal(scale=0.5, size=(4, width - 1))], axis=1)
    problem = problem_for(family, data, x, n_categories, prior=width == 3 and family is LOGISTIC)

    def run(logs, quadrature):  # type: ignore[no-untyped-def]
        return expect(rows, logs, quadrature)

    def at(flat: FloatArray) -> tuple[float, FloatArray]:
        _, value, gradient = objective(problem, run, rule, flat.reshape(x.shape))
        return value, gradient.ravel()

    flat, step = x.ravel(), 1e-5
    unit = np.eye(flat.size) * step
    numeric = np.array([(at(flat + e)[0] - at(flat - e)[0]) / (2 * step) for e in unit])
    np.testing.assert_allclose(at(flat)[1], numeric, rtol=1e-6, atol=1e-6)
    hessian = np.array([(at(flat + e)[1] - at(flat - e)[1]) / (2 * step) for e in unit])
    matrix, _ = information(problem, rows, rule, x, "observed")
    np.testing.assert_allclose(matrix, -(hessian + hessian.T) / 2, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("model", sorted(FITS))
def test_log_likelihood_is_the_integral_by_brute_force(model: str, rng: np.random.Generator) -> None:
    values = small_data(model, rng)
    fit: IrtFit = FITS[model](responses_from_matrix(values))
    theta, codes = np.linspace(-9, 9, 6001), np.arange(6)
    density = norm.pdf(theta, fit.mean_theta, fit.sd_theta)
    p, _, _ = category_probabilities(fit.items, codes[:, None], theta[None, :])
    distinct, times = np.unique(values, axis=0, return_counts=True)  # NaN equals NaN here

    def joint(answers: FloatArray) -> FloatArray:
        seen = ~np.isnan(answers)
        return p[codes[seen], :, answers[seen].astype(int)].prod(axis=0) * density

    total = sum(n * np.log(simpson(joint(v), x=theta)) for v, n in zip(distinct, times, strict=True))
    assert fit.log_likelihood == pytest.approx(total, abs=1e-6)
    first = joint(values[0])
    assert fit.theta[0] == pytest.approx(simpson(theta * first, x=theta) / simpson(first, x=theta), abs=1e-6)


@pytest.mark.parametrize("model", sorted(FITS))
def test_an_independent_optimiser_finds_the_same_maximum(model: str, rng: np.random.Generator) -> None:
    values = small_data(model, rng, n=250)
    fit: IrtFit = FITS[model](responses_from_matrix(values), options=MarginalOptions(tolerance=1e-8))
    distinct, times = np.unique(values, axis=0, return_counts=True)
    seen, nodes = ~np.isnan(distinct), np.linspace(-6, 6, 81)
    codes, weights = np.where(seen, distinct, 0).astype(int), norm.pdf(nodes) / norm.pdf(nodes).sum()
    n_steps = fit.items.thresholds.shape[1]
    n_slopes = 1 if model in ("rasch", "pcm", "1pl") else 6

    def negative(flat: FloatArray) -> float:
        # difficulties, not intercepts, and no gradient: nothing is shared with the engine but the formula
        sd = flat[0] if model in ("rasch", "pcm") else 1.0
        slope = np.ones(6) if model in ("rasch", "pcm") else np.broadcast_to(flat[:n_slopes], 6)
        b = flat[n_slopes : n_slopes + 6 * n_steps].reshape(6, n_steps)
        if model == "grm":  # the first threshold and the log distances to the next, which keep their order
            b = np.cumsum(np.hstack([b[:, :1], np.exp(b[:, 1:])]), axis=1)
        lower = 1 / (1 + np.exp(-flat[-6:])) if model == "3pl" else np.zeros(6)
        items = replace(fit.items, slope=slope, thresholds=b, lower=lower)
        p, _, _ = category_probabilities(items, np.arange(6)[:, None], sd * nodes[None, :])
        logs = np.log(np.maximum(p, 1e-300))
        cells = np.where(seen[:, :, None], logs[np.arange(6)[None, :], :, codes], 0.0)
        prior = np.sum(4 * np.log(lower) + 16 * np.log(1 - lower)) if model == "3pl" else 0.0
        return -float(times @ np.log(np.exp(cells.sum(axis=1)) @ weights) + prior)

    slopes = [fit.sd_theta] if model in ("rasch", "pcm") else fit.items.slope[:n_slopes]
    lower = np.log(fit.items.lower / (1 - fit.items.lower)) if model == "3pl" else []
    b = fit.items.thresholds
    if model == "grm":
        b = np.hstack([b[:, :1], np.log(np.diff(b))])
    best = np.concatenate([slopes, b.ravel(), lower])
    # a start that knows nothing of the data: slopes of 1, all else 0, lower asymptotes at their prior's mode of 1/5
    start = np.concatenate([np.ones(n_slopes), np.zeros(b.size), np.full(len(lower), -np.log(4))])
    assert np.abs(start - best).max() > 0.4
    found = minimize(negative, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    assert -found.fun == pytest.approx(fit.log_posterior, abs=1e-6)
    assert negative(best) <= found.fun + 1e-6
    np.testing.assert_allclose(found.x, best, atol=5e-4 if model != "3pl" else 5e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])  # of 300 persons, some samples let a slope run away: these do not
def test_3pl_ends_at_the_maximum_that_random_starts_find(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slope, b, theta = rng.lognormal(0.2, 0.25, 6), rng.normal(size=6), rng.normal(size=300)
    values = (rng.random((300, 6)) < 0.2 + 0.8 * expit(slope * (theta[:, None] - b))).astype(float)
    fit = FITS["3pl"](responses_from_matrix(values), options=MarginalOptions(tolerance=1e-7))
    assert fit.is_converged
    right, times = np.unique(values, axis=0, return_counts=True)
    nodes = np.linspace(-7, 7, 141)
    weights = norm.pdf(nodes) / norm.pdf(nodes).sum()

    def negative(flat: FloatArray) -> float:
        a, b, logit_c = flat.reshape(3, 6, 1)
        wrong = log_expit(-logit_c) + log_expit(-a * (nodes - b))
        by_pattern = right @ np.log1p(-np.exp(wrong)) + (1 - right) @ wrong
        prior = 4 * log_expit(logit_c) + 16 * log_expit(-logit_c)
        return -float(times @ np.log(np.exp(by_pattern) @ weights) + prior.sum())

    # slopes are positive: theta turned round has the same likelihood
    bounds = [(0.02, 4.0)] * 6 + [(-5.0, 5.0)] * 6 + [(-6.0, 3.0)] * 6
    for _ in range(3):
        start = np.concatenate([rng.uniform(0.3, 2.5, 6), rng.normal(0, 1.5, 6), rng.normal(-1.4, 0.7, 6)])
        assert negative(start) > 20 - fit.log_posterior  # far away
        found = minimize(
            negative, start, method="L-BFGS-B", bounds=bounds,
            options={"ftol": 1e-14, "gtol": 1e-5, "maxiter": 2000, "maxfun": 100_000},
        )  # fmt: skip
        a, b, logit_c = found.x.reshape(3, 6)
        assert -found.fun == pytest.approx(fit.log_posterior, abs=1e-5)
        np.testing.assert_allclose(a, fit.items.slope, atol=1e-2)
        np.testing.assert_allclose(b, fit.items.thresholds[:, 0], atol=1e-2)
        np.testing.assert_allclose(expit(logit_c), fit.items.lower, atol=1e-2)


@pytest.mark.parametrize("model", sorted(FITS))
def test_weights_are_repeated_rows(model: str, rng: np.random.Generator) -> None:
    values = small_data(model, rng, n=60)
    weights = rng.integers(1, 4, len(values))
    weighted: IrtFit = FITS[model](responses_from_matrix(values, weights=weights))
    repeated: IrtFit = FITS[model](responses_from_matrix(np.repeat(values, weights, axis=0)))
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, abs=1e-8)
    np.testing.assert_allclose(weighted.items.thresholds, repeated.items.thresholds, atol=1e-4)
    np.testing.assert_allclose(weighted.thresholds_se, repeated.thresholds_se, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("model", sorted(FITS))
def test_half_a_weight_on_twice_the_rows_changes_nothing(model: str, rng: np.random.Generator) -> None:
    values, tight = small_data(model, rng, n=60), MarginalOptions(tolerance=1e-7)
    fit: IrtFit = FITS[model](responses_from_matrix(values), options=tight)
    twice = responses_from_matrix(np.tile(values, (2, 1)), weights=np.full(2 * len(values), 0.5))
    halved: IrtFit = FITS[model](twice, options=tight)
    assert halved.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-8)
    assert halved.log_posterior == pytest.approx(fit.log_posterior, abs=1e-8)
    assert (halved.n_persons, halved.n_observed) == (fit.n_persons, fit.n_observed)
    np.testing.assert_allclose(halved.items.slope, fit.items.slope, rtol=1e-5)
    np.testing.assert_allclose(halved.items.thresholds, fit.items.thresholds, atol=1e-5)
    np.testing.assert_allclose(halved.thresholds_se, fit.thresholds_se, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(halved.theta, np.tile(fit.theta, 2), atol=1e-5)
    np.testing.assert_allclose(halved.theta_se, np.tile(fit.theta_se, 2), atol=1e-5)


@pytest.mark.parametrize("model", sorted(FITS))
def test_order_of_persons_items_and_memory_changes_nothing(model: str, rng: np.random.Generator) -> None:
    values = small_data(model, rng)
    people, columns = rng.permutation(len(values)), rng.permutation(6)
    fit: IrtFit = FITS[model](responses_from_matrix(values))
    moved: IrtFit = FITS[model](responses_from_matrix(np.asfortranarray(values[people][:, columns])))
    tolerance = {"atol": 2e-4, "rtol": 1e-3}  # of the search, in units of a standard error of about 0.3
    np.testing.assert_allclose(moved.items.thresholds, fit.items.thresholds[columns], **tolerance)
    np.testing.assert_allclose(moved.theta, fit.theta[people], **tolerance)
    assert moved.log_posterior == pytest.approx(fit.log_posterior, abs=1e-7)


@pytest.mark.parametrize("model", ["rasch", "2pl", "pcm"])
def test_sparse_long_input_gives_the_dense_fit(model: str, rng: np.random.Generator) -> None:
    values = draw(some_items(FAMILY_OF.get(model, "logistic"), 20, rng), rng.normal(size=1500), rng, missing=0.82)
    rows, columns = np.nonzero(~np.isnan(values))
    order = rng.permutation(len(rows))
    rows, columns = rows[order], columns[order]
    sparse = responses_from_long(rows, columns, values[rows, columns], person_ids=range(1500), item_ids=range(20))
    assert sparse.dense is None
    codes = np.where(np.isnan(values), -1, values).astype(np.int8)
    template = responses_from_matrix(np.zeros((1500, 20)), person_ids=range(1500), item_ids=range(20))
    dense = replace(template, dense=codes, answered=(codes >= 0).sum(axis=1))
    a: IrtFit = FITS[model](sparse)
    b: IrtFit = FITS[model](dense)
    assert a.log_likelihood == pytest.approx(b.log_likelihood, abs=1e-7)
    np.testing.assert_allclose(a.items.thresholds, b.items.thresholds, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(a.thresholds_se, b.thresholds_se, rtol=1e-2)
    np.testing.assert_allclose(a.theta, b.theta, atol=1e-3)


@pytest.mark.parametrize("slope", get_args(SlopeRole))
@pytest.mark.parametrize(("family", "width", "n_categories"), CASES)
def test_information_of_sparse_rows_is_that_of_the_table(
    family: Family, width: int, n_categories: int, slope: SlopeRole, rng: np.random.Generator
) -> None:
    n_items = 30
    in_item = np.full(n_items, n_categories)
    in_item[::4] = 2  # items with fewer categories lack a parameter
    values = rng.integers(0, in_item, (300, n_items)).astype(float)
    values[rng.random(values.shape) < 0.85] = np.nan
    values[7] = np.nan
    sparse = responses_from_matrix(values, weights=rng.integers(0, 4, 300))
    codes = np.where(np.isnan(values), -1, values).astype(np.int8)
    dense = replace(sparse, dense=codes)
    assert sparse.dense is None
    x = np.concatenate([np.full((n_items, 1), 1.2), rng.normal(scale=0.5, size=(n_items, width - 1))], axis=1)
    problem = Problem(family, slope, in_item, x, (5.0, 17.0) if width == 3 and family is LOGISTIC else None)
    for method in ("observed", "cross_product"):
        ours, expected = (
            information(problem, prepare_rows(data, n_categories), normal_grid(), x, method)[0]
            for data in (sparse, dense)
        )
        tolerance = 1e-8 if method == "observed" else 1e-12  # the complete information is a difference quotient
        np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("model", ["rasch", "pcm"])
def test_memory_of_a_sparse_fit_grows_with_the_observed_cells(model: str, rng: np.random.Generator) -> None:
    def some_cells(n_persons: int, n_items: int, each: int = 5) -> Responses:
        rows = np.repeat(np.arange(n_persons), each)
        items = np.concatenate([rng.choice(n_items, each, replace=False) for _ in range(n_persons)])
        p = 1 / (1 + np.exp(-rng.normal(size=n_persons)[rows]))
        values = rng.binomial(1 if model == "rasch" else 2, p)
        return responses_from_long(rows, items, values, person_ids=range(n_persons), item_ids=range(n_items))

    FITS[model](some_cells(200, 40))  # compiles what is compiled
    data = some_cells(5000, 400)
    tracemalloc.start()
    fit: IrtFit = FITS[model](data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.dense is None
    assert np.all(fit.thresholds_se > 0)
    # some ten numbers a cell, and the information of the parameters a few times; one table of persons x items has 16 MB
    assert peak < 30 * 8 * data.n_observed + 8 * 8 * fit.n_parameters**2 + 5e6


def test_cross_product_information_is_close_on_many_rows(rng: np.random.Generator) -> None:
    values = draw(some_items("logistic", 6, rng), rng.normal(size=3000), rng)
    data = responses_from_matrix(values)
    observed = fit_logistic(data)
    crossed = fit_logistic(data, options=MarginalOptions(se_method="cross_product"))
    np.testing.assert_allclose(crossed.slope_se, observed.slope_se, rtol=0.15)
    assert np.all(np.isnan(fit_logistic(data, options=MarginalOptions(se_method="none")).slope_se))


def test_thirty_percent_missing_at_random_leaves_the_items_where_they_are(rng: np.random.Generator) -> None:
    items = some_items("logistic", 15, rng)
    values = draw(items, rng.normal(size=1200), rng)
    thinned = np.where(rng.random(values.shape) < 0.3, np.nan, values)
    full, thin = fit_logistic(responses_from_matrix(values)), fit_logistic(responses_from_matrix(thinned))
    z = (thin.items.thresholds - items.thresholds) / thin.thresholds_se
    assert np.abs(z).max() < 4
    assert np.all(thin.thresholds_se > full.thresholds_se)


def test_bad_options_name_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="observed"):
        MarginalOptions(se_method="louis")  # type: ignore[arg-type]
    data = responses_from_matrix([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="2pl"):
        fit_logistic(data, irt_model="4pl")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="I2"):
        fit_logistic(responses_from_matrix([[0, 2], [1, 0]]))
    with pytest.raises(ValueError, match="nothing to fit"):
        fit_logistic(responses_from_matrix([[1, 1], [1, 1]]))
