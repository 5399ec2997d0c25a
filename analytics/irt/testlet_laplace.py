"""Full information of the penalised testlet model at its mode, eliminated towards the raters.

Holds the exact elimination of the Hessian over (theta, u, b, mean of b) in the order u (diagonal), b by testlet, then
a dense system in theta and the mean: cost n_items * n_raters**2, right when raters are the short side. The other order
is in `testlet_laplace_items`, and for listed cells in `testlet_listed_items`. From it follow standard errors of
everything, the Laplace marginal likelihood and its derivatives in the log standard deviations. Does not hold the
search for the mode.
"""

from dataclasses import dataclass

import numpy as np

from analytics.irt.small_inverse import invert_all
from analytics.irt.testlet_margins import Margins
from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_point import Point, Scales
from analytics.matrix import FloatArray, IntArray

_BATCH_CELLS = 1_000_000  # testlets of one size are worked through together, up to this many cells at a time


@dataclass(frozen=True, slots=True)
class Information:
    """Posterior variances at the mode and what the marginal likelihood takes from them.

    Attributes
    ----------
    var_theta
        Shape (n_raters,).
    var_u
        One for each rater x testlet pair, see `testlet_margins.Pairs`.
    var_b
        Shape (n_items,), packed order; includes the uncertainty of theta, u and the mean of b.
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
    var_mean_b: float
    half_log_determinant: float
    gradient: FloatArray


@dataclass(frozen=True, slots=True)
class Batch:
    """Testlets of equal size after their u are eliminated; arrays are (testlets, items, raters) or as noted.

    Attributes
    ----------
    testlets
        Shape (G,).
    items
        Packed items of each testlet, shape (G, n).
    w, slope
        Information p(1 - p) of each cell, and its derivative in the logit.
    kept
        Share of a testlet's information that is left to theta, shape (G, n_raters).
    spread
        Variance of u given theta and b, shape (G, n_raters).
    """

    testlets: IntArray
    items: IntArray
    w: FloatArray
    slope: FloatArray
    kept: FloatArray
    spread: FloatArray


@dataclass(frozen=True, slots=True)
class _Solved:
    """A batch's item block: its inverse (G, n, n) and its pull on (theta, mean), (G, n, n_raters + 1)."""

    inverse: FloatArray
    to_z: FloatArray


