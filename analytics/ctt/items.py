"""Item statistics of classical test theory: facility, item-total and item-rest correlation.

Holds the per-item statistics only. Does not hold reliability (`reliability`) or distractors (`distractors`). The
correlations are exactly Pearson's, computed by sums over the observed cells, so that time and memory grow with these
and not with raters x items, or, for complete 0/1 data of one byte a cell, by one reading.
"""

from dataclasses import dataclass

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from analytics.literals import MissingPolicy, check_option
from analytics.matrix import FloatArray, IntArray

_RELATIVE_ZERO = 1e-10  # a variance below this share of its mean square is rounding, not spread
_ROUNDING = 1e-12  # so is a variance of a score below this share of what one item adds to it, or a correlation below it
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
    responses: NDArray[np.generic] | sp.csr_array,
    *,
    missing_policy: MissingPolicy = "omit",
    max_score: float = 1.0,
    weight: ArrayLike | None = None,
) -> ItemStatistics:
    """Facility and discrimination of every item.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items). Of an array NaN is missing; a table of bytes (``bool``, ``int8``, ``uint8``) is read
        as it is. Of a sparse table a cell that is not stored is missing, and a stored 0 is a score.
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
        If the missing policy is unknown, a weight is no whole number, or a sparse table stores NaN.
    """
    check_option("missing_policy", missing_policy, MissingPolicy)
    times = _repeats(weight, responses.shape[0])
    is_bytes = isinstance(responses, np.ndarray) and responses.dtype.kind in "bui" and responses.dtype.itemsize == 1
    if weight is None and is_bytes and responses.size:
        found = _binary_statistics(responses.view(np.int8), missing_policy, max_score)
        if found is not None:
            return found
    return _score_statistics(_observed(responses), times, missing_policy, max_score)


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


def _observed(responses: NDArray[np.generic] | sp.csr_array) -> sp.csr_array:
    """Return the observed cells as a sparse table that stores these and no other."""
    if sp.issparse(responses):
        if np.isnan(responses.data).any():
            raise ValueError("a sparse table of responses stores NaN; leave out the cells that are missing")
        found = sp.csr_array(responses, dtype=np.float64, copy=True)
        found.sum_duplicates()  # what a sparse table means that stores a cell in parts
        return found
    x = np.asarray(responses, dtype=np.float64)
    seen = ~np.isnan(x)
    items = np.broadcast_to(np.arange(x.shape[1], dtype=np.int32), x.shape)[seen]
    return sp.csr_array((x[seen], items, np.append(0, np.cumsum(seen.sum(axis=1)))), shape=x.shape)


