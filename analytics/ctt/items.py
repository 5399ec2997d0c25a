"""Item statistics of classical test theory: facility, item-total and item-rest correlation.

Holds the per-item statistics only. Does not hold reliability (`reliability`) or distractors (`distractors`). The
correlations are exactly Pearson's, computed by sums of products so that ten thousand items take one matrix product, or,
for complete 0/1 data of one byte a cell, one reading.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytics.literals import MissingPolicy, check_option
from analytics.matrix import FloatArray, IntArray

_RELATIVE_ZERO = 1e-10  # a variance below this share of its mean square is rounding, not spread
_MOST_REPEATS = 2.0**53  # beyond, a count is no longer exact


@dataclass(frozen=True, slots=True)
class ItemStatistics:
    """Classical statistics of every item.

    Attributes
    ----------
    n_raters
        Raters whose response is observed, each as often as its weight says, shape (n_items,).
    facility
        Mean score over the maximum, shape (n_items,); NaN without responses.
    item_total_r, item_rest_r
        Correlation with the score over all items, and over the other items, shape (n_items,); NaN when undefined.
    undefined_reason
        Why a statistic is undefined, length n_items; None where all are defined.
    missing_policy
        What a missing cell was taken for.
    """

    n_raters: IntArray
    facility: FloatArray
    item_total_r: FloatArray
    item_rest_r: FloatArray
    undefined_reason: tuple[str | None, ...]
    missing_policy: MissingPolicy


def item_statistics(
    responses: NDArray[np.generic],
    *,
    missing_policy: MissingPolicy = "omit",
    max_score: float = 1.0,
    weight: ArrayLike | None = None,
) -> ItemStatistics:
    """Facility and discrimination of every item.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items); NaN is missing. A table of bytes (``bool``, ``int8``, ``uint8``) is read as it is.
    missing_policy
        ``incorrect``: a missing cell scores 0. ``omit``: it is left out, and a rater's total or rest score is the mean
        over the items observed, times the number of items.
    max_score
        Score that counts as facility 1.
    weight
        How often each row counts, shape (n_raters,), whole numbers; a weight of 3 is the row three times. None: once.

    Returns
    -------
    ItemStatistics

    Raises
    ------
    ValueError
        If the missing policy is unknown, or a weight is no whole number.
    """
    check_option("missing_policy", missing_policy, MissingPolicy)
    responses = np.asarray(responses)
    times = _repeats(weight, len(responses))
    if not times.all():
        responses, times = responses[times > 0], times[times > 0]
    if weight is None and responses.dtype.kind in "bui" and responses.dtype.itemsize == 1 and responses.size:
        found = _binary_statistics(responses.view(np.int8), missing_policy, max_score)
        if found is not None:
            return found
    x = np.asarray(responses, dtype=np.float64)
    if missing_policy == "incorrect":
        x = np.nan_to_num(x, nan=0.0)
    seen = (~np.isnan(x)).astype(np.float64)
    n_seen, n = seen.sum(axis=1), times @ seen
    sums = times @ np.nan_to_num(x, nan=0.0)
    facility = _ratio(sums, n * max_score)
    # correlations do not see a common constant; taking it out keeps sums of squares small
    x = np.where(seen > 0, x - sums.sum() / max(n.sum(), 1.0), 0.0)
    total = x.sum(axis=1)
    own_mean, others = _ratio(total, n_seen), n_seen > 1
    item_total = _correlate(x, seen, times, level=np.nan_to_num(own_mean), share=np.zeros(n_seen.size))
    share = _ratio(np.ones(n_seen.size), n_seen - 1.0)
    seen_with_rest = seen * others[:, None]
    level = np.where(others, total * np.nan_to_num(share), 0.0)
    item_rest = _correlate(x * others[:, None], seen_with_rest, times, level=level, share=np.nan_to_num(share))
    return ItemStatistics(
        n_raters=n.astype(np.int64),
        facility=facility,
        item_total_r=item_total,
        item_rest_r=item_rest,
        undefined_reason=_reasons(n, _is_constant(x, seen), item_total, item_rest),
        missing_policy=missing_policy,
    )


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient, NaN where the denominator is not positive."""
    out = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def _repeats(weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return how often each row counts, refusing what is no number of repeats."""
    if weight is None:
        return np.ones(n_rows)
    found = np.asarray(weight, dtype=np.float64)
    if found.shape != (n_rows,):
        raise ValueError(f"{n_rows} rows need {n_rows} weights; got shape {found.shape}")
    is_count = (found >= 0) & (found <= _MOST_REPEATS) & (found == np.floor(found))
    if not np.all(is_count):
        wrong = found[~is_count][0]
        raise ValueError(f"weights of classical statistics repeat rows and must be whole numbers; got {wrong:g}")
    return found


def _correlate(
    x: FloatArray, seen: FloatArray, times: FloatArray, *, level: FloatArray, share: FloatArray
) -> FloatArray:
    """Pearson correlation of each column x_j with the score level_i - share_i x_ij over the rows seen, times_i each."""
    x_x, times_level, times_share = x * x, times * level, times * share
    n, sum_x, sum_xx = times @ seen, times @ x, times @ x_x
    sum_s = times_level @ seen - times_share @ x
    sum_ss = (times_level * level) @ seen - 2.0 * (times_level * share) @ x + (times_share * share) @ x_x
    sum_xs = times_level @ x - times_share @ x_x
    safe = np.maximum(n, 1.0)
    var_x, var_s = sum_xx - sum_x**2 / safe, sum_ss - sum_s**2 / safe
    covariance = sum_xs - sum_x * sum_s / safe
    spread = (var_x > _RELATIVE_ZERO * sum_xx) & (var_s > _RELATIVE_ZERO * np.maximum(sum_ss, 1e-300)) & (n >= 2)
    r = np.full(n.size, np.nan)
    r[spread] = covariance[spread] / np.sqrt(var_x[spread] * var_s[spread])
    return np.asarray(np.clip(r, -1.0, 1.0))


def _is_constant(x: FloatArray, seen: FloatArray) -> NDArray[np.bool_]:
    low = np.min(np.where(seen > 0, x, np.inf), axis=0, initial=np.inf)
    high = np.max(np.where(seen > 0, x, -np.inf), axis=0, initial=-np.inf)
    return np.asarray(low == high)


def _reasons(
    n: FloatArray, is_constant: NDArray[np.bool_], item_total: FloatArray, item_rest: FloatArray
) -> tuple[str | None, ...]:
    def reason(j: int) -> str | None:
        if n[j] == 0:
            return "no responses"
        if n[j] == 1:
            return "one response"
        if is_constant[j]:
            return "constant item"
        return "zero variance of the total or rest score"

    reasons: list[str | None] = [None] * n.size
    for j in np.flatnonzero(np.isnan(item_total) | np.isnan(item_rest) | (n < 2)):
        reasons[j] = reason(int(j))
    return tuple(reasons)


def _binary_statistics(x: NDArray[np.int8], missing_policy: MissingPolicy, max_score: float) -> ItemStatistics | None:
    """Item statistics of a complete 0/1 table from integer sums; None if a cell is neither 0 nor 1."""
    n, n_items = x.shape
    counts_right, sums = np.zeros(n_items, dtype=np.int32), np.zeros(n_items)  # float64 is exact to 2**53
    totals = np.empty(n, dtype=np.int64)
    if not _sum_products(np.ascontiguousarray(x), totals, counts_right, sums):
        return None
    right, with_total = counts_right.astype(np.int64), sums.astype(np.int64)
    middle = round(float(totals.mean()))  # whole, so that every sum below stays exact
    totals -= middle
    with_total -= middle * right
    sum_t, sum_tt = int(totals.sum()), int(totals @ totals)
    spread_x = right * (n - right)

    def correlation(products: IntArray, sum_s: IntArray | int, sum_ss: IntArray | int) -> FloatArray:
        spread = spread_x.astype(np.float64) * (n * np.asarray(sum_ss) - np.asarray(sum_s) ** 2)
        return _ratio((n * products - right * sum_s).astype(np.float64), np.sqrt(spread))

    item_total = correlation(with_total, sum_t, sum_tt)
    item_rest = correlation(with_total - right, sum_t - right, sum_tt - 2 * with_total + right)
    counts = np.full(n_items, n)
    return ItemStatistics(
        n_raters=counts,
        facility=right / (n * max_score),
        item_total_r=item_total,
        item_rest_r=item_rest,
        undefined_reason=_reasons(counts.astype(np.float64), spread_x == 0, item_total, item_rest),
        missing_policy=missing_policy,
    )


@numba.njit(cache=True)
def _sum_products(x: NDArray[np.int8], totals: IntArray, right: NDArray[np.int32], with_total: FloatArray) -> bool:
    """Write row sums, column sums and sums of cell times row sum, a row at a time; False if a cell is not 0 or 1."""
    for i in range(x.shape[0]):
        row, total, others = x[i], 0, 0
        for j in range(x.shape[1]):
            total += row[j]
            others |= row[j] & ~1
        if others != 0:
            return False
        totals[i] = total
        own = np.float64(total)
        for j in range(x.shape[1]):
            right[j] += row[j]
            with_total[j] += own * row[j]
    return True