def make_batches(cells: Cells, scales: Scales, point: Point) -> list[Batch]:
    """Cell information at `point`, testlets of equal size together."""
    exp_b, exp_minus_s = np.exp(point.b), np.exp(-point.s)
    sizes, n_raters = np.diff(cells.starts), cells.weight.size
    batches = []
    for size in np.unique(sizes[sizes > 0]):
        same = np.flatnonzero(sizes == size)
        chunks = max(1, -(-same.size * int(size) * n_raters // _BATCH_CELLS))
        for testlets in np.array_split(same, min(chunks, same.size)):
            items = cells.starts[testlets][:, None] + np.arange(size)
            p = 1.0 / (1.0 + exp_b[items][:, :, None] * exp_minus_s[testlets][:, None, :])
            w = p * (1.0 - p)
            if not cells.is_complete:
                w *= cells.observed[items]
            kept = 1.0 / (1.0 + scales.u**2 * w.sum(axis=1))
            batches.append(Batch(testlets, items, w, w * (1.0 - 2.0 * p), kept, scales.u**2 * kept))
    return batches


def information(cells: Cells, scales: Scales, point: Point) -> Information:
    """Eliminate the Hessian at `point`, which must be the mode for the gradient to hold.

    A weight k is k raters with a theta and u each. What b sees of them is the mean of their thetas, which stands in the
    dense system; about it each theta has the variance of its own precision, which no b touches.
    """
    weight, n_raters = cells.weight, cells.weight.size
    batches = make_batches(cells, scales, point)
    solved, dense, log_determinant = eliminate(batches, scales, point, weight)
    cov_z = np.asarray(np.linalg.inv(dense), dtype=np.float64)
    precision = scales.theta_precision + sum(np.sum(batch.w.sum(axis=1) * batch.kept, axis=0) for batch in batches)
    log_determinant += float(np.linalg.slogdet(dense)[1] + (weight - 1.0) @ np.log(precision) - np.sum(np.log(weight)))
    log_determinant += 2.0 * float(weight.sum()) * np.log(scales.theta) + 2.0 * point.b.size * np.log(scales.b)
    var_theta = np.diag(cov_z)[:n_raters] + (1.0 - 1.0 / weight) / precision
    var_u, skew_s = np.zeros(point.u.shape), np.zeros(point.u.shape)
    var_b, var_deviation, skew_b = np.zeros(point.b.size), np.zeros(point.b.size), np.zeros(point.b.size)
    for batch, block in zip(batches, solved, strict=True):
        cross = block.to_z @ cov_z  # covariance of b with (theta, mean)
        cov_b = block.inverse + cross @ block.to_z.transpose(0, 2, 1)
        own_var_b = np.diagonal(cov_b, axis1=1, axis2=2)
        own = batch.w * batch.spread[:, None, :]  # how s follows b
        own_cov = cov_b @ own
        quadratic = np.sum(own * own_cov, axis=1)
        with_theta = np.sum(own * cross[:, :, :n_raters], axis=1)
        kept, lost = batch.kept, 1.0 - batch.kept
        var_s = batch.spread + kept**2 * var_theta + 2.0 * kept * with_theta + quadratic
        var_logit = var_s[:, None, :] + own_var_b[:, :, None]
        var_logit = var_logit - 2.0 * (own_cov + kept[:, None, :] * cross[:, :, :n_raters])
        skew = batch.slope * var_logit
        var_u[batch.testlets] = batch.spread + lost**2 * var_theta - 2.0 * lost * with_theta + quadratic
        var_b[batch.items] = own_var_b
        var_deviation[batch.items] = own_var_b + cov_z[-1, -1] - 2.0 * cross[:, :, -1]
        skew_s[batch.testlets], skew_b[batch.items] = skew.sum(axis=1), -(skew @ weight)
    adjoint = solve_system(batches, solved, cov_z, skew_s, skew_b, weight)
    return Information(
        var_theta=var_theta,
        var_u=var_u,
        var_b=var_b,
        var_mean_b=float(cov_z[-1, -1]),
        half_log_determinant=0.5 * float(log_determinant),
        gradient=marginal_gradient(cells, scales, point, (var_theta, var_deviation, var_u), adjoint),
    )


def marginal_gradient(
    cells: Margins,
    scales: Scales,
    point: Point,
    variances: tuple[FloatArray, FloatArray, FloatArray],
    adjoint: Point,
) -> FloatArray:
    """Differentiate the marginal log-likelihood in log sd of theta, b and u.

    Squares plus variances against their expectation, less what the mode's own movement contributes through the
    log determinant.

    Parameters
    ----------
    cells
        For the weights of raters and of their pairs.
    scales, point
        Standard deviations and the mode.
    variances
        Variances of theta, of b minus its mean, and of u.
    adjoint
        Inverse Hessian times the derivative of the log determinant in the parameters.
    """
    parts = []
    for effect, variance, shift, sd, count in (
        (point.theta, variances[0], adjoint.theta, scales.theta, cells.weight),
        (point.b - point.mean_b, variances[1], adjoint.b - adjoint.mean_b, scales.b, 1.0),
        (point.u, variances[2], adjoint.u, scales.u, cells.pairs.of_rater(cells.weight)),
    ):
        terms = count * (effect**2 + variance - sd**2 - effect * shift)
        parts.append(0.0 if sd == 0 else float(np.sum(terms)) / sd**2)
    return np.array(parts)


def eliminate(
    batches: list[Batch], scales: Scales, point: Point, weight: FloatArray
) -> tuple[list[_Solved], FloatArray, float]:
    """Item blocks of each batch, the dense precision of (theta, mean), and the log determinant so far."""
    n_raters = weight.size
    dense = np.zeros((n_raters + 1, n_raters + 1))
    diagonal = np.append(weight * scales.theta_precision, point.b.size * scales.b_precision)
    solved, log_determinant = [], 0.0
    for batch in batches:
        n_testlets, size, _ = batch.w.shape
        block = -(batch.w * (weight * batch.spread)[:, None, :]) @ batch.w.transpose(0, 2, 1)
        block[:, np.arange(size), np.arange(size)] += batch.w @ weight + scales.b_precision
        inverse, log_of_block = invert_all(block) if scales.u > 0 else _invert_diagonals(block)
        to_mean = np.full((n_testlets, size, 1), scales.b_precision)
        pull = np.concatenate([batch.w * (weight * batch.kept)[:, None, :], to_mean], axis=2)
        to_z = inverse @ pull
        dense -= pull.reshape(-1, n_raters + 1).T @ to_z.reshape(-1, n_raters + 1)
        diagonal[:-1] += weight * np.sum(batch.w.sum(axis=1) * batch.kept, axis=0)
        log_determinant += log_of_block - float(np.sum(np.log(batch.kept) @ weight))
        solved.append(_Solved(inverse, to_z))
    dense[np.diag_indices_from(dense)] += diagonal
    return solved, dense, log_determinant


def _invert_diagonals(blocks: FloatArray) -> tuple[FloatArray, float]:
    """Do as `invert_all` for diagonal matrices, as they are without testlet effects: a testlet may hold every item."""
    diagonals = np.diagonal(blocks, axis1=1, axis2=2)
    inverse, place = np.zeros_like(blocks), np.arange(blocks.shape[1])
    inverse[:, place, place] = 1.0 / diagonals
    return inverse, float(np.sum(np.log(diagonals)))


def solve_system(
    batches: list[Batch],
    solved: list[_Solved],
    cov_z: FloatArray,
    for_s: FloatArray,
    for_b: FloatArray,
    weight: FloatArray,
) -> Point:
    """Solve Hessian x = right-hand side, where theta and u enter through s; `for_s` is per unit of a rater's weight."""
    right, right_b = np.zeros(cov_z.shape[0]), for_b.copy()
    for batch, block in zip(batches, solved, strict=True):
        for_own = for_s[batch.testlets]
        right_b[batch.items] += np.einsum("gjr,gr->gj", batch.w, weight * batch.spread * for_own)
        right[:-1] += weight * np.sum(batch.kept * for_own, axis=0)
        right += np.einsum("gjz,gj->z", block.to_z, right_b[batch.items])
    z = cov_z @ right
    u, b = np.zeros(for_s.shape), np.zeros(for_b.size)
    for batch, block in zip(batches, solved, strict=True):
        own_b = np.einsum("gjk,gk->gj", block.inverse, right_b[batch.items]) + block.to_z @ z
        b[batch.items] = own_b
        followed = np.einsum("gjr,gj->gr", batch.w, own_b) - batch.w.sum(axis=1) * z[:-1]
        u[batch.testlets] = batch.spread * (for_s[batch.testlets] + followed)
    return Point(theta=z[:-1], u=u, b=b, mean_b=float(z[-1]))
