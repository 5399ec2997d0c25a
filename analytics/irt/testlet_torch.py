"""The two passes of a sweep over the testlet model on torch, for an accelerator where there is one.

Holds the passes alone; torch is imported when they are made. The Newton steps between them stay where they are
(`testlet_sweep`), so the mode is that of the compiled passes to float32's precision.
"""

from typing import Any

import numpy as np

from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_passes import ItemSums, RaterSums, Shift
from analytics.irt.testlet_point import LARGEST_STEP, Point, Scales
from analytics.matrix import FloatArray

CELLS_AT_ONCE = 50_000_000


class TorchPasses:
    """The passes on torch in float32, sums over testlets in float64; like `testlet_numba.NumbaPasses`."""

    def __init__(self, cells: Cells, scales: Scales, start: Point) -> None:
        import torch

        self._torch: Any = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._u = self._tensor(np.array(start.u) if scales.u > 0 else np.zeros(start.u.shape))
        self._right, self._weight = self._tensor(cells.right_rt), self._tensor(cells.weight)
        self._seen = self._tensor((cells.n_rt > 0).astype(np.float64)) if not cells.is_complete else None
        self._observed = torch.as_tensor(cells.observed, device=self._device) if not cells.is_complete else None
        sizes = np.diff(cells.starts)
        self._testlet = torch.as_tensor(np.repeat(np.arange(sizes.size), sizes), device=self._device)
        self._variance, self._precision, self._n_items = scales.u**2, scales.u_precision, int(sizes.sum())
        self._items_at_once = max(1, CELLS_AT_ONCE // cells.weight.size)

    @property
    def u(self) -> FloatArray:
        """Testlet effects, shape (n_testlets, n_raters)."""
        return np.asarray(self._u.double().cpu().numpy())

    @property
    def is_exact(self) -> bool:
        """Always: there is nothing more precise here."""
        return True

    def refine(self) -> None:
        """Leave everything as it is."""

    def towards_raters(self, theta: FloatArray, b: FloatArray, shift: Shift) -> RaterSums:
        """Carry out the shift on u, then sum at theta, b and u."""
        move = self._tensor(shift.testlet - shift.theta)[:, None]
        self._u = self._u + (move if self._seen is None else move * self._seen)
        p_rt, self._info = self._torch.zeros_like(self._u), self._torch.zeros_like(self._u)
        expected = np.empty(b.size)
        for part, p, w in self._cells(theta, b):
            p_rt.index_add_(0, self._testlet[part], p)
            self._info.index_add_(0, self._testlet[part], w)
            expected[part] = (p @ self._weight).cpu().numpy()
        residual = self._right - p_rt
        self._pull = (self._precision * self._u - residual) if self._variance > 0 else self._torch.zeros_like(residual)
        kept = self._info / (1.0 + self._variance * self._info)
        return RaterSums(
            residual=_over_testlets(residual),
            information=_over_testlets(kept),
            correction=_over_testlets(kept * self._variance * self._pull),
            expected_item=expected,
            largest=float(self._pull.abs().max()),
        )

    def towards_items(self, theta: FloatArray, d_theta: FloatArray, b: FloatArray) -> ItemSums:
        """Step u given the step of theta, then sum at the new theta, the new u and b."""
        spread = self._variance / (1.0 + self._variance * self._info)
        step = -spread * (self._pull + self._info * self._tensor(d_theta))
        self._u = self._u + step.clamp(-LARGEST_STEP, LARGEST_STEP)
        expected, info = np.empty(b.size), np.empty(b.size)
        for part, p, w in self._cells(theta, b):
            expected[part] = (p @ self._weight).cpu().numpy()
            info[part] = (w @ self._weight).cpu().numpy()
        return ItemSums(expected, info, (self._u.double() @ self._weight.double()).cpu().numpy())

    def _cells(self, theta: FloatArray, b: FloatArray) -> Any:
        """Yield a range of items with their p and p(1 - p), 0 where missing."""
        s, difficulty = self._tensor(theta) + self._u, self._tensor(b)[:, None]
        for start in range(0, self._n_items, self._items_at_once):
            part = slice(start, start + self._items_at_once)
            p = self._torch.sigmoid(s[self._testlet[part]] - difficulty[part])
            w = p * (1.0 - p)
            if self._observed is not None:
                p, w = p * self._observed[part], w * self._observed[part]
            yield part, p, w

    def _tensor(self, array: FloatArray) -> Any:
        """Return a float32 tensor on the device."""
        return self._torch.as_tensor(array, dtype=self._torch.float32, device=self._device)


def _over_testlets(of_rt: Any) -> FloatArray:
    return np.asarray(of_rt.double().sum(0).cpu().numpy())
