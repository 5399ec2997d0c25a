"""Rasch and partial credit: elementary symmetric functions, the collapse to sum scores, identification."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from analytics.irt.conditional import conditional_log_likelihood, group_by_score
from analytics.irt.families import LOGISTIC
from analytics.irt.fitting import fit_marginal
from analytics.irt.model_spec import MarginalOptions, ModelSpec
from analytics.irt.partial_credit import fit_partial_credit
from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import responses_from_matrix
from analytics.irt.responses import FloatArray
from tests.analytics.irt.simulate import draw, some_items


def enumerated(thresholds: FloatArray, values: FloatArray) -> float:
    """Conditional log-likelihood by listing every answer pattern of each person's items."""
    eta = np.concatenate([np.zeros((len(thresholds), 1)), -np.cumsum(thresholds, axis=1)], axis=1)
    total = 0.0
    for row in values:
        own = np.flatnonzero(~np.isnan(row))
        score = row[own].sum()
        patterns = [p for p in product(range(eta.shape[1]), repeat=len(own)) if sum(p) == score]
        weights = [np.exp(sum(eta[j, k] for j, k in zip(own, p, strict=True))) for p in patterns]
        total += np.log(np.exp(sum(eta[j, int(row[j])] for j in own)) / sum(weights))
    return float(total)


def test_conditional_likelihood_by_enumeration_and_its_gradient(rng: np.random.Generator) -> None:
    values = rng.integers(0, 3, (30, 4)).astype(float)
    values[rng.random(values.shape) < 0.25] = np.nan
    data = responses_from_matrix(values)
    counts = np.full(4, 3, dtype=np.int64)
    groups = group_by_score(data, counts)
    thresholds = rng.normal(size=(4, 2))
    value, gradient = conditional_log_likelihood(thresholds, groups, counts)
    assert value == pytest.approx(enumerated(thresholds, values), abs=1e-10)
    step = 1e-5
    for j, h in product(range(4), range(2)):
        near = np.zeros((4, 2))
        near[j, h] = step
        sides = [conditional_log_likelihood(thresholds + s * near, groups, counts)[0] for s in (1, -1)]
        assert gradient[j, h] == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=1e-6)


