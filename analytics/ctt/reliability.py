"""Reliability of a sum score: alpha and its relatives.

Holds Cronbach's alpha, alpha if an item is deleted, McDonald's omega, split halves with Spearman-Brown and the
standard error of measurement. Does not hold item statistics (`items`) or generalisability (`generalisability`). Data
are taken as given: an item is never turned round silently, a negative item-rest correlation is for the reader to see.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from analytics.correlation import pearson
from analytics.literals import MissingPolicy, check_option
from analytics.matrix import FloatArray


@dataclass(frozen=True, slots=True)
class Reliability:
    """Internal consistency of the items.

    Attributes
    ----------
    alpha, alpha_se
        Cronbach's alpha, constant items counted, and its asymptotic standard error (complete data only).
    alpha_without_constants
        The same over the items that vary.
    standardised_alpha
        Alpha of the correlation matrix of the items that vary.
    average_r
        Mean correlation between different items that vary.
    alpha_if_deleted
        Alpha of the other items, shape (n_items,).
    sem
        Standard error of measurement of the total, sd * sqrt(1 - alpha).
    n_raters, n_items, n_constant_items
        Sizes.
    missing_policy
        What a missing cell was taken for.
    undefined_reason
        Why alpha is NaN, or None.
    """

    alpha: float
    alpha_se: float
    alpha_without_constants: float
    standardised_alpha: float
    average_r: float
    alpha_if_deleted: FloatArray
    sem: float
    n_raters: int
    n_items: int
    n_constant_items: int
    missing_policy: MissingPolicy
    undefined_reason: str | None


def reliability(responses: FloatArray, *, missing_policy: MissingPolicy = "omit") -> Reliability:
    """Cronbach's alpha (1951) and its relatives.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items); NaN is missing.
    missing_policy
        ``incorrect``: a missing cell scores 0. ``omit``: item variances are over the observed cells and a total is the
        mean over the observed items times the number of items.

    Returns
    -------
    Reliability
        NaN with a reason where there are fewer than two raters or items, or every total is equal.
    """
    check_option("missing_policy", missing_policy, MissingPolicy)
    x = np.asarray(responses, dtype=np.float64)
    x = np.nan_to_num(x, nan=0.0) if missing_policy == "incorrect" else x
    x = x[~np.isnan(x).all(axis=1)][:, ~np.isnan(x).all(axis=0)]
    n, k = x.shape
    varies = np.array([np.nanmin(column) < np.nanmax(column) for column in x.T], dtype=bool)
    alpha, total_variance = _alpha(x)
    r = _correlations(x[:, varies])
    off = r[~np.eye(len(r), dtype=bool)]
    average = float(off.mean()) if off.size and not np.isnan(off).any() else float("nan")
    m = int(varies.sum())
    return Reliability(
        alpha=alpha,
        alpha_se=_alpha_se(x),
        alpha_without_constants=_alpha(x[:, varies])[0],
        standardised_alpha=m * average / (1.0 + (m - 1) * average),
        average_r=average,
        alpha_if_deleted=np.array([_alpha(np.delete(x, j, axis=1))[0] for j in range(k)]),
        sem=float(np.sqrt(total_variance * (1.0 - alpha))) if alpha <= 1.0 else float("nan"),
        n_raters=n,
        n_items=k,
        n_constant_items=k - m,
        missing_policy=missing_policy,
        undefined_reason=_why_undefined(n, k, alpha),
    )


def omega_total(responses: FloatArray) -> float:
    """McDonald's omega of one factor (1999), complete data.

    Loadings minimise the squared residuals of the correlations between different items; omega is the share of the
    variance of the standardised sum that is not unique to an item.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items), no missing cell; constant items are left out.

    Returns
    -------
    float
        NaN with fewer than three items that vary: one factor is then not determined.
    """
    x = np.asarray(responses, dtype=np.float64)
    r = _correlations(x[:, np.ptp(x, axis=0) > 0])
    k = len(r)
    if k < 3:
        return float("nan")
    off = ~np.eye(k, dtype=bool)

    def loss(loading: FloatArray) -> tuple[float, FloatArray]:
        residual = np.where(off, r - np.outer(loading, loading), 0.0)
        return float(np.sum(residual**2)), -4.0 * residual @ loading

    start = np.sqrt(np.maximum(np.max(np.abs(np.where(off, r, 0.0)), axis=1), 0.1))
    loading = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
    return float(1.0 - np.sum(1.0 - loading**2) / r.sum())


def split_half(responses: FloatArray, *, n_splits: int, seed: int) -> FloatArray:
    """Spearman-Brown corrected correlations of random halves of the items.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items); a half's score is the mean over its observed items.
    n_splits
        Number of random splits.
    seed
        Seed of the splits.

    Returns
    -------
    ndarray of float
        Shape (n_splits,); NaN where a half has no spread.
    """
    x = np.asarray(responses, dtype=np.float64)
    rng = np.random.default_rng(seed)
    found = np.full(n_splits, np.nan)
    for split in range(n_splits):
        order = rng.permutation(x.shape[1])
        halves = [_row_means(x[:, part]) for part in np.array_split(order, 2)]
        both = ~np.isnan(halves[0]) & ~np.isnan(halves[1])
        found[split] = spearman_brown(pearson(halves[0][both], halves[1][both]))
    return found


def spearman_brown(r: float) -> float:
    """Reliability of the whole from the correlation of two halves, 2 r / (1 + r); NaN at r = -1."""
    return 2.0 * r / (1.0 + r) if r > -1.0 else float("nan")


def _row_means(x: FloatArray) -> FloatArray:
    seen = ~np.isnan(x)
    n = seen.sum(axis=1)
    means = np.full(n.size, np.nan)
    np.divide(np.nan_to_num(x).sum(axis=1), n, out=means, where=n > 0)
    return means


def _variance(x: FloatArray) -> FloatArray:
    """Variance (n - 1) of each column over its observed cells; 0 for a column observed once."""
    n = np.sum(~np.isnan(x), axis=0)
    centred = x - np.nansum(x, axis=0) / np.maximum(n, 1)
    return np.asarray(np.nansum(centred**2, axis=0) / np.maximum(n - 1, 1))


def _alpha(x: FloatArray) -> tuple[float, float]:
    """Alpha and the variance of the total; NaN where undefined."""
    n, k = x.shape
    if n < 2 or k < 2:
        return float("nan"), float("nan")
    total = _row_means(x) * k
    variance = float(_variance(total[~np.isnan(total)][:, None])[0])
    if variance <= 1e-12 * float(np.nanmax(np.abs(total))) ** 2:
        return float("nan"), variance
    return k / (k - 1) * (1.0 - float(_variance(x).sum()) / variance), variance


def _alpha_se(x: FloatArray) -> float:
    """Asymptotic standard error of alpha (van Zyl, Neudecker & Nel 2000); NaN with missing cells."""
    n, k = x.shape
    if np.isnan(x).any() or n < 2 or k < 2:
        return float("nan")
    v = np.cov(x, rowvar=False)
    whole, trace = float(v.sum()), float(np.trace(v))
    if whole <= 0:
        return float("nan")
    spread = whole * (float(np.sum(v * v)) + trace**2) - 2.0 * trace * float(np.sum(v @ v))
    return float(np.sqrt(2.0 * k**2 / ((k - 1) ** 2 * whole**3) * spread / n))


def _correlations(x: FloatArray) -> FloatArray:
    """Pairwise correlations of the columns over the rows both have; NaN without spread."""
    if x.shape[1] == 0:
        return np.zeros((0, 0))
    if not np.isnan(x).any():
        return np.atleast_2d(np.corrcoef(x, rowvar=False)) if len(x) > 1 else np.full((x.shape[1],) * 2, np.nan)
    r = np.eye(x.shape[1])
    for j in range(x.shape[1]):
        for h in range(j):
            both = ~np.isnan(x[:, j]) & ~np.isnan(x[:, h])
            r[j, h] = r[h, j] = pearson(x[both, j], x[both, h])
    return r


def _why_undefined(n: int, k: int, alpha: float) -> str | None:
    if n < 2:
        return "fewer than two raters"
    if k < 2:
        return "fewer than two items"
    return "every total is equal" if np.isnan(alpha) else None
