"""A table of responses packed for the testlet model: items grouped by testlet, what the likelihood needs summed.

Holds the layout of a full table and the one reading that fills it. Does not hold the passes over the cells
(`testlet_cells`), or cells that are listed because few are observed (`testlet_listed`). Where nothing is missing the
responses enter the likelihood only through sums over the items of a testlet and over raters, so that the table is not
needed again.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from analytics.irt.testlet_margins import Margins, Pairs, packed_order
from analytics.matrix import FloatArray, IntArray

_RATERS_AT_ONCE = 16  # their sums for one testlet are two cache lines, written together; and a byte holds 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells(Margins):
    """Responses packed for the passes: items sorted by testlet, one row of raters per item or testlet.

    Attributes
    ----------
    observed
        1 where a cell is observed, shape (n_items, n_raters), C order; empty (0, 0) when nothing is missing.
    """

    observed: NDArray[np.uint8]


def pack_cells(responses: NDArray[np.generic], item_testlet: IntArray, n_testlets: int, weight: FloatArray) -> Cells:
    """Pack a matrix of 0, 1 and NaN, whatever its memory order and number type.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items); one byte a cell (``bool``, ``int8``, ``uint8``) is read as it is, anything else as
        float64.
    item_testlet
        Testlet index of each item, shape (n_items,).
    n_testlets
        Number of testlets.
    weight
        Weight of each rater, shape (n_raters,).

    Raises
    ------
    ValueError
        If a response is neither 0, 1 nor NaN.
    """
    is_byte = responses.dtype.kind in "bui" and responses.dtype.itemsize == 1
    x = np.ascontiguousarray(responses.view(np.int8) if is_byte else np.asarray(responses, dtype=np.float64))
    order, starts = packed_order(item_testlet, n_testlets)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    n_raters, n_items = x.shape
    right_rt, right_item = np.empty((n_testlets, n_raters)), np.zeros(n_items)
    _sum_right(x, order, starts, weight, right_rt, right_item)
    is_complete = _is_complete(x)
    if is_complete:
        observed = np.empty((0, 0), dtype=np.uint8)
        n_rt = np.broadcast_to(np.diff(starts).astype(np.float64)[:, None], (n_testlets, n_raters))
        n_item, weight_item = np.full(n_items, float(n_raters)), np.full(n_items, weight.sum())
    else:
        observed = _observed(x.T[order])
        n_rt = _sum_observed(observed, starts)
        n_item, weight_item = observed.sum(axis=1, dtype=np.float64), observed @ weight
    return Cells(
        order=order,
        starts=starts,
        pairs=Pairs(n_raters, n_testlets),
        right_rt=right_rt,
        n_rt=n_rt,
        right_item=right_item,
        n_item=n_item,
        weight_item=weight_item,
        weight=weight,
        is_complete=is_complete,
        observed=observed,
    )


def _observed(by_item: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Return 1 where a cell is observed, refusing what is neither 0, 1 nor NaN."""
    is_missing = np.isnan(by_item)
    is_bad = ~(is_missing | (by_item == 0) | (by_item == 1))
    if is_bad.any():
        raise ValueError(f"the testlet model takes 0, 1 or missing; found {by_item[is_bad][0]!r}")
    return np.ascontiguousarray(~is_missing).view(np.uint8)


def _is_complete(x: NDArray[np.generic]) -> bool:
    """Whether every cell is 0 or 1; an array without cells is."""
    if x.dtype.itemsize == 1:
        return x.size == 0 or int(x.view(np.uint8).max()) <= 1
    return all(bool(np.all((row == 0) | (row == 1))) for row in x)


@numba.njit(cache=True)
def _sum_right(
    x: NDArray[np.generic],
    order: IntArray,
    starts: IntArray,
    weight: FloatArray,
    right_rt: FloatArray,
    right_item: FloatArray,
) -> None:
    """Write both sums of right answers, without a branch on an answer."""
    n_raters, n_items = x.shape
    is_sorted, is_weighted = np.all(order == np.arange(n_items)), np.any(weight != 1.0)
    block, together = np.empty((_RATERS_AT_ONCE, n_items), dtype=np.uint8), np.empty(n_items, dtype=np.uint8)
    block_rt = np.empty((len(starts) - 1, _RATERS_AT_ONCE))  # of 16 raters: two cache lines a testlet
    two, four, eight = np.zeros(n_items, np.uint8), np.zeros(n_items, np.uint8), np.zeros(n_items, np.uint8)
    for first in range(0, n_raters, _RATERS_AT_ONCE):
        size = min(_RATERS_AT_ONCE, n_raters - first)
        together[:] = 0
        for a in range(size):
            line, row, own = x[first + a], block[a], weight[first + a]
            if is_sorted:
                for k in range(n_items):
                    row[k] = line[k] == 1
            else:
                for k in range(n_items):
                    row[k] = line[order[k]] == 1
            for k in range(n_items):
                together[k] += row[k]
            if is_weighted:
                for k in range(n_items):
                    right_item[k] += own * row[k]
        if not is_weighted:
            for k in range(n_items):
                right_item[k] += together[k]
        for a in range(size):
            row = block[a]
            for k in range(n_items - 1):  # sums of two, of four and of eight items from k on
                two[k] = row[k] + row[k + 1]
            for k in range(n_items - 3):
                four[k] = two[k] + two[k + 2]
            for k in range(n_items - 7):
                eight[k] = four[k] + four[k + 4]
            for t in range(len(starts) - 1):
                n_right, k, last = 0, starts[t], starts[t + 1]
                while k + 8 <= last:
                    n_right += eight[k]
                    k += 8
                if k + 4 <= last:
                    n_right += four[k]
                    k += 4
                if k + 2 <= last:
                    n_right += two[k]
                    k += 2
                if k < last:
                    n_right += row[k]
                block_rt[t, a] = n_right
        for t in range(len(starts) - 1):  # a loop, for a slice of slices takes seconds to compile
            for a in range(size):
                right_rt[t, first + a] = block_rt[t, a]


@numba.njit(cache=True)
def _sum_observed(observed: NDArray[np.uint8], starts: IntArray) -> FloatArray:
    """Return the number of observed cells of each testlet and rater."""
    n_rt = np.zeros((len(starts) - 1, observed.shape[1]))
    for t in range(len(starts) - 1):
        for k in range(starts[t], starts[t + 1]):
            for i in range(observed.shape[1]):
                n_rt[t, i] += observed[k, i]
    return n_rt
