"""The two passes of a sweep over the testlet model, compiled: one towards the raters, one towards the items.

Holds the passes on numba. Does not hold what a pass takes and gives (`testlet_passes`), the same passes on torch
(`testlet_torch`), or the sums at a point that other modules need (`testlet_cells`). With s = theta + u, a cell is
p = 1 / (1 + exp(b) exp(-s)): the exponentials are taken per item and per rater x testlet, never per cell, and all that
a testlet needs is done while its rows are in the cache. What goes to memory and back is what costs, so exp(-s) is made
anew in each pass, and what a Newton step of u needs is kept in float32: a step need not be exact, only its end. For the
same reason the cells of large data are first summed in single precision, twice as many at a time.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from analytics.irt.testlet_cells import PARALLEL_CELLS, chunk_edges, over_testlets
from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_passes import ItemSums, RaterSums, Shift
from analytics.irt.testlet_point import LARGEST_STEP, Point, Scales
from analytics.irt.vector_math import FAST, larger, vector_exp
from analytics.matrix import FloatArray, IntArray

_LARGEST_LOGIT = 80.0
"""Difficulties are clipped here: their odds, and one over them, are numbers above 0 in single precision too."""
_TOGETHER = 128  # raters whose p are summed in the precision of the cells; the sums of an item are always double

Real = type[np.float32] | type[np.float64]
"""Precision in which cells are summed."""


class NumbaPasses:
    """The passes on numba, in threads where the data are large, and then in single precision until `refine`."""

    def __init__(self, cells: Cells, scales: Scales, start: Point) -> None:
        self._cells, self._scales = cells, scales
        self._real: Real = np.float32 if cells.order.size * cells.weight.size >= PARALLEL_CELLS else np.float64
        shape = start.u.shape
        self._u: NDArray[np.floating] = np.zeros(shape, dtype=self._real)
        if scales.u > 0:
            self._u[:] = start.u
        self._info, self._pull = (np.empty(shape, dtype=np.float32) for _ in range(2))
        self._edges = chunk_edges(cells)
        self._seen = (cells.n_rt > 0).view(np.uint8) if not cells.is_complete else np.empty((0, 0), dtype=np.uint8)

    @property
    def u(self) -> FloatArray:
        """Testlet effects, shape (n_testlets, n_raters)."""
        return self._u.astype(np.float64, copy=False)

    @property
    def is_exact(self) -> bool:
        """Whether the passes are in double precision."""
        return self._real is np.float64

    def refine(self) -> None:
        """Pass in double precision from now on."""
        self._real, self._u = np.float64, self._u.astype(np.float64)

    def towards_raters(self, theta: FloatArray, b: FloatArray, shift: Shift) -> RaterSums:
        """Carry out the shift on u, then sum at theta, b and u."""
        cells, scales, n_chunks = self._cells, self._scales, self._edges.size - 1
        partial, largest, expected = np.zeros((n_chunks, 3, theta.size)), np.zeros(n_chunks), np.empty(b.size)
        odds_b, weight = self._of_items_and_raters(b)

        def run(first: int, last: int) -> None:
            _towards_raters(
                first, last, self._edges, cells.starts, odds_b, shift.testlet, shift.theta, theta, scales.u**2,
                scales.u_precision, cells.observed, self._seen, weight, cells.right_rt, self._u, self._info,
                self._pull, expected, partial, largest,
            )  # fmt: skip

        over_testlets(run, n_chunks, b.size * theta.size)
        residual, information, correction = partial.sum(axis=0)
        return RaterSums(residual, information, correction, expected, float(largest.max()))

    def towards_items(self, theta: FloatArray, d_theta: FloatArray, b: FloatArray) -> ItemSums:
        """Step u given the step of theta, then sum at the new theta, the new u and b."""
        cells = self._cells
        expected, info, sum_u = np.empty(b.size), np.empty(b.size), np.zeros(cells.n_testlets)
        odds_b, weight = self._of_items_and_raters(b)

        def run(first: int, last: int) -> None:
            _towards_items(
                first, last, cells.starts, odds_b, d_theta, theta, self._scales.u**2, cells.observed, weight,
                self._u, self._info, self._pull, expected, info, sum_u,
            )  # fmt: skip

        over_testlets(run, cells.n_testlets, b.size * theta.size)
        return ItemSums(expected, info, sum_u)

    def _of_items_and_raters(self, b: FloatArray) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return exp(b) and the weights of raters in the precision of the passes, which follow them."""
        odds = np.exp(np.clip(b, -_LARGEST_LOGIT, _LARGEST_LOGIT))
        return odds.astype(self._real), self._cells.weight.astype(self._real)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _towards_raters(
    first: int,
    last: int,
    edges: IntArray,
    starts: IntArray,
    odds_b: NDArray[np.floating],
    c: FloatArray,
    d: float,
    theta: FloatArray,
    u_variance: float,
    u_precision: float,
    observed: NDArray[np.uint8],
    seen_rt: NDArray[np.uint8],
    weight: NDArray[np.floating],
    right_rt: FloatArray,
    u: NDArray[np.floating],
    info: NDArray[np.float32],
    pull: NDArray[np.float32],
    expected_item: FloatArray,
    partial: FloatArray,
    largest: FloatArray,
) -> None:
    has_missing = observed.shape[0] > 0
    n_raters, real = u.shape[1], odds_b.dtype
    one, x, mask = real.type(1), np.empty(_TOGETHER, real), np.ones(_TOGETHER, real)
    half, sum_q, sum_w = real.type(0.5), np.empty(_TOGETHER, real), np.empty(_TOGETHER, real)
    has_u = 1.0 if u_variance > 0.0 else 0.0
    total_weight = weight.astype(np.float64).sum()
    for chunk in range(first, last):
        worst = largest[chunk]
        for t in range(edges[chunk], edges[chunk + 1]):
            move = c[t] - d
            expected_item[starts[t] : starts[t + 1]] = 0.5 * total_weight
            for begin in range(0, n_raters, _TOGETHER):
                some = slice(begin, min(begin + _TOGETHER, n_raters))
                ability, own_u, own_weight, right = theta[some], u[t, some], weight[some], right_rt[t, some]
                residual, information = partial[chunk, 0, some], partial[chunk, 1, some]
                correction, own_info, own_pull = partial[chunk, 2, some], info[t, some], pull[t, some]
                n = own_u.size
                if has_missing:
                    seen = seen_rt[t, some]
                    for i in range(n):
                        mask[i] = seen[i]
                for i in range(n):
                    own_u[i] += move * mask[i]
                    x[i] = vector_exp(-(ability[i] + own_u[i]))
                    sum_q[i] = 0
                    sum_w[i] = 0
                for j in range(starts[t], starts[t + 1]):
                    e, item_q = odds_b[j], real.type(0)
                    if has_missing:
                        seen = observed[j, some]
                        for i in range(n):
                            mask[i] = seen[i]
                    for i in range(n):
                        p = mask[i] / (one + e * x[i])  # 0 where missing, and so is p(1 - p)
                        q = p - half
                        sum_q[i] += q
                        sum_w[i] += p * (one - p)
                        item_q += own_weight[i] * q
                    expected_item[j] += item_q
                half_of_all = 0.5 * (starts[t + 1] - starts[t])
                for i in range(n):
                    r = right[i] - half_of_all - sum_q[i]
                    g = has_u * (u_precision * own_u[i] - r)
                    w = np.float64(sum_w[i])
                    kept = w / (1.0 + u_variance * w)  # information that is left to theta
                    own_info[i] = sum_w[i]
                    own_pull[i] = g
                    residual[i] += r
                    information[i] += kept
                    correction[i] += kept * u_variance * g
                for i in range(n):
                    worst = larger(worst, abs(own_pull[i]))
        largest[chunk] = worst


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _towards_items(
    first: int,
    last: int,
    starts: IntArray,
    odds_b: NDArray[np.floating],
    d_theta: FloatArray,
    theta: FloatArray,
    u_variance: float,
    observed: NDArray[np.uint8],
    weight: NDArray[np.floating],
    u: NDArray[np.floating],
    info: NDArray[np.float32],
    pull: NDArray[np.float32],
    expected_item: FloatArray,
    info_item: FloatArray,
    sum_u: FloatArray,
) -> None:
    has_missing = observed.shape[0] > 0
    n_raters, real = u.shape[1], odds_b.dtype
    one, x, mask = real.type(1), np.empty(_TOGETHER, real), np.ones(_TOGETHER, real)
    for t in range(first, last):
        total = 0.0
        expected_item[starts[t] : starts[t + 1]] = 0.0
        info_item[starts[t] : starts[t + 1]] = 0.0
        for begin in range(0, n_raters, _TOGETHER):
            some = slice(begin, min(begin + _TOGETHER, n_raters))
            ability, own_u, own_weight, moved = theta[some], u[t, some], weight[some], d_theta[some]
            own_info, own_pull = info[t, some], pull[t, some]
            n = own_u.size
            for i in range(n):
                spread = u_variance / (1.0 + u_variance * own_info[i])
                step = -spread * (own_pull[i] + own_info[i] * moved[i])
                own_u[i] += min(max(step, -LARGEST_STEP), LARGEST_STEP)
                total += own_weight[i] * own_u[i]  # an effect without data is 0
                x[i] = vector_exp(-(ability[i] + own_u[i]))
            for j in range(starts[t], starts[t + 1]):
                e, item_p, item_w = odds_b[j], real.type(0), real.type(0)
                if has_missing:
                    seen = observed[j, some]
                    for i in range(n):
                        mask[i] = seen[i]
                for i in range(n):
                    p = mask[i] / (one + e * x[i])
                    item_p += own_weight[i] * p
                    item_w += own_weight[i] * p * (one - p)
                expected_item[j] += item_p
                info_item[j] += item_w
        sum_u[t] = total
