"""The linear algebra of the testlet model with a model facet: elimination, solution, variances.

Holds one Newton system of logit P = theta_i + u_it - d_jm, where d_jm ~ N(b_j, sd_v^2) is item j's difficulty for
model m of rater i. The order of elimination is u, then d by testlet and model, then b by testlet, then a dense system
in z = theta and the mean of b. Does not hold the loops over testlets (`testlet_facet_blocks`,
`testlet_facet_variances`), the iteration, or the choice of the standard deviations (`testlet_facet_search`).
"""

from itertools import pairwise

import numpy as np

from analytics.irt.testlet_facet_blocks import eliminate, empty_blocks, substitute_back, substitute_forward
from analytics.irt.testlet_facet_point import FacetPoint, FacetScales
from analytics.irt.testlet_facet_variances import Spread, spread
from analytics.matrix import FloatArray, IntArray


class FacetSystem:
    """The eliminated Hessian at a point.

    Parameters
    ----------
    p
        Probabilities at the point, 0 where missing, shape (n_items, n_raters), raters in the order of their models.
    scales
        Standard deviations.
    starts, edges
        First item of each testlet, first rater of each model, and the ends.
    """

    def __init__(self, p: FloatArray, scales: FacetScales, starts: IntArray, edges: IntArray) -> None:
        (n_items, n_raters), n_models = p.shape, edges.size - 1
        self._p = p
        self._spread: Spread | None = None  # asked for more than once
        self._blocks = blocks = empty_blocks(starts, edges, float(scales.u) ** 2, scales.v**-2, scales.b**-2)
        log_determinant = eliminate(blocks, p)
        log_determinant += 2.0 * n_raters * np.log(scales.theta) + 2.0 * n_items * np.log(scales.b)
        log_determinant += 2.0 * n_items * n_models * np.log(scales.v)
        dense = -blocks.half.T @ blocks.half
        for low, high in pairwise(edges):
            dense[low:high, low:high] -= blocks.left[:, low:high].T @ blocks.to_theta[:, low:high]
        diagonal = np.append(scales.theta**-2 + blocks.left.sum(axis=0), n_items * scales.b**-2)
        dense[np.diag_indices_from(dense)] += diagonal
        self.cov_z: FloatArray = np.asarray(np.linalg.inv(dense), dtype=np.float64)
        self.half_log_determinant = 0.5 * (log_determinant + float(np.linalg.slogdet(dense)[1]))

    def solve(self, right: FacetPoint) -> FacetPoint:
        """Solve Hessian x = right-hand side."""
        z, u, d, b = np.append(right.theta, right.mean_b), right.u.copy(), right.d.copy(), right.b.copy()
        substitute_forward(self._blocks, z, u, d, b)
        z = self.cov_z @ (z + b @ self._blocks.half)
        b += self._blocks.half @ z
        substitute_back(self._blocks, z, u, d, b)
        return FacetPoint(theta=z[:-1], u=u, d=d, b=b, mean_b=float(z[-1]))

    def variances(self, shape_u: tuple[int, ...], n_items: int) -> tuple[FacetPoint, FacetPoint, FloatArray]:
        """Posterior variances, and the derivative of the log determinant in the parameters.

        Returns
        -------
        tuple
            Variances of theta, u, v = d - b (in place of d), b less its mean (in place of b) and the mean; the
            derivative of log det; the variance of b itself, shape (n_items,).
        """
        if self._spread is None:
            self._spread = spread(self._blocks, self._p, self.cov_z, shape_u, n_items)
        found, own = self._spread, np.diag(self.cov_z)
        variances = FacetPoint(theta=own[:-1].copy(), u=found.u, d=found.v, b=found.deviation, mean_b=float(own[-1]))
        slope = FacetPoint(
            theta=found.skew_s.sum(axis=0), u=found.skew_s, d=found.skew_d, b=np.zeros(n_items), mean_b=0.0
        )
        return variances, slope, found.b
