"""Full information of the penalised testlet model at its mode, eliminated towards the items.

Holds the same elimination as `testlet_laplace` in the other order: u, then theta, rater by rater, then a dense system
in b and the mean; cost n_raters * n_items**2, right when items are the short side. A rater's weight k is exactly k
repeated raters, each with its own theta and u.
"""

import numpy as np

from analytics.irt.testlet_laplace import Batch, Information, make_batches, marginal_gradient
from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_point import Point, Scales
from analytics.matrix import FloatArray


def information_by_items(cells: Cells, scales: Scales, point: Point) -> Information:
    """Eliminate the Hessian at `point`, which must be the mode for the gradient to hold."""
    weight, n_items = cells.weight, point.b.size
    batches = make_batches(cells, scales, point)
    seen, precision = np.zeros((weight.size, n_items)), np.full(weight.size, scales.theta_precision)
    for batch in batches:
        seen[:, batch.items.ravel()] = (batch.w * batch.kept[:, None, :]).reshape(-1, weight.size).T
        precision += np.sum(batch.w.sum(axis=1) * batch.kept, axis=0)
    dense = _dense(batches, scales, seen, weight / precision, weight)
    cov = np.asarray(np.linalg.inv(dense), dtype=np.float64)
    log_determinant = float(np.linalg.slogdet(dense)[1]) + 2.0 * n_items * np.log(scales.b)
    log_determinant += float(weight @ np.log(precision * scales.theta**2))
    log_determinant -= sum(float(np.sum(np.log(batch.kept) @ weight)) for batch in batches)
    cov_b = cov[:n_items, :n_items]
    with_b = seen @ cov_b
    followed = np.sum(with_b * seen, axis=1)
    var_theta = 1.0 / precision + followed / precision**2
    var_u, skew_s, skew_b = np.zeros(point.u.shape), np.zeros(point.u.shape), np.zeros(n_items)
    for batch in batches:
        own = batch.w * batch.spread[:, None, :]  # how s follows b within the testlet, besides through theta
        through = batch.kept / precision  # and how it follows the rater's theta
        block = cov_b[batch.items[:, :, None], batch.items[:, None, :]]
        theta_b = with_b.T[batch.items]
        own_cov = block @ own
        quadratic, mixed = np.sum(own * own_cov, axis=1), np.sum(own * theta_b, axis=1)
        lost = 1.0 - batch.kept
        var_u[batch.testlets] = batch.spread + lost**2 * var_theta - 2.0 * lost / precision * mixed + quadratic
        var_s = batch.spread + batch.kept * through + through**2 * followed + 2.0 * through * mixed + quadratic
        var_logit = var_s[:, None, :] + np.diagonal(block, axis1=1, axis2=2)[:, :, None]
        skew = batch.slope * (var_logit - 2.0 * (own_cov + through[:, None, :] * theta_b))
        skew_s[batch.testlets], skew_b[batch.items] = skew.sum(axis=1), -(skew @ weight)
    var_deviation = np.diag(cov_b) + cov[-1, -1] - 2.0 * cov[:n_items, -1]
    adjoint = _solve(batches, weight, seen, precision, cov, skew_s, skew_b)
    return Information(
        var_theta=var_theta,
        var_u=var_u,
        var_b=np.diag(cov_b).copy(),
        var_mean_b=float(cov[-1, -1]),
        half_log_determinant=0.5 * log_determinant,
        gradient=marginal_gradient(cells, scales, point, (var_theta, var_deviation, var_u), adjoint),
    )


def _dense(
    batches: list[Batch], scales: Scales, seen: FloatArray, theta_weight: FloatArray, weight: FloatArray
) -> FloatArray:
    """Precision of (b, mean) once u and theta are eliminated."""
    n_items = seen.shape[1]
    dense = np.zeros((n_items + 1, n_items + 1))
    dense[:n_items, :n_items] = -(seen * theta_weight[:, None]).T @ seen
    for batch in batches:
        block = -(batch.w * (weight * batch.spread)[:, None, :]) @ batch.w.transpose(0, 2, 1)
        size = batch.items.shape[1]
        block[:, np.arange(size), np.arange(size)] += batch.w @ weight
        dense[batch.items[:, :, None], batch.items[:, None, :]] += block
    diagonal = np.full(n_items + 1, scales.b_precision)
    diagonal[-1] *= n_items
    dense[np.diag_indices_from(dense)] += diagonal
    dense[:n_items, -1] = dense[-1, :n_items] = -scales.b_precision
    return dense


def _solve(
    batches: list[Batch],
    weight: FloatArray,
    seen: FloatArray,
    precision: FloatArray,
    cov: FloatArray,
    for_s: FloatArray,
    for_b: FloatArray,
) -> Point:
    """Solve Hessian x = right-hand side, where theta and u enter through s; one copy of each rater is returned."""
    right_b, right_theta = for_b.copy(), np.zeros(weight.size)
    for batch in batches:
        for_own = for_s[batch.testlets]
        right_b[batch.items] += np.einsum("gjr,gr->gj", batch.w, weight * batch.spread * for_own)
        right_theta += np.sum(batch.kept * for_own, axis=0)
    right_b += (weight * right_theta / precision) @ seen
    solution = cov @ np.append(right_b, 0.0)
    b = solution[:-1]
    theta = (right_theta + seen @ b) / precision
    u = np.zeros(for_s.shape)
    for batch in batches:
        followed = np.einsum("gjr,gj->gr", batch.w, b[batch.items]) - batch.w.sum(axis=1) * theta
        u[batch.testlets] = batch.spread * (for_s[batch.testlets] + followed)
    return Point(theta=theta, u=u, b=b, mean_b=float(solution[-1]))
