"""One pass over the cells of the testlet model: sums of probabilities and of their variances.

Holds the packed layout (items grouped by testlet, raters contiguous) and the compiled pass. Does not hold the
estimation, which sees only these sums. With s = theta + u, a cell is p = 1 / (1 + exp(b) exp(-s)): the exponentials
are taken per item and per rater x testlet, never per cell.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numba
import numpy as np
from numpy.typing import NDArray

from analytics.matrix import FloatArray, IntArray

# Without nnan and ninf: a compiler told that there are no NaN or infinities may fold a check for them away.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
# error_model="numpy" as well: the check for division by zero would keep the inner loop from being vectorised.
_PARALLEL_CELLS = 2_000_000  # below this, starting threads costs more than it saves
_LOG_EVERY = 8  # products of 1 + z over this many cells stay far from overflow at the clipped logits
_LARGEST_LOGIT = 35.0


@dataclass(frozen=True, slots=True)
class Cells:
    """Responses packed for the pass: items sorted by testlet, one row of raters per item.

    Attributes
    ----------
    order
        Original column of each packed item, shape (n_items,).
    starts
        First packed item of each testlet and the end, shape (n_testlets + 1,).
    observed
        1 where a cell is observed, shape (n_items, n_raters), C order; empty (0, 0) when nothing is missing.
    right_rt
        Number of right answers, shape (n_testlets, n_raters).
    n_rt
        Number of observed cells, shape (n_testlets, n_raters).
    right_item
        Weighted number of right answers, shape (n_items,).
    n_item, weight_item
        Number of observed cells, and the weight of their raters, shape (n_items,).
    weight
        Weight of each rater, shape (n_raters,).
    """

    order: IntArray
    starts: IntArray
    observed: NDArray[np.uint8]
    right_rt: FloatArray
    n_rt: FloatArray
    right_item: FloatArray
    n_item: FloatArray
    weight_item: FloatArray
    weight: FloatArray

    @property
    def n_testlets(self) -> int:
        """Number of testlets."""
        return self.starts.size - 1


@dataclass(frozen=True, slots=True)
class CellSums:
    """Sums of one pass: expected right answers and information.

    Attributes
    ----------
    expected_rt, info_rt
        Sum of p and of p(1 - p) over the items of a testlet, shape (n_testlets, n_raters), unweighted.
    expected_item, info_item
        Weighted sums over raters, shape (n_items,).
    """

    expected_rt: FloatArray
    info_rt: FloatArray
    expected_item: FloatArray
    info_item: FloatArray


def pack_cells(responses: FloatArray, item_testlet: IntArray, n_testlets: int, weight: FloatArray) -> Cells:
    """Pack a matrix of 0, 1 and NaN, whatever its memory order.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items).
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
    order = np.argsort(item_testlet, kind="stable").astype(np.int64)
    by_item = np.ascontiguousarray(np.asarray(responses, dtype=np.float64).T[order])
    observed = ~np.isnan(by_item)
    right = by_item == 1.0
    if not np.all(right | (by_item == 0.0) | ~observed):
        bad = by_item[~(right | (by_item == 0.0) | ~observed)][0]
        raise ValueError(f"the testlet model takes 0, 1 or missing; found {bad!r}")
    counts = np.bincount(item_testlet, minlength=n_testlets)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    complete = bool(observed.all())
    return Cells(
        order=order,
        starts=starts,
        observed=np.empty((0, 0), dtype=np.uint8) if complete else observed.astype(np.uint8),
        right_rt=_sum_by_testlet(right, starts),
        n_rt=_sum_by_testlet(observed, starts),
        right_item=right @ weight,
        n_item=observed.sum(axis=1).astype(np.float64),
        weight_item=observed @ weight,
        weight=np.ascontiguousarray(weight, dtype=np.float64),
    )


def cell_sums(cells: Cells, b: FloatArray, s: FloatArray) -> CellSums:
    """Sum p and p(1 - p) at item difficulties `b` (packed order) and `s` = theta + u, (n_testlets, n_raters)."""
    exp_b, exp_minus_s = np.exp(np.clip(b, -300, 300)), np.ascontiguousarray(np.exp(np.clip(-s, -300, 300)))
    shape = s.shape
    out = CellSums(np.zeros(shape), np.zeros(shape), np.zeros(b.size), np.zeros(b.size))

    def run(first: int, last: int) -> None:
        _sum_cells(
            first, last, cells.starts, exp_b, exp_minus_s, cells.observed, cells.weight,
            out.expected_rt, out.info_rt, out.expected_item, out.info_item,
        )  # fmt: skip

    _over_testlets(run, cells.n_testlets, b.size * shape[1])
    return out


