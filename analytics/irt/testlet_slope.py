"""A slope per rater: how steeply its accuracy answers to difficulty, against the 1 of the one-parameter model.

Holds the rater slopes on given difficulties. Does not hold the fit that gives them, nor slopes over bins
(`analytics.robustness`).
"""

from dataclasses import dataclass

import numpy as np

from analytics.irt.testlet_scale import averaging_slope
from analytics.matrix import FloatArray, IntArray

_MAX_ITERATIONS, _TOLERANCE, _LARGEST_STEP, _LARGEST_SLOPE = 200, 1e-9, 1.0, 20.0


@dataclass(frozen=True, slots=True)
class RaterSlopes:
    """Slopes of raters.

    Attributes
    ----------
    alpha, alpha_se
        Slope and standard error, shape (n_raters,); below 1 a rater loses less with difficulty than the model says.
        NaN where undefined.
    undefined_reason
        Why a slope is NaN, length n_raters.
    """

    alpha: FloatArray
    alpha_se: FloatArray
    undefined_reason: tuple[str | None, ...]


def estimate_slopes(
    responses: FloatArray,
    item_testlet: IntArray,
    b: FloatArray,
    *,
    sd_theta: float,
    sd_u: float,
    b_se: FloatArray | None = None,
) -> RaterSlopes:
    """Fit logit P = theta_i + u_it - alpha_i (b_j - mean b) for each rater by itself.

    theta and u have their priors, alpha a flat one; its standard error is eliminated over both, so that testlet
    effects widen it.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items): 1, 0 or NaN.
    item_testlet
        Testlet index of each item, shape (n_items,).
    b
        Difficulties, shape (n_items,); NaN items are left out. If they come from a fit with the rater's own
        responses, slopes are drawn towards each other: prefer difficulties from other models.
    sd_theta, sd_u
        Standard deviations of the calibration.
    b_se
        Standard errors of b. When given, responses are averaged over them by `testlet_scale.averaging_slope`;
        without that, an imprecise calibration flattens every slope.
    """
    shrink = np.ones(b.size) if b_se is None else averaging_slope(b_se)
    alpha, se = np.full(len(responses), np.nan), np.full(len(responses), np.nan)
    reasons: list[str | None] = []
    for i, row in enumerate(responses):
        seen = ~np.isnan(row) & ~np.isnan(b)
        y, x = row[seen], b[seen]
        if y.size == 0 or y.min() == y.max():
            reasons.append("all responses alike" if y.size else "no responses")
            continue
        if np.ptp(x) < 1e-9:
            reasons.append("items of one difficulty")
            continue
        _, testlet = np.unique(item_testlet[seen], return_inverse=True)
        found = _slope(y, testlet, -shrink[seen] * (x - x.mean()), shrink[seen], sd_theta, sd_u)
        if found is None:
            reasons.append("no finite slope: difficulty separates right from wrong")
            continue
        alpha[i], se[i] = found
        reasons.append(None)
    return RaterSlopes(alpha, se, tuple(reasons))


def _slope(
    y: FloatArray, testlet: IntArray, x: FloatArray, shrink: FloatArray, sd_theta: float, sd_u: float
) -> tuple[float, float] | None:
    """Newton on (theta, alpha, u), u eliminated testlet by testlet; None when the slope runs away."""
    n = int(testlet.max()) + 1
    beta, u = np.array([0.0, 1.0]), np.zeros(n)
    prior, p_u = np.array([sd_theta**-2, 0.0]), sd_u**-2 if sd_u > 0 else 0.0
    for _ in range(_MAX_ITERATIONS):
        p = 1.0 / (1.0 + np.exp(-(shrink * (beta[0] + u[testlet]) + x * beta[1])))
        w, residual = p * (1.0 - p), y - p
        g = prior * beta - np.array([shrink @ residual, x @ residual])
        g_u = p_u * u - np.bincount(testlet, shrink * residual, n) if sd_u > 0 else np.zeros(n)
        to_theta, to_alpha = np.bincount(testlet, w * shrink**2, n), np.bincount(testlet, w * shrink * x, n)
        spread = sd_u**2 / (1.0 + sd_u**2 * to_theta)
        coupling = np.stack([to_theta, to_alpha])
        information = np.array([[w @ shrink**2, (w * shrink) @ x], [(w * shrink) @ x, w @ x**2]]) + np.diag(prior)
        information -= (coupling * spread) @ coupling.T
        if max(np.max(np.abs(g)), np.max(np.abs(g_u))) <= _TOLERANCE:
            return float(beta[1]), float(np.sqrt(np.linalg.inv(information)[1, 1]))
        d_beta = np.linalg.solve(information, (coupling * spread) @ g_u - g)
        d_u = -spread * (g_u + coupling.T @ d_beta)
        scale = _LARGEST_STEP / max(float(np.max(np.abs(d_beta))), float(np.max(np.abs(d_u))), _LARGEST_STEP)
        beta, u = beta + scale * d_beta, u + scale * d_u
        if abs(beta[1]) > _LARGEST_SLOPE:
            return None
    return None
