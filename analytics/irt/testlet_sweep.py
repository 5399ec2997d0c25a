"""One sweep of the search for the mode: Newton steps of all raters and of all items, and the exact shift moves.

Holds the moving point and its steps. Does not hold the passes over the cells (`testlet_passes`, `testlet_torch`) or
the search (`testlet_mode`). Both systems are arrows: theta is solved by the Schur complement of its u, the mean of b by
that of the difficulties.
"""

import numpy as np

from analytics.irt.testlet_margins import Margins
from analytics.irt.testlet_passes import Passes, RaterSums, Shift
from analytics.irt.testlet_point import LARGEST_STEP, Point, Scales
from analytics.matrix import FloatArray, IntArray

# Raters and items are solved in turns, so that each step undoes a little of the other: a step somewhat too long
# (successive over-relaxation, which a convex objective bears) saves one sweep in six. The best is near
# 2 / (1 + sqrt(1 - rate)) with the rate of plain turns, .04 to .17 on simulated data.
_BEYOND = 1.04


class Sweep:
    """A point that sweeps move.

    Parameters
    ----------
    cells, scales
        Packed responses and standard deviations.
    start
        Where the point starts.
    passes
        The passes, which keep its u.
    """

    def __init__(self, cells: Margins, scales: Scales, start: Point, passes: Passes) -> None:
        self._cells, self._scales, self._passes = cells, scales, passes
        self._theta, self._b, self._mean_b = start.theta.copy(), start.b.copy(), start.mean_b
        self._shift = self._stay = Shift(0.0, np.zeros(cells.n_testlets))
        # sums over raters grow with their weights, and with them what rounding leaves of a derivative by b
        self._unit = max(1.0, float(cells.weight.mean()))
        self._seen_item = (cells.n_item > 0).astype(np.float64)
        self._seen_rater = np.ones(self._theta.size)
        n_u = cells.weight.sum()
        if not cells.is_complete:
            self._seen_rater = (cells.pairs.by_rater(cells.n_rt) > 0).astype(np.float64)
            n_u = cells.pairs.by_testlet((cells.n_rt > 0) * cells.pairs.of_rater(cells.weight))
        # weights of u and b in a testlet's shift
        self._of_u = scales.u_precision * np.broadcast_to(n_u, cells.n_testlets)
        self._of_b = scales.b_precision * _by_testlet(self._seen_item, cells.starts)
        self._hold = np.maximum(self._of_u + self._of_b, 1e-300)

    @property
    def point(self) -> Point:
        """The point; right after `gradient_norm`, which carries the last shift out."""
        return Point(self._theta, self._passes.u, self._b, self._mean_b)

    def gradient_norm(self) -> float:
        """Pass towards the raters and return the largest absolute derivative of the penalised objective.

        Derivatives by theta and u are per unit of their rater's weight, those by b per unit of the raters' mean weight
        where it is above 1.
        """
        self._sums: RaterSums = self._passes.towards_raters(self._theta, self._b, self._shift)
        self._shift = self._stay
        self._g_theta = self._scales.theta_precision * self._theta - self._sums.residual
        deviation = self._scales.b_precision * (self._b - self._mean_b)
        g_b = deviation + self._cells.right_item - self._sums.expected_item
        of_items = max(float(np.max(np.abs(g_b))), abs(float(deviation.sum()))) / self._unit
        return max(self._sums.largest, float(np.max(np.abs(self._g_theta))), of_items)

    def step(self) -> None:
        """Newton step of every rater, pass towards the items, Newton step of all items and their mean, shift."""
        information = self._scales.theta_precision + self._sums.information
        d_theta = _limited((self._sums.correction - self._g_theta) / information)
        self._theta += d_theta
        sums, precision = self._passes.towards_items(self._theta, d_theta, self._b), self._scales.b_precision
        deviation = precision * (self._b - self._mean_b)
        g_b, held = deviation + self._cells.right_item - sums.expected, precision / (sums.info + precision)
        told = float(held @ sums.info)
        d_mean = float(deviation.sum() - held @ g_b) / told if told > 0 else 0.0
        d_mean = min(max(d_mean, -LARGEST_STEP), LARGEST_STEP)
        self._b += _limited((precision * d_mean - g_b) / (sums.info + precision))
        self._move(*self._best_shift(sums.sum_u))

    def _best_shift(self, sum_u: FloatArray) -> tuple[Shift, float]:
        """Minimise the penalty exactly along the moves that leave every logit as it is; return them and the mean of b.

        Testlet t: u_it and b_j both move by c_t. All testlets: theta moves by d, u by -d. Mean of b: m. Only observed
        rater x testlet pairs move; an effect without data stays at 0. Substituting c_t leaves two equations in (d, m).
        Without testlet effects, theta, b and the mean move together.
        """
        scales, seen = self._scales, self._seen_item * self._b
        weight = self._seen_rater * self._cells.weight
        sum_theta = float(weight @ self._theta)
        if scales.u == 0:
            d = -sum_theta / max(float(weight.sum()), 1e-300)
            mean_b = float(seen.sum() / max(self._seen_item.sum(), 1.0)) + d
            return Shift(d, np.full(sum_u.size, d)), mean_b
        u_d, b_m, hold = self._of_u, self._of_b, self._hold
        # c_t = (alpha_t + p_u n_u d + p_b n_b m) / hold_t, with alpha_t the pull at d = m = 0
        pull_u = scales.u_precision * sum_u
        pull_b = scales.b_precision * _by_testlet(seen, self._cells.starts)
        alpha = -(pull_u + pull_b)
        mixed = -float(np.sum(u_d * b_m / hold))
        own = scales.theta_precision * float(weight.sum()) + float(np.sum(u_d - u_d**2 / hold))
        system = np.array([[own, mixed], [mixed, float(np.sum(b_m - b_m**2 / hold))]])
        right = [
            -scales.theta_precision * sum_theta + float(np.sum(pull_u + u_d * alpha / hold)),
            float(np.sum(pull_b + b_m * alpha / hold)),
        ]
        d, mean_b = np.linalg.solve(system, np.array(right)).tolist()
        return Shift(d, (alpha + u_d * d + b_m * mean_b) / hold), mean_b

    def _move(self, shift: Shift, mean_b: float) -> None:
        """Move theta and b; u follows at the next pass."""
        self._theta += shift.theta * self._seen_rater
        moved = self._b + np.repeat(shift.testlet, np.diff(self._cells.starts))
        self._b = np.where(self._seen_item > 0, moved, mean_b)
        self._mean_b, self._shift = mean_b, shift


def _limited(step: FloatArray) -> FloatArray:
    return np.clip(_BEYOND * step, -LARGEST_STEP, LARGEST_STEP)


def _by_testlet(of_item: FloatArray, starts: IntArray) -> FloatArray:
    """Sum of a packed item array within each testlet; 0 for a testlet without items."""
    sums = np.add.reduceat(np.append(of_item, 0.0), starts[:-1])
    return np.asarray(sums * (np.diff(starts) > 0))
