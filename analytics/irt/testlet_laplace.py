"""Full information of the penalised testlet model at its mode: variances, log determinant and marginal gradient.

Holds the exact elimination of the Hessian over (theta, u, b, mean of b) and what follows from it: standard errors of
everything, the Laplace marginal likelihood and its derivatives in the log standard deviations. Does not hold the
search for the mode. The order of elimination is u (diagonal), then b by testlet, then a dense system in theta and the
mean; the cost is n_items * n_raters**2.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from analytics.irt.testlet_cells import Cells
from analytics.irt.testlet_mode import Point, Scales
from analytics.matrix import FloatArray


@dataclass(frozen=True, slots=True)
class Information:
    """Posterior variances at the mode and the marginal likelihood that goes with them.

    Attributes
    ----------
    var_theta
        Shape (n_raters,).
    var_u
        Shape (n_testlets, n_raters).
    var_b
        Shape (n_items,), packed order; includes the uncertainty of theta, u and the mean of b.
    var_b_deviation
        Variance of b minus the mean of b, shape (n_items,).
    var_mean_b
        Variance of the mean difficulty.
    half_log_determinant
        Half the log determinant of the Hessian, the variances of the random effects taken out, so that it is finite
        and continuous at sd_u = 0.
    gradient
        Derivatives of the Laplace marginal log-likelihood in log sd of theta, b and u, shape (3,).
    """

    var_theta: FloatArray
    var_u: FloatArray
    var_b: FloatArray
    var_b_deviation: FloatArray
    var_mean_b: float
    half_log_determinant: float
    gradient: FloatArray


@dataclass(frozen=True, slots=True)
class _Block:
    """One testlet after its u are eliminated; arrays over its items (rows) and the raters (columns)."""

    w: FloatArray
    slope: FloatArray
    kept: FloatArray
    spread: FloatArray
    inverse: FloatArray
    to_z: FloatArray


def information(cells: Cells, scales: Scales, point: Point) -> Information:
    """Eliminate the Hessian at `point`, which must be the mode for the gradient to hold."""
    blocks, dense, log_determinant = _eliminate(cells, scales, point)
    factor = cho_factor(dense, lower=True)
    cov_z = cho_solve(factor, np.eye(dense.shape[0]))
    log_determinant += 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
    n_raters = cells.weight.size
    log_determinant += 2.0 * n_raters * np.log(scales.theta) + 2.0 * cells.n_item.size * np.log(scales.b)
    var_u, skew_s = np.zeros(point.u.shape), np.zeros(point.u.shape)
    var_b, var_deviation, skew_b = np.zeros(point.b.size), np.zeros(point.b.size), np.zeros(point.b.size)
    for t, block in enumerate(blocks):
        rows = slice(cells.starts[t], cells.starts[t + 1])
        cross = block.to_z @ cov_z  # covariance of b_t with (theta, mean)
        cov_b = block.inverse + cross @ block.to_z.T
        var_b[rows] = np.diag(cov_b)
        var_deviation[rows] = var_b[rows] + cov_z[-1, -1] - 2.0 * cross[:, -1]
        own = block.w * block.spread  # how s_it follows b_t
        own_cov = cov_b @ own
        quadratic = np.sum(own * own_cov, axis=0)
        with_theta = np.sum(own * cross[:, :n_raters], axis=0)
        var_theta = np.diag(cov_z)[:n_raters]
        lost = 1.0 - block.kept
        var_u[t] = block.spread + lost**2 * var_theta - 2.0 * lost * with_theta + quadratic
        var_s = block.spread + block.kept**2 * var_theta + 2.0 * block.kept * with_theta + quadratic
        var_logit = var_s + var_b[rows][:, None] - 2.0 * (own_cov + block.kept * cross[:, :n_raters])
        skew = block.slope * var_logit
        skew_s[t], skew_b[rows] = skew.sum(axis=0), -skew.sum(axis=1)
    variances = (np.diag(cov_z)[:n_raters].copy(), var_u, var_deviation)
    return Information(
        var_theta=variances[0],
        var_u=var_u,
        var_b=var_b,
        var_b_deviation=var_deviation,
        var_mean_b=float(cov_z[-1, -1]),
        half_log_determinant=0.5 * float(log_determinant),
        gradient=_gradient(scales, point, variances, _solve(cells, blocks, cov_z, skew_s, skew_b)),
    )


def _eliminate(cells: Cells, scales: Scales, point: Point) -> tuple[list[_Block], FloatArray, float]:
    n_raters = cells.weight.size
    dense = np.zeros((n_raters + 1, n_raters + 1))
    diagonal = np.full(n_raters + 1, scales.theta_precision)
    diagonal[-1] = point.b.size * scales.b_precision
    exp_b, exp_minus_s = np.exp(point.b), np.exp(-point.s)
    blocks, log_determinant = [], 0.0
    for t in range(cells.n_testlets):
        rows = slice(cells.starts[t], cells.starts[t + 1])
        p = 1.0 / (1.0 + exp_b[rows, None] * exp_minus_s[t])
        w = p * (1.0 - p)
        if cells.observed.size:
            w *= cells.observed[rows]
        total = w.sum(axis=0)
        kept = 1.0 / (1.0 + scales.u**2 * total)
        spread = scales.u**2 * kept
        items = -(w * spread) @ w.T
        items[np.diag_indices_from(items)] += w.sum(axis=1) + scales.b_precision
        factor = cho_factor(items, lower=True)
        pull = np.column_stack([w * kept, np.full(w.shape[0], scales.b_precision)])
        to_z = cho_solve(factor, pull)
        dense -= pull.T @ to_z
        diagonal[:-1] += total * kept
        log_determinant += 2.0 * float(np.sum(np.log(np.diag(factor[0])))) - float(np.sum(np.log(kept)))
        blocks.append(_Block(w, w * (1.0 - 2.0 * p), kept, spread, cho_solve(factor, np.eye(w.shape[0])), to_z))
    dense[np.diag_indices_from(dense)] += diagonal
    return blocks, dense, log_determinant


def _solve(cells: Cells, blocks: list[_Block], cov_z: FloatArray, for_s: FloatArray, for_b: FloatArray) -> Point:
    """Solve Hessian x = right-hand side, where theta and u enter through s."""
    right = np.zeros(cov_z.shape[0])
    right_b = []
    for t, block in enumerate(blocks):
        rows = slice(cells.starts[t], cells.starts[t + 1])
        right_b.append(for_b[rows] + block.w @ (block.spread * for_s[t]))
        right[:-1] += block.kept * for_s[t]
        right += block.to_z.T @ right_b[t]
    z = cov_z @ right
    u, b = np.zeros(for_s.shape), np.zeros(for_b.size)
    for t, block in enumerate(blocks):
        rows = slice(cells.starts[t], cells.starts[t + 1])
        b[rows] = block.inverse @ right_b[t] + block.to_z @ z
        u[t] = block.spread * (for_s[t] - block.w.sum(axis=0) * z[:-1] + b[rows] @ block.w)
    return Point(theta=z[:-1], u=u, b=b, mean_b=float(z[-1]))


def _gradient(
    scales: Scales, point: Point, variances: tuple[FloatArray, FloatArray, FloatArray], adjoint: Point
) -> FloatArray:
    """Differentiate in log sd: squares and variances against their expectation, less the mode's own movement."""
    deviation = point.b - point.mean_b
    moved = adjoint.b - adjoint.mean_b
    parts = []
    for effect, variance, shift, sd in (
        (point.theta, variances[0], adjoint.theta, scales.theta),
        (deviation, variances[2], moved, scales.b),
        (point.u, variances[1], adjoint.u, scales.u),
    ):
        parts.append(0.0 if sd == 0 else float(np.sum(effect**2 + variance - sd**2 - effect * shift)) / sd**2)
    return np.array(parts)
