"""What every model must bear: much missing at random, rows and columns without answers, another order, weights.

What only some models lacked elsewhere stands here. Gradients, independent optimisers and integrals by brute force stand
with each model (`test_marginal`, `test_rasch_models`, `test_facets`, `test_testlet_mathematics`,
`test_testlet_marginal`, `test_testlet_facet`).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from analytics.irt.facets import fit_facets
from analytics.irt.facets_result import Ratings
from analytics.irt.graded import fit_graded
from analytics.irt.logistic import fit_logistic
from analytics.irt.model_spec import MarginalOptions
from analytics.irt.partial_credit import fit_partial_credit
from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import responses_from_matrix
from analytics.irt.responses import FloatArray
from analytics.irt.testlet_facet import fit_testlet_facet
from analytics.irt.testlet_marginal import Integration, fit_testlet_marginal
from analytics.irt.testlet_simulation import simulate_testlet
from tests.analytics.irt.simulate import draw, some_items

FITS = {
    "rasch": fit_rasch,
    "rasch, conditional": lambda data, **kw: fit_rasch(data, method="conditional", **kw),
    "1pl": lambda data, **kw: fit_logistic(data, irt_model="1pl", **kw),
    "2pl": fit_logistic,
    "3pl": lambda data, **kw: fit_logistic(data, irt_model="3pl", lower_prior=(5, 17), **kw),
    "grm": fit_graded,
    "pcm": fit_partial_credit,
    "pcm, conditional": lambda data, **kw: fit_partial_credit(data, method="conditional", **kw),
    "gpcm": lambda data, **kw: fit_partial_credit(data, irt_model="gpcm", **kw),
}
CONDITIONAL = sorted(name for name in FITS if "conditional" in name)
FAMILY = {"grm": "graded", "pcm": "partial_credit", "pcm, conditional": "partial_credit", "gpcm": "partial_credit"}
ONE_SLOPE = ("rasch", "rasch, conditional", "1pl", "pcm", "pcm, conditional")


def table(model: str, rng: np.random.Generator, n: int, items: int, missing: float) -> tuple[FloatArray, FloatArray]:
    """Responses and the thresholds that they were drawn with."""
    truth = some_items(FAMILY.get(model, "logistic"), items, rng)
    if model in ONE_SLOPE:
        truth = replace(truth, slope=np.ones(items))
    if model == "3pl":
        truth = replace(truth, lower=np.full(items, 0.2))
    return draw(truth, rng.normal(size=n), rng, missing=missing), truth.thresholds


def spread_of_errors(estimate: FloatArray, se: FloatArray, truth: FloatArray) -> float:
    """Root mean square of the errors in standard errors; their common part belongs to the drawn abilities."""
    error = estimate - truth
    return float(np.sqrt(np.mean(((error - error.mean()) / se) ** 2)))


def with_the_slow_one_marked() -> list[object]:
    """Every model with 30 and with 90 % missing; 3PL needs many persons for the latter."""
    cases: list[object] = [(model, 0.3, 800) for model in sorted(FITS)]
    for model in sorted(FITS):
        cases.append(pytest.param(model, 0.9, 12_000, marks=pytest.mark.slow) if model == "3pl" else (model, 0.9, 4000))
    return cases


@pytest.mark.parametrize(("model", "missing", "n"), with_the_slow_one_marked())
def test_missing_at_random_costs_what_the_standard_errors_say(model: str, missing: float, n: int) -> None:
    rng = np.random.default_rng(2026)
    values, truth = table(model, rng, n, 20, missing)
    fit = FITS[model](responses_from_matrix(values), options=MarginalOptions(tolerance=1e-4))
    assert fit.is_converged
    assert np.corrcoef(fit.items.thresholds.ravel(), truth.ravel())[0, 1] > 0.9
    # 20 or 40 values: their root mean square has a standard error of .16 or .11; the prior on c makes b's error smaller
    assert 0.5 < spread_of_errors(fit.items.thresholds, fit.thresholds_se, truth) < 1.5


@pytest.mark.parametrize(("missing", "n"), [(0.3, 600), (0.9, 3000)])
@pytest.mark.parametrize("method", ["laplace", "gauss_hermite"])
def test_missing_at_random_in_the_testlet_model_with_fixed_items(method: Integration, missing: float, n: int) -> None:
    rng = np.random.default_rng(7)
    x = simulate_testlet(rng, n_raters=n, n_items=16, n_testlets=4, sd_b=1.0, sd_u=0.7, missing=missing)
    fit = fit_testlet_marginal(x.responses, x.item_testlet, method=method, n_nodes=9)
    assert fit.is_converged
    assert 0.5 < spread_of_errors(fit.b, fit.b_se, x.b) < 1.5


@pytest.mark.parametrize(("missing", "r", "covered"), [(0.3, 0.92, 0.9), (0.9, 0.7, 0.85)])
def test_missing_at_random_in_the_model_with_a_facet(missing: float, r: float, covered: float) -> None:
    rng = np.random.default_rng(7)
    x = simulate_testlet(rng, n_raters=42, n_items=400, n_testlets=40, n_models=14, sd_v=0.7, missing=missing)
    fit = fit_testlet_facet(x.responses, x.item_testlet, x.rater_model)
    assert fit.is_converged
    error = fit.b - x.b - np.nanmean(fit.b - x.b)
    known = np.isfinite(fit.b)
    assert np.corrcoef(fit.b[known], x.b[known])[0, 1] > r
    assert covered < np.mean(np.abs(error[known]) < 1.96 * fit.b_se[known]) < 0.98


@pytest.mark.parametrize(("missing", "n"), [(0.3, 300), (0.9, 2000)])
def test_missing_at_random_in_the_many_facet_model(missing: float, n: int) -> None:
    rng = np.random.default_rng(7)
    severity, difficulty = rng.normal(0, 0.6, 8), np.linspace(-1, 1, 6)
    severity -= severity.mean()
    person, rater, item = (part.ravel() for part in np.indices((n, 8, 6)))
    kept = np.flatnonzero(rng.random(person.size) >= missing)
    person, rater, item = person[kept], rater[kept], item[kept]
    eta = rng.normal(size=n)[person] - severity[rater] - difficulty[item]
    value = (rng.random(kept.size) < 1 / (1 + np.exp(-eta))).astype(np.int64)
    labels = (tuple(f"i{k}" for k in range(6)), tuple(f"r{k}" for k in range(8)))
    people = tuple(f"p{k}" for k in range(n))
    fit = fit_facets(Ratings(people, person, ("item", "rater"), labels, np.stack([item, rater]), value))
    assert fit.is_converged
    assert 0.4 < spread_of_errors(fit.facets[1].estimate, fit.facets[1].se, severity) < 1.7


def fitted_with_testlets(kind: str) -> Callable[[FloatArray, np.ndarray, np.ndarray], tuple[FloatArray, ...]]:
    """One of the testlet models as a function of responses, testlets and models to (theta, its error, b, its error)."""

    def run(responses: FloatArray, of_item: np.ndarray, model: np.ndarray) -> tuple[FloatArray, ...]:
        if kind == "facet":
            facet = fit_testlet_facet(responses, of_item, model, variances="given")
            return facet.theta, facet.theta_se, facet.b, facet.b_se
        how: Integration = "laplace" if kind == "laplace" else "gauss_hermite"
        fit = fit_testlet_marginal(responses, of_item, method=how, n_nodes=9)
        return fit.theta, fit.theta_se, fit.b, fit.b_se

    return run


@pytest.mark.parametrize("kind", ["facet", "laplace", "gauss_hermite"])
def test_order_and_memory_change_nothing_in_a_testlet_model(kind: str, rng: np.random.Generator) -> None:
    x = simulate_testlet(rng, n_raters=60, n_items=12, n_testlets=4, n_models=20, sd_b=1.0, missing=0.1)
    run, rows, columns, names = fitted_with_testlets(kind), rng.permutation(60), rng.permutation(12), rng.permutation(4)
    first = run(x.responses, x.item_testlet, x.rater_model)
    moved = np.asfortranarray(x.responses[np.ix_(rows, columns)])
    again = run(moved, names[x.item_testlet[columns]], rng.permutation(20)[x.rater_model[rows]])
    for one, other, order in zip(first, again, (rows, rows, columns, columns), strict=True):
        np.testing.assert_allclose(other, one[order], atol=1e-3 if kind != "facet" else 1e-8)


@pytest.mark.parametrize("kind", ["facet", "laplace", "gauss_hermite"])
def test_rows_and_columns_without_answers_change_nothing_in_a_testlet_model(
    kind: str, rng: np.random.Generator
) -> None:
    x = simulate_testlet(rng, n_raters=60, n_items=12, n_testlets=4, n_models=20, sd_b=1.0, missing=0.1)
    run, wider = fitted_with_testlets(kind), np.full((61, 13), np.nan)
    wider[:60, :12] = x.responses
    plain = run(x.responses, x.item_testlet, x.rater_model)
    padded = run(wider, np.append(x.item_testlet, 2), np.append(x.rater_model, 3))
    for one, other in zip(plain, padded, strict=True):
        np.testing.assert_allclose(other[:-1], one, atol=1e-3 if kind != "facet" else 1e-7)
        assert np.isnan(other[-1])


@pytest.mark.parametrize("model", sorted(set(FITS) - set(CONDITIONAL)))
def test_a_person_and_an_item_without_answers_change_nothing_in_a_marginal_fit(
    model: str, rng: np.random.Generator
) -> None:
    n = 600 if model == "3pl" else 150
    values, _ = table(model, rng, n, 6, 0.15)
    wider = np.full((n + 1, 7), np.nan)
    wider[1:, 1:] = values  # the first of each: what is misplaced shows
    plain, padded = FITS[model](responses_from_matrix(values)), FITS[model](responses_from_matrix(wider))
    assert padded.is_converged
    assert padded.log_posterior == pytest.approx(plain.log_posterior, abs=1e-8)
    assert (padded.n_parameters, padded.n_observed) == (plain.n_parameters, plain.n_observed)
    for name in ("slope", "thresholds", "lower"):
        np.testing.assert_allclose(getattr(padded.items, name)[1:], getattr(plain.items, name), atol=1e-7)
    for name in ("slope_se", "thresholds_se", "lower_se"):
        np.testing.assert_allclose(getattr(padded, name)[1:], getattr(plain, name), atol=1e-6)
    for name in ("theta", "theta_se"):
        np.testing.assert_allclose(getattr(padded, name)[1:], getattr(plain, name), atol=1e-7)
        assert np.isnan(getattr(padded, name)[0])
    assert np.isnan(padded.items.thresholds[0]).all()
    assert padded.item_reason == ("no response",) + ("",) * 6


@pytest.mark.parametrize("model", CONDITIONAL)
def test_conditional_fits_bear_order_weights_and_empty_rows(model: str, rng: np.random.Generator) -> None:
    values, _ = table(model, rng, 150, 6, 0.15)
    fit_model, tight = FITS[model], MarginalOptions(tolerance=1e-8)
    fit = fit_model(responses_from_matrix(values), options=tight)
    rows, columns = rng.permutation(150), rng.permutation(6)
    moved = fit_model(responses_from_matrix(np.asfortranarray(values[np.ix_(rows, columns)])), options=tight)
    np.testing.assert_allclose(moved.items.thresholds, fit.items.thresholds[columns], atol=1e-5)
    np.testing.assert_allclose(moved.thresholds_se, fit.thresholds_se[columns], rtol=1e-3)
    wider = np.full((151, 7), np.nan)
    wider[:150, :6] = values
    padded = fit_model(responses_from_matrix(wider), options=tight)
    np.testing.assert_allclose(padded.items.thresholds[:6], fit.items.thresholds, atol=1e-6)
    assert padded.item_reason[6] == "no response"
    times = rng.integers(1, 4, 150)
    weighted = fit_model(responses_from_matrix(values, weights=times), options=tight)
    repeated = fit_model(responses_from_matrix(np.repeat(values, times, axis=0)), options=tight)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(weighted.items.thresholds, repeated.items.thresholds, atol=1e-5)
    np.testing.assert_allclose(weighted.thresholds_se, repeated.thresholds_se, rtol=1e-3)
    twice = responses_from_matrix(np.tile(values, (2, 1)), weights=np.full(300, 0.5))
    halved = fit_model(twice, options=tight)
    assert halved.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(halved.items.thresholds, fit.items.thresholds, atol=1e-5)
    np.testing.assert_allclose(halved.thresholds_se, fit.thresholds_se, rtol=1e-3)
