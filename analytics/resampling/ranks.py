"""Rank correlation with multiplicities: overall and within strata.

Holds weighted average ranks and the Spearman correlations that bootstraps recompute in every draw. A weight is how
often an item was drawn, so that ranks are those of the drawn sample, not of the original one. Does not hold the
drawing (`bootstrap`).
"""

import numpy as np

from analytics.matrix import FloatArray, IntArray


def weighted_ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Average rank of each value in the sample in which it occurs `weights` times.

    Parameters
    ----------
    values
        Shape (n,), no NaN.
    weights
        Multiplicities, shape (n_draws, n).

    Returns
    -------
    ndarray of float
        Shape (n_draws, n); a rank is given to values of weight 0 as well, and counts for nothing.
    """
    order = np.argsort(values, kind="stable")
    ordered, by_order = values[order], weights[:, order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    in_group = np.add.reduceat(by_order, starts, axis=1)
    middle = np.cumsum(in_group, axis=1) - in_group / 2.0 + 0.5
    ranks = np.empty(weights.shape)
    ranks[:, order] = np.repeat(middle, np.diff(np.append(starts, values.size)), axis=1)
    return ranks


def spearman(x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Spearman's rho of x and y in each draw.

    Parameters
    ----------
    x, y
        Shape (n,), no NaN.
    weights
        Multiplicities, shape (n_draws, n); None is one draw with every item once.

    Returns
    -------
    ndarray of float
        Shape (n_draws,); NaN where a side is constant in the draw.
    """
    weights = np.ones((1, x.size)) if weights is None else weights
    return _weighted_pearson(weighted_ranks(x, weights), weighted_ranks(y, weights), weights)


def within_stratum_spearman(
    x: FloatArray, y: FloatArray, stratum: IntArray, weights: FloatArray | None = None
) -> FloatArray:
    """Rank correlation inside strata, pooled: no comparison crosses a stratum.

    Ranks are taken and standardised inside each stratum; the correlation of the pooled standardised ranks is the
    item-weighted mean of the strata's rhos. A stratum in which a side is constant has no rho and is left out.

    Parameters
    ----------
    x, y
        Shape (n,), no NaN.
    stratum
        Stratum code, shape (n,).
    weights
        Multiplicities, shape (n_draws, n); None is one draw with every item once.

    Returns
    -------
    ndarray of float
        Shape (n_draws,); NaN where no stratum has a rho.
    """
    weights = np.ones((1, x.size)) if weights is None else weights
    total, size = np.zeros(len(weights)), np.zeros(len(weights))
    for code in np.unique(stratum):
        own = stratum == code
        rho = spearman(x[own], y[own], weights[:, own])
        defined = ~np.isnan(rho)
        n = weights[:, own].sum(axis=1)
        total[defined] += (rho * n)[defined]
        size[defined] += n[defined]
    pooled = np.full(total.size, np.nan)
    np.divide(total, size, out=pooled, where=size > 0)
    return pooled


def _weighted_pearson(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    n = weights.sum(axis=1, keepdims=True)
    safe = np.maximum(n, 1e-300)
    dx = x - np.sum(weights * x, axis=1, keepdims=True) / safe
    dy = y - np.sum(weights * y, axis=1, keepdims=True) / safe
    var_x, var_y = np.sum(weights * dx**2, axis=1), np.sum(weights * dy**2, axis=1)
    covariance = np.sum(weights * dx * dy, axis=1)
    r = np.full(len(weights), np.nan)
    defined = (var_x > 1e-12 * safe[:, 0]) & (var_y > 1e-12 * safe[:, 0])
    r[defined] = covariance[defined] / np.sqrt(var_x[defined] * var_y[defined])
    return r
