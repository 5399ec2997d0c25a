"""Differential item functioning between two groups, matched on the score.

Holds Mantel-Haenszel and logistic DIF. Does not hold IRT-based comparisons. With few raters in a group both describe
rather than test: the counts are part of the result.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from analytics.matrix import FloatArray

_ETS_DELTA = -2.35  # log odds ratio to the ETS delta scale (Holland & Thayer 1988)


@dataclass(frozen=True, slots=True)
class MantelHaenszel:
    """Mantel-Haenszel DIF per item, arrays of shape (n_items,).

    Attributes
    ----------
    odds_ratio
        Common odds ratio, reference over focal; NaN when no score level has both groups and both answers.
    delta
        -2.35 log odds ratio; negative is harder for the focal group.
    delta_se
        Standard error (Robins, Breslow & Greenland 1986).
    chi_square, p_value
        Test with continuity correction, one degree of freedom.
    n_reference, n_focal
        Raters with a response.
    """

    odds_ratio: FloatArray
    delta: FloatArray
    delta_se: FloatArray
    chi_square: FloatArray
    p_value: FloatArray
    n_reference: FloatArray
    n_focal: FloatArray


@dataclass(frozen=True, slots=True)
class LogisticDif:
    """Logistic-regression DIF per item (Swaminathan & Rogers 1990), arrays of shape (n_items,).

    Attributes
    ----------
    uniform_chi_square, uniform_p
        Likelihood ratio of adding the group to the score, one degree of freedom; NaN when not estimable.
    nonuniform_chi_square, nonuniform_p
        Likelihood ratio of adding score x group to that.
    group_effect
        Log odds of the focal group at equal score.
    """

    uniform_chi_square: FloatArray
    uniform_p: FloatArray
    nonuniform_chi_square: FloatArray
    nonuniform_p: FloatArray
    group_effect: FloatArray


def mantel_haenszel(responses: FloatArray, is_focal: NDArray[np.bool_], matching: FloatArray) -> MantelHaenszel:
    """Mantel-Haenszel DIF of every item.

    Parameters
    ----------
    responses
        0, 1 or NaN, shape (n_raters, n_items).
    is_focal
        Focal group, shape (n_raters,).
    matching
        Score to match on, usually the total with the item included, shape (n_raters,); each value is a stratum.
    """
    _, level = np.unique(matching, return_inverse=True)
    n_items = responses.shape[1]
    columns = {name: np.full(n_items, np.nan) for name in ("odds_ratio", "delta", "delta_se", "chi_square", "p_value")}
    counts = np.zeros((2, n_items))
    for j in range(n_items):
        seen = ~np.isnan(responses[:, j])
        counts[:, j] = np.sum(seen & ~is_focal), np.sum(seen & is_focal)
        cell = level[seen] * 4 + is_focal[seen] * 2 + (responses[seen, j] == 0)
        table = np.bincount(cell, minlength=4 * (level.max() + 1)).reshape(-1, 4).astype(np.float64)
        for name, value in _mantel_haenszel_item(table).items():
            columns[name][j] = value
    return MantelHaenszel(n_reference=counts[0], n_focal=counts[1], **columns)


def _mantel_haenszel_item(table: FloatArray) -> dict[str, float]:
    """Statistics from strata of (reference right, reference wrong, focal right, focal wrong)."""
    total = table.sum(axis=1)
    table, total = table[total > 1], total[total > 1]
    a, b, c, d = table.T
    agree, cross = a * d / total, b * c / total
    if agree.sum() == 0 or cross.sum() == 0:
        return {}
    ratio = agree.sum() / cross.sum()
    p, q = (a + d) / total, (b + c) / total
    variance = (
        np.sum(p * agree) / (2 * agree.sum() ** 2)
        + np.sum(p * cross + q * agree) / (2 * agree.sum() * cross.sum())
        + np.sum(q * cross) / (2 * cross.sum() ** 2)
    )
    reference, right = a + b, a + c
    expected = reference * right / total
    spread = np.sum(reference * (c + d) * right * (b + d) / (total**2 * (total - 1)))
    found = {
        "odds_ratio": float(ratio),
        "delta": float(_ETS_DELTA * np.log(ratio)),
        "delta_se": float(-_ETS_DELTA * np.sqrt(variance)),
    }
    if spread > 0:
        found["chi_square"] = float(max(0.0, abs(np.sum(a - expected)) - 0.5) ** 2 / spread)
        found["p_value"] = float(chi2.sf(found["chi_square"], 1))
    return found


def logistic_dif(responses: FloatArray, is_focal: NDArray[np.bool_], matching: FloatArray) -> LogisticDif:
    """Logistic-regression DIF of every item.

    Parameters
    ----------
    responses
        0, 1 or NaN, shape (n_raters, n_items).
    is_focal
        Focal group, shape (n_raters,).
    matching
        Score to match on, shape (n_raters,); standardised inside.
    """
    n_items = responses.shape[1]
    found = np.full((5, n_items), np.nan)
    score = (matching - matching.mean()) / max(float(matching.std()), 1e-300)
    design = np.column_stack([np.ones(score.size), score, is_focal, score * is_focal])
    for j in range(n_items):
        seen = ~np.isnan(responses[:, j])
        fits = [_logistic(design[seen][:, :k], responses[seen, j]) for k in (2, 3, 4)]
        uniform, nonuniform = 2 * (fits[1][0] - fits[0][0]), 2 * (fits[2][0] - fits[1][0])
        found[:, j] = uniform, chi2.sf(uniform, 1), nonuniform, chi2.sf(nonuniform, 1), fits[1][1][2]
    return LogisticDif(*found)


def _logistic(x: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
    """Maximum likelihood by Newton; NaN when separation sends a coefficient to infinity."""
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30, 30)))
        information = (x * (p * (1 - p))[:, None]).T @ x
        if np.linalg.cond(information) > 1e12:
            break
        step = np.linalg.solve(information, x.T @ (y - p))
        beta = beta + step * min(1.0, 3.0 / max(float(np.max(np.abs(step))), 1e-300))
        if np.max(np.abs(step)) < 1e-10:
            logit = x @ beta
            return float(y @ logit - np.sum(np.logaddexp(0.0, logit))), beta
    return float("nan"), np.full(x.shape[1], np.nan)
