"""The mode of the penalised 1PL testlet model: block Newton.

Holds the search for theta, u, b and the mean of b with the standard deviations given. Does not hold standard errors
or the choice of the standard deviations, nor the compiled passes (`testlet_sweep`). Each sweep solves every rater's
arrow-shaped system (theta with its u) and every item's scalar one, then moves exactly along the directions that the
likelihood does not see.
"""

from dataclasses import dataclass

import numpy as np

from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_point import Point, Scales
from analytics.irt.testlet_sweep import Sweep
from analytics.matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Mode:
    """Where the search ended.

    Attributes
    ----------
    point
        The last point.
    gradient_norm
        Largest absolute derivative of the penalised objective there, per unit of rater weight for theta and u.
    n_iterations
        Sweeps done.
    is_converged
        Whether `gradient_norm` is within the tolerance.
    """

    point: Point
    gradient_norm: float
    n_iterations: int
    is_converged: bool


def find_mode(cells: Cells, scales: Scales, start: Point, *, tolerance: float, max_iterations: int) -> Mode:
    """Minimise the penalised negative log-likelihood from `start`.

    The objective is convex, so a small gradient is the whole proof of convergence.
    """
    sweep = Sweep(cells, scales, start)
    shift = _Shift(cells, scales)
    for iteration in range(max_iterations + 1):
        norm = sweep.gradient_norm()
        if norm <= tolerance or iteration == max_iterations:
            return Mode(sweep.point, norm, iteration, norm <= tolerance)
        sweep.step()
        shift.apply(sweep)
    raise AssertionError("the loop returns")


class _Shift:
    """The exact minimum of the penalty along the moves that leave every logit as it is.

    Testlet t: u_it and b_j both move by c_t. All testlets: theta moves by d, u by -d. Mean of b: m. Only observed
    rater x testlet pairs move; an effect without data stays at 0. Substituting c_t leaves two equations in (d, m).
    Without testlet effects, theta, b and the mean move together.
    """

    def __init__(self, cells: Cells, scales: Scales) -> None:
        self._scales = scales
        self._weight, n_u = cells.weight, cells.weight.sum()
        if cells.observed.size:
            self._weight = (cells.n_rt.sum(axis=0) > 0) * cells.weight
            n_u = (cells.n_rt > 0) @ cells.weight
        self._items = float(np.count_nonzero(cells.n_item > 0))
        self._u = scales.u_precision * np.broadcast_to(n_u, cells.n_testlets)
        self._b = scales.b_precision * _by_testlet((cells.n_item > 0).astype(np.float64), cells.starts)
        self._hold = np.maximum(self._u + self._b, 1e-300)
        self._starts = cells.starts

    def apply(self, sweep: Sweep) -> None:
        """Move the sweep's point."""
        p_theta, p_u, p_b = self._scales.theta_precision, self._scales.u_precision, self._scales.b_precision
        seen = sweep.seen_item * sweep.b
        n_theta, sum_theta = self._weight.sum(), float(self._weight @ sweep.theta)
        if self._scales.u == 0:
            d = -sum_theta / max(n_theta, 1e-300)
            sweep.shift(d, np.full(self._u.size, d), float(seen.sum() / max(self._items, 1.0)) + d)
            return
        u_d, b_m, hold = self._u, self._b, self._hold
        # c_t = (alpha_t + p_u n_u d + p_b n_b m) / hold_t, with alpha_t the pull at d = m = 0
        pull_u, pull_b = p_u * sweep.sum_u, p_b * _by_testlet(seen, self._starts)
        alpha = -(pull_u + pull_b)
        mixed = -float(np.sum(u_d * b_m / hold))
        system = np.array(
            [
                [p_theta * n_theta + float(np.sum(u_d - u_d**2 / hold)), mixed],
                [mixed, float(np.sum(b_m - b_m**2 / hold))],
            ]
        )
        right = [
            -p_theta * sum_theta + float(np.sum(pull_u + u_d * alpha / hold)),
            float(np.sum(pull_b + b_m * alpha / hold)),
        ]
        d, mean_b = np.linalg.solve(system, np.array(right))
        sweep.shift(float(d), (alpha + u_d * d + b_m * mean_b) / hold, float(mean_b))


def _by_testlet(of_item: FloatArray, starts: IntArray) -> FloatArray:
    """Sum of a packed item array within each testlet; 0 for a testlet without items."""
    sums = np.add.reduceat(np.append(of_item, 0.0), starts[:-1])
    return np.asarray(sums * (np.diff(starts) > 0))