def log_likelihood(cells: Cells, b: FloatArray, s: FloatArray) -> float:
    """Weighted log-likelihood of the observed cells at `b` (packed order) and `s` (n_testlets, n_raters)."""
    clipped_b, clipped_s = np.clip(b, -_LARGEST_LOGIT, _LARGEST_LOGIT), np.clip(s, -_LARGEST_LOGIT, _LARGEST_LOGIT)
    exp_minus_b, exp_s = np.exp(-clipped_b), np.ascontiguousarray(np.exp(clipped_s))
    per_testlet = np.zeros(s.shape)

    def run(first: int, last: int) -> None:
        _log_normaliser(first, last, cells.starts, exp_minus_b, exp_s, cells.observed, per_testlet)

    _over_testlets(run, cells.n_testlets, b.size * s.shape[1])
    linear = np.sum(cells.right_rt * clipped_s * cells.weight) - np.sum(cells.right_item * clipped_b)
    return float(linear - np.sum(per_testlet * cells.weight))


def _sum_by_testlet(values: NDArray[np.bool_], starts: IntArray) -> FloatArray:
    return np.stack([values[a:z].sum(axis=0) for a, z in pairwise(starts)]).astype(np.float64)


def _over_testlets(run: Callable[[int, int], None], n_testlets: int, n_cells: int) -> None:
    """Run over ranges of testlets, in threads where the data are large; each range writes its own rows only."""
    threads = min(os.cpu_count() or 1, n_testlets) if n_cells >= _PARALLEL_CELLS else 1
    edges = np.linspace(0, n_testlets, threads + 1).astype(np.int64)
    if threads == 1:
        run(0, n_testlets)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, edges[:-1], edges[1:]))


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _sum_cells(
    first: int,
    last: int,
    starts: IntArray,
    exp_b: FloatArray,
    exp_minus_s: FloatArray,
    observed: NDArray[np.uint8],
    weight: FloatArray,
    expected_rt: FloatArray,
    info_rt: FloatArray,
    expected_item: FloatArray,
    info_item: FloatArray,
) -> None:
    has_missing = observed.shape[0] > 0
    n_raters = exp_minus_s.shape[1]
    for t in range(first, last):
        exp_t, sum_p, sum_w = exp_minus_s[t], expected_rt[t], info_rt[t]
        for j in range(starts[t], starts[t + 1]):
            e, item_p, item_w = exp_b[j], 0.0, 0.0
            if has_missing:
                row = observed[j]
                for i in range(n_raters):
                    p = row[i] / (1.0 + e * exp_t[i])  # 0 where missing, and so is p(1 - p)
                    w = p * (1.0 - p)
                    sum_p[i] += p
                    sum_w[i] += w
                    item_p += weight[i] * p
                    item_w += weight[i] * w
            else:
                for i in range(n_raters):
                    p = 1.0 / (1.0 + e * exp_t[i])
                    w = p * (1.0 - p)
                    sum_p[i] += p
                    sum_w[i] += w
                    item_p += weight[i] * p
                    item_w += weight[i] * w
            expected_item[j] = item_p
            info_item[j] = item_w


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _log_normaliser(
    first: int,
    last: int,
    starts: IntArray,
    exp_minus_b: FloatArray,
    exp_s: FloatArray,
    observed: NDArray[np.uint8],
    out: FloatArray,
) -> None:
    has_missing = observed.shape[0] > 0
    n_raters = exp_s.shape[1]
    product = np.ones(n_raters)
    for t in range(first, last):
        exp_t, total = exp_s[t], out[t]
        since_log = 0
        for j in range(starts[t], starts[t + 1]):
            e = exp_minus_b[j]
            for i in range(n_raters):
                seen = observed[j, i] if has_missing else 1
                product[i] *= 1.0 + seen * e * exp_t[i]
            since_log += 1
            if since_log == _LOG_EVERY or j == starts[t + 1] - 1:
                for i in range(n_raters):
                    total[i] += np.log(product[i])
                    product[i] = 1.0
                since_log = 0
