"""Bootstraps over clusters, with multiplicity weights instead of copied rows.

Holds the drawing of multiplicities, intervals from draws, the two-way bootstrap (item clusters x models) and the
jackknife that checks it when clusters are few. Does not hold statistics: they arrive as functions of weights.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from analytics.literals import IntervalMethod, check_option
from analytics.matrix import FloatArray, IntArray

_CHUNK = 4_000_000  # numbers in one block of multiplicities


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with a bootstrap interval.

    Attributes
    ----------
    estimate
        The statistic of the data as they are.
    ci_low, ci_high
        Ends of the interval; NaN when the estimate or half of the draws are undefined.
    se
        Standard deviation of the defined draws.
    n, n_clusters
        Items, and clusters that were resampled.
    n_draws, n_undefined
        Draws made, and draws in which the statistic was undefined.
    seed
        Seed of the draws.
    resampled_unit
        What was drawn.
    method
        How the interval was read off.
    """

    estimate: float
    ci_low: float
    ci_high: float
    se: float
    n: int
    n_clusters: int
    n_draws: int
    n_undefined: int
    seed: int
    resampled_unit: str
    method: IntervalMethod


def draw_multiplicities(
    cluster: IntArray, *, n_draws: int, rng: np.random.Generator, stratum: IntArray | None = None
) -> FloatArray:
    """Draw how many times each item is in each bootstrap sample of whole clusters.

    Parameters
    ----------
    cluster
        Cluster code of each item, shape (n,).
    n_draws
        Number of samples.
    rng
        Source of the draws.
    stratum
        Stratum code of each item; clusters are then drawn inside strata, as many as each has. None draws from all.

    Returns
    -------
    ndarray of float
        Shape (n_draws, n).

    Raises
    ------
    ValueError
        If a cluster lies in two strata.
    """
    codes, first, index = np.unique(cluster, return_index=True, return_inverse=True)
    of_cluster = np.zeros(codes.size, dtype=np.int64) if stratum is None else np.asarray(stratum)[first]
    if stratum is not None and np.any(of_cluster[index] != stratum):
        raise ValueError("a cluster lies in two strata: draw without strata, or split it")
    times = np.zeros((n_draws, codes.size))
    for code in np.unique(of_cluster):
        own = np.flatnonzero(of_cluster == code)
        drawn = own[rng.integers(0, own.size, (n_draws, own.size))]
        flat = (np.arange(n_draws)[:, None] * codes.size + drawn).ravel()
        times += np.bincount(flat, minlength=times.size).reshape(times.shape)
    return times[:, index]


def cluster_bootstrap(
    statistic: Callable[[FloatArray], FloatArray],
    cluster: IntArray,
    *,
    n_draws: int = 1000,
    seed: int,
    stratum: IntArray | None = None,
    method: IntervalMethod = "percentile",
    level: float = 0.95,
    resampled_unit: str = "cluster",
) -> Interval:
    """Interval of a statistic of items, whole clusters resampled.

    Parameters
    ----------
    statistic
        From multiplicities of shape (n_draws, n) to values of shape (n_draws,), all draws at once.
    cluster, stratum
        As for `draw_multiplicities`.
    n_draws, seed, method, level
        Draws, their seed, how the interval is read off and its coverage.
    resampled_unit
        Name of the clusters in the result.
    """
    rng, n = np.random.default_rng(seed), cluster.size
    size = max(1, _CHUNK // max(n, 1))
    parts = [
        statistic(draw_multiplicities(cluster, n_draws=min(size, n_draws - done), rng=rng, stratum=stratum))
        for done in range(0, n_draws, size)
    ]
    return make_interval(
        float(statistic(np.ones((1, n)))[0]),
        np.concatenate(parts),
        n=n,
        n_clusters=np.unique(cluster).size,
        seed=seed,
        resampled_unit=resampled_unit,
        method=method,
        level=level,
    )


def two_way_bootstrap(
    statistic: Callable[[FloatArray, FloatArray], float],
    item_cluster: IntArray,
    rater_model: IntArray,
    *,
    n_draws: int = 1000,
    seed: int,
    method: IntervalMethod = "percentile",
    level: float = 0.95,
) -> Interval:
    """Interval when models are a sample too: item clusters and models are drawn independently.

    Parameters
    ----------
    statistic
        From item multiplicities (n_items,) and rater multiplicities (n_raters,) to a value.
    item_cluster, rater_model
        Cluster of each item and model of each rater; a drawn model brings all its raters.
    n_draws, seed, method, level
        As for `cluster_bootstrap`.
    """
    rng = np.random.default_rng(seed)
    items = draw_multiplicities(item_cluster, n_draws=n_draws, rng=rng)
    raters = draw_multiplicities(rater_model, n_draws=n_draws, rng=rng)
    draws = np.array([statistic(item, rater) for item, rater in zip(items, raters, strict=True)])
    return make_interval(
        statistic(np.ones(item_cluster.size), np.ones(rater_model.size)),
        draws,
        n=item_cluster.size,
        n_clusters=min(np.unique(item_cluster).size, np.unique(rater_model).size),
        seed=seed,
        resampled_unit="item cluster x model",
        method=method,
        level=level,
    )


def make_interval(
    estimate: float,
    draws: FloatArray,
    *,
    n: int,
    n_clusters: int,
    seed: int,
    resampled_unit: str,
    method: IntervalMethod = "percentile",
    level: float = 0.95,
) -> Interval:
    """Read an interval off bootstrap draws; draws that are NaN are counted, never replaced."""
    check_option("method", method, IntervalMethod)
    defined = draws[~np.isnan(draws)]
    low = high = se = float("nan")
    if defined.size >= max(2, draws.size / 2) and not np.isnan(estimate):
        se = float(defined.std(ddof=1))
        tail = (1.0 - level) / 2.0
        low, high = (float(q) for q in np.quantile(defined, [tail, 1.0 - tail]))
        if method == "basic":
            low, high = 2.0 * estimate - high, 2.0 * estimate - low
        elif method == "normal":
            half = float(ndtri(1.0 - tail)) * se
            low, high = estimate - half, estimate + half
    return Interval(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        se=se,
        n=n,
        n_clusters=n_clusters,
        n_draws=draws.size,
        n_undefined=draws.size - defined.size,
        seed=seed,
        resampled_unit=resampled_unit,
        method=method,
    )


def jackknife_se(statistic: Callable[[FloatArray], FloatArray], cluster: IntArray) -> float:
    """Estimate a standard error by leaving out one cluster at a time (Efron 1982); NaN below two clusters.

    Parameters
    ----------
    statistic
        From multiplicities of shape (n_draws, n) to values of shape (n_draws,).
    cluster
        Cluster code of each item, shape (n,).
    """
    codes = np.unique(cluster)
    if codes.size < 2:
        return float("nan")
    left_out = statistic((cluster != codes[:, None]).astype(np.float64))
    share = (codes.size - 1) / codes.size
    return float(np.sqrt(share * np.sum((left_out - left_out.mean()) ** 2)))
