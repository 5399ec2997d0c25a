"""Scoring raters on a fixed calibration: theta and u with the difficulties given.

Holds the anchored scores of the testlet model. Does not hold calibration, nor drift between calibrations
(`drift`). New raters scored here move nobody else.
"""

from dataclasses import dataclass

import numpy as np

from analytics.irt.testlet_scale import averaging_slope
from analytics.matrix import FloatArray, IntArray

_MAX_ITERATIONS = 200
_TOLERANCE = 1e-9
_LARGEST_STEP = 1.5


@dataclass(frozen=True, slots=True)
class AnchoredScores:
    """Abilities on a calibrated scale.

    Attributes
    ----------
    theta, theta_se
        Shape (n_raters,); NaN for a rater without responses to calibrated items.
    u
        Shape (n_raters, n_testlets); 0 where nothing was observed.
    probability
        Expected response of each rater to each item, shape (n_raters, n_items); NaN for items without a difficulty.
    is_converged
        Shape (n_raters,).
    """

    theta: FloatArray
    theta_se: FloatArray
    u: FloatArray
    probability: FloatArray
    is_converged: FloatArray


def score_anchored(
    responses: FloatArray,
    item_testlet: IntArray,
    b: FloatArray,
    *,
    sd_theta: float,
    sd_u: float,
    b_se: FloatArray | None = None,
) -> AnchoredScores:
    """Posterior mode of theta and u of each rater, difficulties fixed.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items): 1, 0 or NaN.
    item_testlet
        Testlet index of each item, shape (n_items,).
    b
        Calibrated difficulties, shape (n_items,); NaN items are left out.
    sd_theta, sd_u
        Standard deviations of the calibration.
    b_se
        Standard errors of the difficulties. When given, responses are averaged over N(b, b_se^2), see
        `testlet_scale`. Without it an imprecise calibration would promise a steeper fall with difficulty than any
        rater can show.

    Returns
    -------
    AnchoredScores
    """
    n_testlets = int(item_testlet.max()) + 1
    usable = ~np.isnan(b)
    slope = np.ones(b.size) if b_se is None else averaging_slope(b_se)
    n_raters = responses.shape[0]
    theta, se = np.full(n_raters, np.nan), np.full(n_raters, np.nan)
    u, converged = np.zeros((n_raters, n_testlets)), np.zeros(n_raters, dtype=bool)
    for i in range(n_raters):
        seen = usable & ~np.isnan(responses[i])
        if not seen.any():
            continue
        theta[i], se[i], u[i], converged[i] = _score_one(
            responses[i, seen], item_testlet[seen], b[seen], slope[seen], n_testlets, sd_theta, sd_u
        )
    logit = slope * (theta[:, None] + u[:, item_testlet] - b)
    return AnchoredScores(theta, se, u, 1.0 / (1.0 + np.exp(-logit)), converged)


def _score_one(
    y: FloatArray, testlet: IntArray, b: FloatArray, slope: FloatArray, n_testlets: int, sd_theta: float, sd_u: float
) -> tuple[float, float, FloatArray, bool]:
    """Newton on (theta, u): theta by the Schur complement of the diagonal u."""
    theta, u = 0.0, np.zeros(n_testlets)
    u_precision = sd_u**-2 if sd_u > 0 else 0.0
    for _ in range(_MAX_ITERATIONS):
        p = 1.0 / (1.0 + np.exp(-slope * (theta + u[testlet] - b)))
        residual = np.bincount(testlet, slope * (y - p), n_testlets)
        info = np.bincount(testlet, slope**2 * p * (1.0 - p), n_testlets)
        g_theta, g_u = theta / sd_theta**2 - residual.sum(), u_precision * u - residual * (sd_u > 0)
        kept = 1.0 / (1.0 + sd_u**2 * info)
        information = sd_theta**-2 + float(np.sum(info * kept))
        if max(abs(g_theta), float(np.max(np.abs(g_u)))) <= _TOLERANCE:
            return theta, information**-0.5, u, True
        d_theta = (float(np.sum(info * sd_u**2 * kept * g_u)) - g_theta) / information
        d_u = -(sd_u**2) * kept * (g_u + info * d_theta)
        scale = _LARGEST_STEP / max(abs(d_theta), float(np.max(np.abs(d_u))), _LARGEST_STEP)
        theta, u = theta + scale * d_theta, u + scale * d_u
    return theta, information**-0.5, u, False