def test_conditional_maximum_by_an_independent_optimiser(rng: np.random.Generator) -> None:
    values = draw(some_items("logistic", 4, rng), rng.normal(size=80), rng, missing=0.1)
    fit = fit_rasch(responses_from_matrix(values), method="conditional", options=MarginalOptions(tolerance=1e-8))
    found = minimize(lambda b: -enumerated(np.append(b, -b.sum())[:, None], values), np.zeros(3), method="BFGS")
    assert -found.fun == pytest.approx(fit.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(np.append(found.x, -found.x.sum()), fit.items.thresholds[:, 0], atol=1e-4)


def test_symmetric_functions_of_a_long_test_neither_overflow_nor_cancel() -> None:
    # with equal difficulties gamma_r is a binomial coefficient; 3000 choose 1500 is far beyond a double
    n = 3000
    values = np.zeros((2, n))
    values[0, :1500], values[1, 7] = 1, 1
    counts = np.full(n, 2, dtype=np.int64)
    value, gradient = conditional_log_likelihood(
        np.zeros((n, 1)), group_by_score(responses_from_matrix(values), counts), counts
    )
    from scipy.special import gammaln

    log_choose = gammaln(n + 1) - 2 * gammaln(1501)
    assert value == pytest.approx(-log_choose - np.log(n), rel=1e-10)
    # the expected share of right answers is the score divided by n for every item
    np.testing.assert_allclose(gradient[:, 0], 0.5 + 1 / n - values.sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("variance", ["free", "fixed"])
@pytest.mark.parametrize("center", ["persons", "items"])
def test_sum_scores_give_the_general_fit(variance: str, center: str, rng: np.random.Generator) -> None:
    data = responses_from_matrix(
        draw(some_items("logistic", 90, rng), rng.normal(size=60), rng), weights=rng.integers(1, 3, 60)
    )
    tight = MarginalOptions(tolerance=1e-7)
    collapsed = fit_rasch(data, variance=variance, center=center, options=tight)  # type: ignore[arg-type]
    slope = "common" if variance == "free" else "fixed"
    spec = ModelSpec("rasch", LOGISTIC, slope, is_rescaled=True, center=center)  # type: ignore[arg-type]
    general = fit_marginal(data, spec, tight)
    assert collapsed.log_likelihood == pytest.approx(general.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(collapsed.items.thresholds, general.items.thresholds, atol=1e-5)
    np.testing.assert_allclose(collapsed.thresholds_se, general.thresholds_se, rtol=1e-4)
    np.testing.assert_allclose(collapsed.theta, general.theta, atol=1e-5)
    np.testing.assert_allclose(collapsed.theta_se, general.theta_se, atol=1e-5)
    np.testing.assert_allclose(collapsed.sd_theta_se, general.sd_theta_se, rtol=1e-4)


@pytest.mark.parametrize("method", ["marginal", "conditional"])
def test_centres_differ_by_a_constant_and_are_named(method: str, rng: np.random.Generator) -> None:
    # sirt "comparing rasch.jml to winsteps", girth "disclaimer about Rasch models"
    data = responses_from_matrix(draw(some_items("logistic", 8, rng), rng.normal(size=300) + 1, rng))
    by_items = fit_rasch(data, method=method, center="items")  # type: ignore[arg-type]
    by_persons = fit_rasch(data, method=method, center="persons")  # type: ignore[arg-type]
    shift = by_items.items.thresholds - by_persons.items.thresholds
    assert np.ptp(shift) == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(by_items.theta - by_persons.theta, shift[0, 0], atol=1e-9)
    assert by_items.items.thresholds.mean() == pytest.approx(0.0, abs=1e-9)
    assert "threshold 0" in by_items.identification
    assert by_items.identification != by_persons.identification
    assert by_items.log_likelihood == by_persons.log_likelihood


def test_blocks_without_a_common_person_are_refused_by_condition_and_named_by_margin() -> None:
    rng = np.random.default_rng(3)
    values = np.full((40, 6), np.nan)
    values[:20, :3] = rng.integers(0, 2, (20, 3))
    values[20:, 3:] = rng.integers(0, 2, (20, 3))
    data = responses_from_matrix(values)
    with pytest.raises(ValueError, match="2 blocks"):
        fit_rasch(data, method="conditional")
    assert any(finding.kind == "disconnected" for finding in fit_rasch(data).findings)


def test_partial_credit_of_two_categories_is_the_rasch_model(rng: np.random.Generator) -> None:
    data = responses_from_matrix(draw(some_items("logistic", 6, rng), rng.normal(size=200), rng, missing=0.1))
    assert fit_partial_credit(data).log_likelihood == pytest.approx(fit_rasch(data).log_likelihood, abs=1e-6)
    pcm = fit_partial_credit(data, method="conditional")
    rasch = fit_rasch(data, method="conditional")
    np.testing.assert_allclose(pcm.items.thresholds, rasch.items.thresholds, atol=1e-4)
    with pytest.raises(ValueError, match="gpcm"):
        fit_partial_credit(data, irt_model="gpcm", method="conditional")


def test_many_items_and_persons_in_a_moment(rng: np.random.Generator) -> None:
    b, theta = rng.normal(size=2000), rng.normal(size=300)
    values = (rng.random((300, 2000)) < 1 / (1 + np.exp(b - theta[:, None]))).astype(np.uint8)
    fit = fit_rasch(responses_from_matrix(values))
    assert fit.is_converged
    assert np.corrcoef(fit.items.thresholds[:, 0], b)[0, 1] > 0.98
    z = (fit.items.thresholds[:, 0] - b - np.mean(fit.items.thresholds[:, 0] - b)) / fit.thresholds_se[:, 0]
    assert 0.9 < z.std() < 1.15  # the errors include that of the origin, which the mean takes out


def small_tables(n: int) -> list[FloatArray]:
    """Tables so small that the variance of ability is now 0, now without bound."""
    rng = np.random.default_rng(1)
    tables = []
    for _ in range(n):
        theta = rng.normal(0, rng.choice([0.0, 0.3, 1.0, 3.0]), (int(rng.integers(4, 30)), 1))
        p = 1 / (1 + np.exp(-(theta - rng.normal(0, 1.5, int(rng.integers(3, 12))))))
        values = (rng.random(p.shape) < p).astype(float)
        if np.any(values.min(axis=0) < values.max(axis=0)):
            tables.append(values)
    return tables


def test_the_standard_deviation_of_ability_is_never_negative_and_its_maximum_is_found() -> None:
    spec, bounds = ModelSpec("rasch", LOGISTIC, "common", is_rescaled=True), 0
    for values in small_tables(40):
        data = responses_from_matrix(values)
        collapsed, general = fit_rasch(data), fit_marginal(data, spec, MarginalOptions())
        assert collapsed.sd_theta >= 0
        assert general.sd_theta >= 0
        if collapsed.is_converged:
            assert collapsed.log_likelihood == pytest.approx(general.log_likelihood, abs=1e-4)
        if collapsed.sd_theta == 0:
            bounds += 1
            assert "boundary" in {finding.kind for finding in collapsed.findings}
            assert np.all(collapsed.theta == 0)
            assert np.isnan(collapsed.theta_se).all()
            assert "variance of ability is 0" in collapsed.person_reason[0]
    assert bounds > 3


def test_abilities_rise_with_the_sum_score_whichever_side_the_search_came_from(rng: np.random.Generator) -> None:
    for values in small_tables(20):
        fit = fit_rasch(responses_from_matrix(values))
        varies = values.min(axis=0) < values.max(axis=0)
        assert np.all(np.diff(fit.theta[np.argsort(values[:, varies].sum(axis=1), kind="stable")]) > -1e-12)


def test_weights_that_are_fractions_leave_a_constant_item_constant(rng: np.random.Generator) -> None:
    values = np.column_stack([np.ones(30), draw(some_items("logistic", 5, rng), rng.normal(size=30), rng)])
    fit = fit_rasch(responses_from_matrix(values, weights=rng.random(30) + 0.1))
    assert fit.item_reason[0] == "every response is 1: the estimate is infinite"
