"""Difficulty bins: items cut into groups of about equal count by their difficulty.

Holds the cut and its tie rule. Does not hold what is counted inside the bins (`robustness`).
"""

import numpy as np

from analytics.matrix import FloatArray, IntArray

TIE_DECIMALS = 6
"""Difficulties that agree to this many decimals are tied: estimates differ by rounding below it."""


def difficulty_bins(b: FloatArray, n_bins: int = 5) -> IntArray:
    """Bin of each item, 1 (easiest) to `n_bins` (hardest).

    An item goes where the middle rank of its tie group falls: with c items below the group and g in it, the bin is
    1 + floor(n_bins (c + g / 2) / n). Tied items therefore share one bin, whatever their order, and bins have equal
    counts as far as the ties allow; a bin may be empty when a tie group is larger than one.

    Parameters
    ----------
    b
        Difficulties, shape (n_items,); NaN for items without an estimate.
    n_bins
        Number of bins, at least 2.

    Returns
    -------
    ndarray of int
        Shape (n_items,); 0 for items without an estimate, which belong to no bin.

    Raises
    ------
    ValueError
        If `n_bins` is below 2.
    """
    if n_bins < 2:
        raise ValueError(f"n_bins must be at least 2; got {n_bins}")
    bins = np.zeros(b.size, dtype=np.int64)
    known = ~np.isnan(b)
    if not known.any():
        return bins
    _, group, count = np.unique(np.round(b[known], TIE_DECIMALS), return_inverse=True, return_counts=True)
    # 2c + g and 2n are whole numbers, so that no group falls on an edge by rounding
    doubled_rank = 2 * (np.cumsum(count) - count) + count
    bin_of_group = np.minimum(n_bins * doubled_rank // (2 * known.sum()), n_bins - 1) + 1
    bins[known] = bin_of_group[group]
    return bins
