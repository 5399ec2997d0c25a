"""The two passes of a sweep over the testlet model where the observed cells are listed.

Holds the passes alone, one towards the raters and one towards the items; the Newton steps between them are those of
every layout (`testlet_sweep`), and what a pass takes and gives stands in `testlet_passes`.
"""

import numba
import numpy as np

from analytics.irt.testlet_listed import ListedCells
from analytics.irt.testlet_passes import ItemSums, RaterSums, Shift
from analytics.irt.testlet_point import LARGEST_STEP, Point, Scales
from analytics.matrix import FloatArray, IntArray


class ListedPasses:
    """The passes over listed cells, in double precision; like `testlet_numba.NumbaPasses`."""

    def __init__(self, cells: ListedCells, scales: Scales, start: Point) -> None:
        self._cells, self._scales = cells, scales
        self._u = start.u.copy() if scales.u > 0 else np.zeros(start.u.shape)
        self._info, self._pull = np.zeros(start.u.shape), np.zeros(start.u.shape)

    @property
    def u(self) -> FloatArray:
        """Testlet effects, shape (n_pairs,)."""
        return self._u

    @property
    def is_exact(self) -> bool:
        """Always."""
        return True

    def refine(self) -> None:
        """Leave everything as it is."""

    def towards_raters(self, theta: FloatArray, b: FloatArray, shift: Shift) -> RaterSums:
        """Carry out the shift on u, then sum at theta, b and u."""
        cells, scales = self._cells, self._scales
        self._u += shift.testlet[cells.pair_testlet] - shift.theta
        expected_rt, expected_item = np.zeros(self._u.size), np.zeros(b.size)
        _sum_cells(
            cells.rater_starts, cells.pair_starts, cells.item, cells.weight, theta, self._u, b,
            expected_rt, self._info, expected_item, np.zeros(b.size),
        )  # fmt: skip
        residual = cells.right_rt - expected_rt
        self._pull = scales.u_precision * self._u - residual if scales.u > 0 else np.zeros(self._u.size)
        kept = self._info / (1.0 + scales.u**2 * self._info)  # information that is left to theta
        by_rater = cells.pairs.by_rater
        return RaterSums(
            residual=by_rater(residual),
            information=by_rater(kept),
            correction=by_rater(kept * scales.u**2 * self._pull),
            expected_item=expected_item,
            largest=float(np.max(np.abs(self._pull))),
        )

    def towards_items(self, theta: FloatArray, d_theta: FloatArray, b: FloatArray) -> ItemSums:
        """Step u given the step of theta, then sum at the new theta, the new u and b."""
        cells, scales = self._cells, self._scales
        spread = scales.u**2 / (1.0 + scales.u**2 * self._info)
        step = -spread * (self._pull + self._info * cells.pairs.of_rater(d_theta))
        self._u += np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        expected, info = np.zeros(b.size), np.zeros(b.size)
        _sum_cells(
            cells.rater_starts, cells.pair_starts, cells.item, cells.weight, theta, self._u, b,
            np.zeros(self._u.size), np.zeros(self._u.size), expected, info,
        )  # fmt: skip
        return ItemSums(expected, info, cells.pairs.by_testlet(cells.pairs.of_rater(cells.weight) * self._u))


@numba.njit(cache=True, error_model="numpy")
def _sum_cells(
    rater_starts: IntArray,
    pair_starts: IntArray,
    item: IntArray,
    weight: FloatArray,
    theta: FloatArray,
    u: FloatArray,
    b: FloatArray,
    expected_rt: FloatArray,
    info_rt: FloatArray,
    expected_item: FloatArray,
    info_item: FloatArray,
) -> None:
    """Write sums of p and p(1 - p) of each pair, and add those of each item, weighted."""
    for i in range(theta.size):
        for pair in range(rater_starts[i], rater_starts[i + 1]):
            s, sum_p, sum_w = theta[i] + u[pair], 0.0, 0.0
            for c in range(pair_starts[pair], pair_starts[pair + 1]):
                p = 1.0 / (1.0 + np.exp(b[item[c]] - s))
                w = p * (1.0 - p)
                sum_p += p
                sum_w += w
                expected_item[item[c]] += weight[i] * p
                info_item[item[c]] += weight[i] * w
            expected_rt[pair], info_rt[pair] = sum_p, sum_w
