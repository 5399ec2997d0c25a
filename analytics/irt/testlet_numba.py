"""The two passes of a sweep over the testlet model, compiled: one towards the raters, one towards the items.

Holds the passes on numba. Does not hold what a pass takes and gives (`testlet_passes`), the same passes on torch
(`testlet_torch`), or the sums at a point that other modules need (`testlet_cells`). With s = theta + u, a cell is
p = 1 / (1 + exp(b) exp(-s)): the exponentials are taken per item and per rater x testlet, never per cell, and all that
a testlet needs is done while its rows are in the cache. What goes to memory and back is what costs, so exp(-s) is made
anew in each pass, and what a Newton step of u needs is kept in float32: a step need not be exact, only its end.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from analytics.irt.testlet_cells import chunk_edges, over_testlets
from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_passes import ItemSums, RaterSums, Shift
from analytics.irt.testlet_point import LARGEST_STEP, Point, Scales
from analytics.irt.vector_math import FAST, larger, vector_exp
from analytics.matrix import FloatArray, IntArray


class NumbaPasses:
    """The passes on numba, in threads where the data are large."""

    def __init__(self, cells: Cells, scales: Scales, start: Point) -> None:
        self._cells, self._scales = cells, scales
        self._u = np.array(start.u, order="C") if scales.u > 0 else np.zeros(start.u.shape)
        self._info, self._pull = (np.empty(start.u.shape, dtype=np.float32) for _ in range(2))
        self._edges = chunk_edges(cells)
        self._seen = (cells.n_rt > 0).view(np.uint8) if cells.observed.size else np.empty((0, 0), dtype=np.uint8)

    @property
    def u(self) -> FloatArray:
        """Testlet effects, shape (n_testlets, n_raters)."""
        return self._u

    def towards_raters(self, theta: FloatArray, b: FloatArray, shift: Shift) -> RaterSums:
        """Carry out the shift on u, then sum at theta, b and u."""
        cells, scales, n_chunks = self._cells, self._scales, self._edges.size - 1
        partial, largest, expected = np.zeros((n_chunks, 3, theta.size)), np.zeros(n_chunks), np.empty(b.size)
        odds_b = np.exp(np.clip(b, -300, 300))

        def run(first: int, last: int) -> None:
            _towards_raters(
                first, last, self._edges, cells.starts, odds_b, shift.testlet, shift.theta, theta, scales.u**2,
                scales.u_precision, cells.observed, self._seen, cells.weight, cells.right_rt, self._u, self._info,
                self._pull, expected, partial, largest,
            )  # fmt: skip

        over_testlets(run, n_chunks, b.size * theta.size)
        residual, information, correction = partial.sum(axis=0)
        return RaterSums(residual, information, correction, expected, float(largest.max()))

    def towards_items(self, theta: FloatArray, d_theta: FloatArray, b: FloatArray) -> ItemSums:
        """Step u given the step of theta, then sum at the new theta, the new u and b."""
        cells = self._cells
        expected, info, sum_u = np.empty(b.size), np.empty(b.size), np.zeros(cells.n_testlets)
        odds_b = np.exp(np.clip(b, -300, 300))

        def run(first: int, last: int) -> None:
            _towards_items(
                first, last, cells.starts, odds_b, d_theta, theta, self._scales.u**2, cells.observed, cells.weight,
                self._u, self._info, self._pull, expected, info, sum_u,
            )  # fmt: skip

        over_testlets(run, cells.n_testlets, b.size * theta.size)
        return ItemSums(expected, info, sum_u)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _towards_raters(
    first: int,
    last: int,
    edges: IntArray,
    starts: IntArray,
    odds_b: FloatArray,
    c: FloatArray,
    d: float,
    theta: FloatArray,
    u_variance: float,
    u_precision: float,
    observed: NDArray[np.uint8],
    seen_rt: NDArray[np.uint8],
    weight: FloatArray,
    right_rt: FloatArray,
    u: FloatArray,
    info: NDArray[np.float32],
    pull: NDArray[np.float32],
    expected_item: FloatArray,
    partial: FloatArray,
    largest: FloatArray,
) -> None:
    has_missing = observed.shape[0] > 0
    n_raters = u.shape[1]
    x, sum_p, sum_w, mask = np.empty(n_raters), np.empty(n_raters), np.empty(n_raters), np.ones(n_raters)
    for chunk in range(first, last):
        residual, information, correction = partial[chunk, 0], partial[chunk, 1], partial[chunk, 2]
        for t in range(edges[chunk], edges[chunk + 1]):
            own_u, move = u[t], c[t] - d
            if has_missing:
                for i in range(n_raters):
                    mask[i] = seen_rt[t, i]
            for i in range(n_raters):
                own_u[i] += move * mask[i]
                x[i] = vector_exp(-(theta[i] + own_u[i]))
                sum_p[i] = 0.0
                sum_w[i] = 0.0
            for j in range(starts[t], starts[t + 1]):
                e, item_p = odds_b[j], 0.0
                if has_missing:
                    for i in range(n_raters):
                        mask[i] = observed[j, i]
                for i in range(n_raters):
                    p = mask[i] / (1.0 + e * x[i])  # 0 where missing, and so is p(1 - p)
                    sum_p[i] += p
                    sum_w[i] += p * (1.0 - p)
                    item_p += weight[i] * p
                expected_item[j] = item_p
            worst = largest[chunk]
            for i in range(n_raters):
                r = right_rt[t, i] - sum_p[i]
                g = (u_precision * own_u[i] - r) if u_variance > 0.0 else 0.0
                kept = sum_w[i] / (1.0 + u_variance * sum_w[i])  # information that is left to theta
                info[t, i] = sum_w[i]
                pull[t, i] = g
                residual[i] += r
                information[i] += kept
                correction[i] += kept * u_variance * g
                worst = larger(worst, abs(g))
            largest[chunk] = worst


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _towards_items(
    first: int,
    last: int,
    starts: IntArray,
    odds_b: FloatArray,
    d_theta: FloatArray,
    theta: FloatArray,
    u_variance: float,
    observed: NDArray[np.uint8],
    weight: FloatArray,
    u: FloatArray,
    info: NDArray[np.float32],
    pull: NDArray[np.float32],
    expected_item: FloatArray,
    info_item: FloatArray,
    sum_u: FloatArray,
) -> None:
    has_missing = observed.shape[0] > 0
    n_raters = u.shape[1]
    x, mask = np.empty(n_raters), np.ones(n_raters)
    for t in range(first, last):
        own_u, total = u[t], 0.0
        for i in range(n_raters):
            spread = u_variance / (1.0 + u_variance * info[t, i])
            step = -spread * (pull[t, i] + info[t, i] * d_theta[i])
            own_u[i] += min(max(step, -LARGEST_STEP), LARGEST_STEP)
            total += weight[i] * own_u[i]  # an effect without data is 0
            x[i] = vector_exp(-(theta[i] + own_u[i]))
        sum_u[t] = total
        for j in range(starts[t], starts[t + 1]):
            e, item_p, item_w = odds_b[j], 0.0, 0.0
            if has_missing:
                for i in range(n_raters):
                    mask[i] = observed[j, i]
            for i in range(n_raters):
                p = mask[i] / (1.0 + e * x[i])
                item_p += weight[i] * p
                item_w += weight[i] * p * (1.0 - p)
            expected_item[j] = item_p
            info_item[j] = item_w
