"""Marginal likelihood of the testlet model with fixed items, theta and u integrated by Laplace's method.

Holds the expansion at each rater's joint mode of (theta, u) and its exact gradient. Does not hold the search over the
item parameters (`testlet_marginal`).
"""

import numpy as np

from analytics.irt.testlet_cells import CellSums, cell_sums, log_likelihood
from analytics.irt.testlet_laplace import make_batches
from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_point import Point, Scales, gradient, start_point, step_raters
from analytics.matrix import FloatArray

_TOLERANCE = 1e-10
_MAX_SWEEPS = 100


class LaplaceMarginal:
    """Laplace marginal log-likelihood of packed cells; keeps the last mode as the next start."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._last = start_point(cells)

    def value_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Marginal log-likelihood and gradient at x = (b, log sd_theta, log sd_u).

        With K the Hessian in a rater's (theta, u): log integral = log posterior at the mode - log det K / 2. The
        gradient follows the mode as well, which K's derivative brings in (`adjoint` below).
        """
        cells, scales, point = self._cells, self._scales(x), self._mode(x)
        sums = cell_sums(cells, point.b, point.s)
        kept, precision = self._arrow(scales, sums)
        spread, var_theta = scales.u**2 * kept, 1.0 / precision
        squares = scales.theta_precision * point.theta**2 + scales.u_precision * np.sum(point.u**2, axis=0)
        log_determinant = np.sum(np.log(precision * scales.theta**2)) - np.sum(np.log(kept))
        value = log_likelihood(cells, point.b, point.s) - 0.5 * float(np.sum(squares) + log_determinant)
        batches = make_batches(cells, scales, point)
        var_s = spread + kept**2 * var_theta
        skew_s, for_b = np.zeros(point.u.shape), sums.expected_item - cells.right_item
        for batch in batches:
            skew = batch.slope * var_s[batch.testlets][:, None, :]
            skew_s[batch.testlets] = skew.sum(axis=1)
            for_b[batch.items] += 0.5 * skew.sum(axis=2)
        d_theta = np.sum(kept * skew_s, axis=0) * var_theta  # adjoint: inverse K times the derivative of log det K
        d_u = spread * (skew_s - sums.info_rt * d_theta)
        for batch in batches:
            for_b[batch.items] -= 0.5 * np.einsum("gjr,gr->gj", batch.w, (d_theta + d_u)[batch.testlets])
        var_u = spread + (1.0 - kept) ** 2 * var_theta
        for_theta = np.sum(point.theta**2 + var_theta - point.theta * d_theta) / scales.theta**2 - var_theta.size
        for_u = np.sum(point.u**2 + var_u - scales.u**2 - point.u * d_u) / scales.u**2
        return value, np.append(for_b, [for_theta, for_u])

    def abilities(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mode of theta and its standard deviation, shape (n_raters,) each."""
        point, scales = self._mode(x), self._scales(x)
        precision = self._arrow(scales, cell_sums(self._cells, point.b, point.s))[1]
        return point.theta, precision**-0.5

    @staticmethod
    def _scales(x: FloatArray) -> Scales:
        return Scales(theta=float(np.exp(x[-2])), b=1.0, u=float(np.exp(x[-1])))

    @staticmethod
    def _arrow(scales: Scales, sums: CellSums) -> tuple[FloatArray, FloatArray]:
        """Share of each testlet's information that is left to theta, and the precision of theta."""
        kept = 1.0 / (1.0 + scales.u**2 * sums.info_rt)
        return kept, scales.theta_precision + np.sum(sums.info_rt * kept, axis=0)

    def _mode(self, x: FloatArray) -> Point:
        point, scales = Point(self._last.theta, self._last.u, x[:-2], 0.0), self._scales(x)
        for _ in range(_MAX_SWEEPS):
            sums = cell_sums(self._cells, point.b, point.s)
            g = gradient(self._cells, scales, point, sums)
            if max(np.max(np.abs(g.theta)), np.max(np.abs(g.u))) <= _TOLERANCE:
                break
            point = step_raters(scales, point, sums, g)
        self._last = point
        return point
