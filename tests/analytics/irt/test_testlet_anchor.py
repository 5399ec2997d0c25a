"""What stands on a fixed calibration: anchored scores and rater slopes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_anchor import score_anchored
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_scale import averaging_slope
from analytics.irt.testlet_slope import estimate_slopes


def simulate(rng, theta, n_items=60, n_testlets=6, sd_u=0.5, alpha=1.0):
    b, of_item = rng.normal(0, 1.5, n_items), np.arange(n_items) % n_testlets
    u = rng.normal(0, sd_u, (theta.size, n_testlets))
    logit = theta[:, None] + u[:, of_item] - np.broadcast_to(alpha, theta.shape)[:, None] * (b - b.mean()) - b.mean()
    return (rng.random(logit.shape) < expit(logit)).astype(float), of_item, b


def test_scores_are_the_posterior_mode(rng) -> None:
    responses, of_item, b = simulate(rng, np.array([0.5, -1.0]))
    responses[0, :10] = np.nan
    found = score_anchored(responses, of_item, b, sd_theta=1.1, sd_u=0.6)
    for i, row in enumerate(responses):
        seen = ~np.isnan(row)

        def loss(x, row=row, seen=seen):
            logit = x[0] + x[1:][of_item[seen]] - b[seen]
            prior = x[0] ** 2 / 1.1**2 + np.sum(x[1:] ** 2) / 0.6**2
            return prior / 2 + np.sum(np.logaddexp(0, logit) - row[seen] * logit)

        other = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-9}).x
        assert found.theta[i] == pytest.approx(other[0], abs=1e-5)
        np.testing.assert_allclose(found.u[i], other[1:], atol=1e-5)
    assert found.is_converged.all()


def test_a_new_rater_moves_nobody_and_scores_as_in_the_calibration(rng) -> None:
    responses, of_item, _ = simulate(rng, rng.normal(size=30), n_items=200, n_testlets=20)
    options = Options("given", 1.0, 1.5, 0.5, tolerance=1e-10)
    fit = fit_testlet(responses, of_item, options)
    scored = score_anchored(responses, of_item, fit.b, sd_theta=1.0, sd_u=0.5)
    np.testing.assert_allclose(scored.theta, fit.theta, atol=1e-7)  # the mode given b is the joint mode's
    alone = score_anchored(responses[:1], of_item, fit.b, sd_theta=1.0, sd_u=0.5)
    assert alone.theta[0] == scored.theta[0]


def test_one_rater_a_perfect_score_and_nobody_at_all() -> None:
    b, of_item = np.array([1.5, 2.0, 1.0]), np.zeros(3, dtype=int)
    rows = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [np.nan] * 3])
    found = score_anchored(rows, of_item, b, sd_theta=1.0, sd_u=0.0)
    assert found.theta[2] < found.theta[0] < found.theta[1]
    assert np.all(np.isfinite(found.theta_se[:3]))
    assert np.isnan(found.theta[3])


def test_uncertain_difficulties_promise_a_flatter_fall(rng) -> None:
    b = np.array([-2.0, 2.0])
    row, of_item = np.array([[1.0, 0.0]]), np.array([0, 1])
    sharp = score_anchored(row, of_item, b, sd_theta=1.0, sd_u=0.0).probability[0]
    blunt = score_anchored(row, of_item, b, sd_theta=1.0, sd_u=0.0, b_se=np.ones(2)).probability[0]
    assert sharp[0] > blunt[0] > blunt[1] > sharp[1]
    draws = rng.normal(2.0, 1.0, 200_000)  # theta is 0 by symmetry: the exact logistic-normal mean
    assert blunt[1] == pytest.approx(expit(-draws).mean(), abs=0.01)


def test_slopes_are_recovered_with_their_standard_errors(rng) -> None:
    truth = np.tile([0.5, 1.0, 1.5], 20)
    responses, of_item, b = simulate(rng, rng.normal(size=60), 400, 40, sd_u=0.4, alpha=truth)
    found = estimate_slopes(responses, of_item, b, sd_theta=1.0, sd_u=0.4)
    assert found.undefined_reason == (None,) * 60
    z = (found.alpha - truth) / found.alpha_se
    assert abs(z.mean()) < 0.4
    assert 0.75 < z.std() < 1.25
    assert np.mean(found.alpha[::3]) < 0.6 < 0.9 < np.mean(found.alpha[1::3]) < 1.1


def test_slope_equals_an_independent_optimiser(rng) -> None:
    responses, of_item, b = simulate(rng, np.array([0.3]))

    def loss(x):
        logit = x[0] + x[2:][of_item] - x[1] * (b - b.mean())
        return (x[0] ** 2 + np.sum(x[2:] ** 2) / 0.25) / 2 + np.sum(np.logaddexp(0, logit) - responses[0] * logit)

    other = minimize(loss, np.append([0.0, 1.0], np.zeros(6)), method="BFGS", options={"gtol": 1e-9})
    found = estimate_slopes(responses, of_item, b, sd_theta=1.0, sd_u=0.5)
    assert found.alpha[0] == pytest.approx(other.x[1], abs=1e-5)
    steps = 1e-3 * np.eye(8)
    second = [
        [loss(other.x + a + c) - loss(other.x + a - c) - loss(other.x - a + c) + loss(other.x - a - c) for a in steps]
        for c in steps
    ]
    covariance = np.linalg.inv(np.array(second) / (4 * 1e-6))
    assert found.alpha_se[0] == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-4)


def test_a_slope_with_uncertain_difficulties_has_no_gradient_left(rng) -> None:
    # the objective that the slope should minimise, written out; its numeric gradient is 0 at the slope, once theta and
    # u have followed, and is not 0 at a random slope
    responses, of_item, b = simulate(rng, np.array([0.3]))
    row, b_se = responses[0], rng.uniform(0.1, 1.5, b.size)
    row[:5] = np.nan
    seen = ~np.isnan(row)
    shrink, x = averaging_slope(b_se)[seen], b[seen] - b[seen].mean()

    def loss(rest, alpha):
        logit = shrink * (rest[0] + rest[1:][of_item[seen]] - alpha * x)
        prior = rest[0] ** 2 / 0.9**2 + np.sum(rest[1:] ** 2) / 0.6**2
        return prior / 2 + np.sum(np.logaddexp(0, logit) - row[seen] * logit)

    def slope_of_loss(alpha):
        rest = minimize(loss, np.zeros(7), args=(alpha,), method="BFGS", options={"gtol": 1e-9}).x
        return (loss(rest, alpha + 1e-5) - loss(rest, alpha - 1e-5)) / 2e-5

    found = estimate_slopes(responses, of_item, b, sd_theta=0.9, sd_u=0.6, b_se=b_se)
    assert slope_of_loss(found.alpha[0]) == pytest.approx(0.0, abs=1e-5)
    assert abs(slope_of_loss(found.alpha[0] + rng.uniform(0.2, 1.0))) > 0.1
    curvature = (slope_of_loss(found.alpha[0] + 1e-3) - slope_of_loss(found.alpha[0] - 1e-3)) / 2e-3
    assert found.alpha_se[0] == pytest.approx(curvature**-0.5, rel=1e-3)


@pytest.mark.parametrize("missing", [0.3, 0.9])
def test_slopes_bear_missing_responses_and_a_rater_without_any(rng, missing) -> None:
    responses, of_item, b = simulate(rng, rng.normal(size=40), 400, 40, sd_u=0.4)
    responses[rng.random(responses.shape) < missing] = np.nan
    plain = estimate_slopes(responses, of_item, b, sd_theta=1.0, sd_u=0.4)
    assert plain.undefined_reason == (None,) * 40
    assert np.isfinite([plain.alpha, plain.alpha_se]).all()
    z = (plain.alpha - 1.0) / plain.alpha_se
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3  # of 40: standard error .11
    padded = estimate_slopes(np.vstack([np.full(400, np.nan), responses]), of_item, b, sd_theta=1.0, sd_u=0.4)
    assert padded.undefined_reason == ("no responses",) + (None,) * 40
    assert np.isnan([padded.alpha[0], padded.alpha_se[0]]).all()
    np.testing.assert_array_equal(padded.alpha[1:], plain.alpha)
    np.testing.assert_array_equal(padded.alpha_se[1:], plain.alpha_se)


def test_permuting_raters_items_and_testlets_permutes_the_slopes(rng) -> None:
    responses, of_item, b = simulate(rng, rng.normal(size=12), 60, 6, sd_u=0.4)
    responses[rng.random(responses.shape) < 0.2] = np.nan
    b_se, names = rng.uniform(0.1, 0.5, b.size), rng.permutation(6)
    rows, columns = rng.permutation(12), rng.permutation(60)
    first = estimate_slopes(responses, of_item, b, sd_theta=1.0, sd_u=0.4, b_se=b_se)
    moved = np.asfortranarray(responses[np.ix_(rows, columns)])
    again = estimate_slopes(moved, names[of_item[columns]], b[columns], sd_theta=1.0, sd_u=0.4, b_se=b_se[columns])
    np.testing.assert_allclose(again.alpha, first.alpha[rows], atol=1e-8)
    np.testing.assert_allclose(again.alpha_se, first.alpha_se[rows], atol=1e-8)


def test_undefined_slopes_say_why() -> None:
    b, of_item = np.arange(6.0), np.array([0, 0, 0, 1, 1, 1])
    nan = np.nan
    rows = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [nan] * 6, [1, nan, nan, nan, nan, nan]])
    found = estimate_slopes(rows, of_item, b, sd_theta=1.0, sd_u=0.0)
    assert found.undefined_reason == (
        "all responses alike",
        "no finite slope: difficulty separates right from wrong",
        "no responses",
        "all responses alike",
    )
    flat = estimate_slopes(np.array([[1.0, 0.0]]), of_item[:2], np.zeros(2), sd_theta=1.0, sd_u=0.0)
    assert flat.undefined_reason == ("items of one difficulty",)
