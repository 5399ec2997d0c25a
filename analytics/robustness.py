"""Robustness of a rater against difficulty: accuracy by bin, its slope, and what the model implies.

Holds the per-bin means, the slope over bins and the excess slope. Does not hold the bins (`difficulty`) or the fits.

Under a one-parameter model the accuracy of every rater falls with difficulty, and how steeply follows from its
ability alone. The slope therefore says nothing about robustness by itself; the excess slope, observed minus
model-implied, does.
"""

from dataclasses import dataclass

import numpy as np

from analytics.matrix import FloatArray, IntArray

NORMAL_975 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class BinAccuracy:
    """Accuracy of each rater in each bin.

    Attributes
    ----------
    n, n_missing
        Observed and missing cells, shape (n_raters, n_bins).
    accuracy, expected_accuracy
        Mean response and mean model probability over the observed cells, shape (n_raters, n_bins); NaN where n is 0.
    """

    n: IntArray
    n_missing: IntArray
    accuracy: FloatArray
    expected_accuracy: FloatArray


@dataclass(frozen=True, slots=True)
class Slope:
    """Change of accuracy per bin, for one rater.

    Attributes
    ----------
    slope, slope_se
        Least-squares slope of the bins' accuracies on the bin number, and its standard error clustered by testlet.
    expected_slope
        The same slope of the model's expected accuracies.
    excess_slope, excess_slope_se, excess_slope_ci_low, excess_slope_ci_high
        Observed minus expected, positive for a rater that holds up better than its ability implies; the standard
        error is clustered by testlet, and the 95 % interval is normal.
    n
        Observed cells used.
    undefined_reason
        Why values are NaN, or None.
    """

    slope: float
    slope_se: float
    expected_slope: float
    excess_slope: float
    excess_slope_se: float
    excess_slope_ci_low: float
    excess_slope_ci_high: float
    n: int
    undefined_reason: str | None


def bin_accuracy(responses: FloatArray, probability: FloatArray, bins: IntArray, n_bins: int) -> BinAccuracy:
    """Mean response and mean probability of each rater in each bin.

    Parameters
    ----------
    responses, probability
        Shape (n_raters, n_items); NaN responses are left out of both means.
    bins
        Bin of each item from 1, or 0 for none, shape (n_items,).
    n_bins
        Number of bins.
    """
    seen = ~np.isnan(responses)
    member = (bins[:, None] == np.arange(1, n_bins + 1)).astype(np.float64)
    n = seen @ member
    right = np.nan_to_num(responses) @ member
    expected = np.where(seen, np.nan_to_num(probability), 0.0) @ member
    undefined = np.full(n.shape, np.nan)
    return BinAccuracy(
        n=n.astype(np.int64),
        n_missing=(member.sum(axis=0) - n).astype(np.int64),
        accuracy=np.divide(right, n, out=undefined.copy(), where=n > 0),
        expected_accuracy=np.divide(expected, n, out=undefined.copy(), where=n > 0),
    )


def bin_slope(response: FloatArray, probability: FloatArray, bins: IntArray, testlet: IntArray) -> Slope:
    """Slope of one rater's accuracy over the bins in which it has responses.

    With bin contrast c_k = (k - mean k) / sum (k - mean k)^2, the slope is the sum of c_k / n_k over right answers, so
    that its standard error is that of a weighted sum: squared testlet sums of the weighted residuals, times
    G / (G - 1) for G testlets.

    Parameters
    ----------
    response, probability
        Responses and model probabilities of one rater, shape (n_items,).
    bins
        Bin of each item from 1, 0 for none, shape (n_items,).
    testlet
        Testlet index of each item, the cluster, shape (n_items,).
    """
    used = ~np.isnan(response) & ~np.isnan(probability) & (bins > 0)
    y, p, own, cluster = response[used], probability[used], bins[used], testlet[used]
    levels, index, count = np.unique(own, return_inverse=True, return_counts=True)
    if levels.size < 2:
        return _undefined_slope(int(used.sum()), "responses in fewer than two bins")
    centred = levels - levels.mean()
    weight = (centred / np.sum(centred**2) / count)[index]
    slope, expected = float(weight @ y), float(weight @ p)
    mean_of_bin = (np.bincount(index, y) / count)[index]
    slope_se = _clustered_se(weight * (y - mean_of_bin), cluster)
    excess_se = _clustered_se(weight * (y - p), cluster)
    excess = slope - expected
    return Slope(
        slope=slope,
        slope_se=slope_se,
        expected_slope=expected,
        excess_slope=excess,
        excess_slope_se=excess_se,
        excess_slope_ci_low=excess - NORMAL_975 * excess_se,
        excess_slope_ci_high=excess + NORMAL_975 * excess_se,
        n=int(used.sum()),
        undefined_reason="one testlet: no standard error" if np.isnan(slope_se) else None,
    )


def _undefined_slope(n: int, reason: str) -> Slope:
    nan = float("nan")
    return Slope(nan, nan, nan, nan, nan, nan, nan, n=n, undefined_reason=reason)


def _clustered_se(terms: FloatArray, cluster: IntArray) -> float:
    _, index = np.unique(cluster, return_inverse=True)
    sums = np.bincount(index, terms)
    if sums.size < 2:
        return float("nan")
    return float(np.sqrt(np.sum(sums**2) * sums.size / (sums.size - 1)))