def _score_statistics(
    observed: sp.csr_array, times: FloatArray, missing_policy: MissingPolicy, max_score: float
) -> ItemStatistics:
    """Item statistics of any scores from sums over the observed cells."""
    (n_rows, n_items), every_cell_counts = observed.shape, missing_policy == "incorrect"
    n_counted = np.full(n_rows, float(n_items)) if every_cell_counts else np.diff(observed.indptr).astype(np.float64)
    sums = times @ observed  # of the scores as they are: a missing cell adds nothing, whatever the policy
    # correlations do not see a common constant; taking it out keeps sums of squares small
    centre = float(sums.sum() / max(times @ n_counted, 1.0))
    cells = _Cells.about(centre, observed, every_cell_counts=every_cell_counts)
    total = observed.sum(axis=1) - centre * n_counted
    n, sum_x, sum_xx = (cells.sums(times, power) for power in range(3))
    item_total = _correlate(cells, times, level=np.nan_to_num(_ratio(total, n_counted)), share=np.zeros(n_rows))
    share = np.nan_to_num(_ratio(np.ones(n_rows), n_counted - 1.0))  # of an item in the mean of the others
    item_rest = _correlate(cells, np.where(n_counted > 1, times, 0.0), level=total * share, share=share)
    return ItemStatistics(
        n_raters=n.astype(np.int64),
        facility=_ratio(sums, n * max_score),
        item_total_r=item_total,
        item_rest_r=item_rest,
        undefined_reason=_reasons(n, _squared_deviations(n, sum_x, sum_xx) == 0, item_total, item_rest),
        missing_policy=missing_policy,
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    """Scores of the cells that count, about a common constant.

    Attributes
    ----------
    powers
        Powers 0, 1 and 2 of the scores observed, each of shape (n_rows, n_items).
    unseen
        Score of every other cell; None where it does not count.
    """

    powers: tuple[sp.csr_array, ...]
    unseen: float | None

    @classmethod
    def about(cls, centre: float, observed: sp.csr_array, *, every_cell_counts: bool) -> "_Cells":
        """Return the cells less `centre`; where every cell counts, one not observed has the score 0."""
        score, where = observed.data - centre, (observed.indices, observed.indptr)
        powers = (np.ones_like(score), score, score**2)
        tables = tuple(sp.csr_array((power, *where), shape=observed.shape) for power in powers)
        return cls(tables, -centre if every_cell_counts else None)

    def sums(self, weight: FloatArray, power: int) -> FloatArray:
        """Sum weight times score to the `power` over the rows; (n_rows,) or (k, n_rows) to (n_items,), (k, n_items)."""
        found = np.asarray(weight @ self.powers[power])
        if self.unseen is None:
            return found
        others = weight.sum(axis=-1, keepdims=True) - weight @ self.powers[0]
        return np.asarray(found + self.unseen**power * others)


def _correlate(cells: _Cells, times: FloatArray, *, level: FloatArray, share: FloatArray) -> FloatArray:
    """Pearson correlation of each column x_j with the score level_i - share_i x_ij over its cells, times_i each."""
    one = np.ones_like(level)
    n, level_sum, level_level = cells.sums(times * np.stack([one, level, level**2]), 0)
    sum_x, level_x, share_x, level_share_x = cells.sums(times * np.stack([one, level, share, level * share]), 1)
    sum_xx, share_xx, share_share_xx = cells.sums(times * np.stack([one, share, share**2]), 2)
    sum_s, sum_xs = level_sum - share_x, level_x - share_xx
    sum_ss = level_level - 2.0 * level_share_x + share_share_xx
    var_x, var_s = _squared_deviations(n, sum_x, sum_xx), _squared_deviations(n, sum_s, sum_ss)
    covariance = sum_xs - sum_x * sum_s / np.maximum(n, 1.0)
    is_spread = (var_x > 0) & (var_s > _ROUNDING * sum_xx / max(n.size, 1) ** 2) & (n >= 2)
    r = np.full(n.size, np.nan)
    r[is_spread] = covariance[is_spread] / np.sqrt(var_x[is_spread] * var_s[is_spread])
    r[np.abs(r) < _ROUNDING] = 0.0  # whoever looks for items against the others must not find a zero below 0
    return np.asarray(np.clip(r, -1.0, 1.0))


def _squared_deviations(n: FloatArray, total: FloatArray, squares: FloatArray) -> FloatArray:
    """Sum of squared deviations from the mean, from count, sum and sum of squares; 0 where it is rounding."""
    found = squares - total**2 / np.maximum(n, 1.0)
    return np.where(found > _RELATIVE_ZERO * squares, found, 0.0)


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
    """Write row sums, column sums and sums of cell times row sum, a row at a time; False if a cell is not 0 or 1.

    Sums of some rows are held in the narrowest integers that hold them: the narrower, the more are added at a time.
    """
    n_items = x.shape[1]
    together = max(1, min(127, (2**31 - 1) // max(n_items, 1)))
    some_right, some_with_total = np.zeros(n_items, np.int8), np.zeros(n_items, np.int32)
    for first in range(0, x.shape[0], together):
        for i in range(first, min(first + together, x.shape[0])):
            row, total, others = x[i], np.int32(0), np.int8(0)
            for j in range(n_items):
                total = np.int32(total + row[j])
                others = np.int8(others | row[j])
            if others & ~1 != 0:
                return False
            totals[i] = total
            for j in range(n_items):
                some_right[j] = np.int8(some_right[j] + row[j])
                some_with_total[j] = np.int32(some_with_total[j] + (-np.int32(row[j]) & total))
        for j in range(n_items):
            right[j] += some_right[j]
            with_total[j] += some_with_total[j]
            some_right[j], some_with_total[j] = 0, 0
    return True
