"""What stands on a fixed calibration: anchored scores and rater slopes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_anchor import score_anchored
from analytics.irt.testlet_result import TestletOptions as Options
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
