"""The linear algebra of the testlet model with a model facet: elimination, solution, variances.

Holds one Newton system of logit P = theta_i + u_it - d_jm, where d_jm ~ N(b_j, sd_v^2) is item j's difficulty for
model m of rater i. The order of elimination is u, then d by testlet and model, then b by testlet, then a dense system
in theta and the mean of b. Does not hold the iteration or the choice of the standard deviations (`testlet_facet`).
"""

from dataclasses import dataclass

import numpy as np

from analytics.irt.small_inverse import invert_all
from analytics.irt.testlet_laplace import Batch
from analytics.matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class FacetScales:
    """Standard deviations of theta, b, u and v; `u` may be 0."""

    theta: float
    b: float
    u: float
    v: float


@dataclass(frozen=True, slots=True)
class FacetPoint:
    """A point of the parameter space, or a direction in it, items in packed order.

    Attributes
    ----------
    theta
        Shape (n_raters,).
    u
        Shape (n_testlets, n_raters).
    d
        Difficulty of each item for each model, shape (n_items, n_models).
    b
        Difficulty, shape (n_items,).
    mean_b
        Mean of b.
    """

    theta: FloatArray
    u: FloatArray
    d: FloatArray
    b: FloatArray
    mean_b: float


@dataclass(frozen=True, slots=True)
class _Block:
    """A batch after elimination: per model the inverse of d's block and its pull on theta; then b's.

    `inverse_d` and `to_theta` are lists over models, of shapes (G, n, n) and (G, n, raters of the model).
    """

    inverse_d: list[FloatArray]
    to_theta: list[FloatArray]
    inverse_b: FloatArray
    to_z: FloatArray


class FacetSystem:
    """The eliminated Hessian at a point.

    Parameters
    ----------
    batches
        Cell information, testlets of equal size together; see `testlet_laplace.Batch`.
    scales
        Standard deviations.
    members
        Rater indices of each model.
    n_items
        Number of items.
    """

    def __init__(self, batches: list[Batch], scales: FacetScales, members: list[IntArray], n_items: int) -> None:
        self._batches, self._scales, self._members = batches, scales, members
        n_raters = sum(own.size for own in members)
        dense = np.zeros((n_raters + 1, n_raters + 1))
        diagonal = np.full(n_raters + 1, scales.theta**-2)
        diagonal[-1] = n_items * scales.b**-2
        self._blocks: list[_Block] = []
        log_determinant = 2.0 * n_raters * np.log(scales.theta) + 2.0 * n_items * np.log(scales.b)
        log_determinant += 2.0 * n_items * len(members) * np.log(scales.v)
        for batch in batches:
            block, part = self._eliminate(batch, dense)
            self._blocks.append(block)
            log_determinant += part
            diagonal[:-1] += np.sum(batch.w.sum(axis=1) * batch.kept, axis=0)
        dense[np.diag_indices_from(dense)] += diagonal
        self.cov_z: FloatArray = np.asarray(np.linalg.inv(dense), dtype=np.float64)
        self.half_log_determinant = 0.5 * (log_determinant + float(np.linalg.slogdet(dense)[1]))

    def _eliminate(self, batch: Batch, dense: FloatArray) -> tuple[_Block, float]:
        n_testlets, size, n_raters = batch.w.shape
        p_v, p_b = self._scales.v**-2, self._scales.b**-2
        diagonal = np.arange(size)
        items = np.zeros((n_testlets, size, size))
        items[:, diagonal, diagonal] = p_b + len(self._members) * p_v
        pull = np.zeros((n_testlets, size, n_raters + 1))
        pull[:, :, -1] = p_b
        log_determinant = -float(np.sum(np.log(batch.kept)))
        inverses, to_thetas = [], []
        for own in self._members:
            w, kept, spread = batch.w[:, :, own], batch.kept[:, None, own], batch.spread[:, None, own]
            inverse, log_of_block = _invert(w.sum(axis=2) + p_v, w * np.sqrt(spread))
            to_theta = inverse @ (w * kept)
            items -= p_v**2 * inverse
            pull[:, :, own] = p_v * to_theta
            dense[np.ix_(own, own)] -= np.einsum("gja,gjb->ab", w * kept, to_theta, optimize=True)
            log_determinant += log_of_block
            inverses.append(inverse)
            to_thetas.append(to_theta)
        inverse_b, log_of_items = invert_all(items)
        to_z = inverse_b @ pull
        dense -= pull.reshape(-1, n_raters + 1).T @ to_z.reshape(-1, n_raters + 1)
        return _Block(inverses, to_thetas, inverse_b, to_z), log_determinant + log_of_items

    def solve(self, right: FacetPoint) -> FacetPoint:
        """Solve Hessian x = right-hand side."""
        p_v = self._scales.v**-2
        right_z, right_b, right_d = np.append(right.theta, right.mean_b), right.b.copy(), right.d.copy()
        for batch, block in zip(self._batches, self._blocks, strict=True):
            from_u = batch.spread * right.u[batch.testlets]
            right_z[:-1] -= np.sum(batch.w.sum(axis=1) * from_u, axis=0)
            for m, own in enumerate(self._members):
                own_right = right_d[batch.items, m] + np.einsum("gjr,gr->gj", batch.w[:, :, own], from_u[:, own])
                right_d[batch.items, m] = own_right
                right_z[own] += np.einsum("gjr,gj->r", block.to_theta[m], own_right)
                right_b[batch.items] += p_v * np.einsum("gjk,gk->gj", block.inverse_d[m], own_right)
            right_z += np.einsum("gjz,gj->z", block.to_z, right_b[batch.items])
        z = self.cov_z @ right_z
        b, d, u = np.zeros(right_b.shape), np.zeros(right_d.shape), np.zeros(right.u.shape)
        for batch, block in zip(self._batches, self._blocks, strict=True):
            b[batch.items] = np.einsum("gjk,gk->gj", block.inverse_b, right_b[batch.items]) + block.to_z @ z
            followed = right.u[batch.testlets] - batch.w.sum(axis=1) * z[:-1]
            for m, own in enumerate(self._members):
                pulled = right_d[batch.items, m] + p_v * b[batch.items]
                own_d = np.einsum("gjk,gk->gj", block.inverse_d[m], pulled) + block.to_theta[m] @ z[own]
                d[batch.items, m] = own_d
                followed[:, own] += np.einsum("gjr,gj->gr", batch.w[:, :, own], own_d)
            u[batch.testlets] = batch.spread * followed
        return FacetPoint(theta=z[:-1], u=u, d=d, b=b, mean_b=float(z[-1]))

    def variances(self, shape_u: tuple[int, ...], n_items: int) -> tuple[FacetPoint, FacetPoint, FloatArray]:
        """Posterior variances, and the derivative of the log determinant in the parameters.

        Returns
        -------
        tuple
            Variances of theta, u, v = d - b (in place of d), b less its mean (in place of b) and the mean; the
            derivative of log det; the variance of b itself, shape (n_items,).
        """
        n_raters = self.cov_z.shape[0] - 1
        var_theta, var_mean = np.diag(self.cov_z)[:-1].copy(), float(self.cov_z[-1, -1])
        var_u, skew_s = np.zeros(shape_u), np.zeros(shape_u)
        var_b, var_deviation = np.zeros(n_items), np.zeros(n_items)
        var_v, skew_d = np.zeros((n_items, len(self._members))), np.zeros((n_items, len(self._members)))
        p_v = self._scales.v**-2
        for batch, block in zip(self._batches, self._blocks, strict=True):
            b_z = block.to_z @ self.cov_z
            cov_b = block.inverse_b + b_z @ block.to_z.transpose(0, 2, 1)
            own_var_b = np.diagonal(cov_b, axis1=1, axis2=2)
            var_b[batch.items] = own_var_b
            var_deviation[batch.items] = own_var_b + var_mean - 2.0 * b_z[:, :, -1]
            for m, own in enumerate(self._members):
                inverse, to_theta = block.inverse_d[m], block.to_theta[m]
                d_z = p_v * inverse @ b_z[:, :, :n_raters] + to_theta @ self.cov_z[own, :n_raters]
                d_b = p_v * inverse @ cov_b + to_theta @ b_z[:, :, own].transpose(0, 2, 1)
                cov_d = inverse + p_v * d_b @ inverse + d_z[:, :, own] @ to_theta.transpose(0, 2, 1)
                own_var_d, cross = np.diagonal(cov_d, axis1=1, axis2=2), d_z[:, :, own]
                kept, spread = batch.kept[:, own], batch.spread[:, own]
                follow = batch.w[:, :, own] * spread[:, None, :]
                follow_cov = cov_d @ follow
                quadratic, mixed = np.sum(follow * follow_cov, axis=1), np.sum(follow * cross, axis=1)
                lost = 1.0 - kept
                place = np.ix_(batch.testlets, own)
                var_u[place] = spread + lost**2 * var_theta[own] - 2.0 * lost * mixed + quadratic
                var_s = spread + kept**2 * var_theta[own] + 2.0 * kept * mixed + quadratic
                var_logit = var_s[:, None, :] + own_var_d[:, :, None] - 2.0 * (follow_cov + kept[:, None, :] * cross)
                skew = batch.slope[:, :, own] * var_logit
                skew_s[place], skew_d[batch.items, m] = skew.sum(axis=1), -skew.sum(axis=2)
                var_v[batch.items, m] = own_var_d + own_var_b - 2.0 * np.diagonal(d_b, axis1=1, axis2=2)
        variances = FacetPoint(theta=var_theta, u=var_u, d=var_v, b=var_deviation, mean_b=var_mean)
        slope = FacetPoint(theta=skew_s.sum(axis=0), u=skew_s, d=skew_d, b=np.zeros(n_items), mean_b=0.0)
        return variances, slope, var_b


def _invert(diagonal: FloatArray, factor: FloatArray) -> tuple[FloatArray, float]:
    """Invert diag(d) - F F' of each testlet; also the sum of the log determinants.

    Few raters of a model make F narrow, and the inverse is then that of a small matrix (Woodbury's identity).

    Parameters
    ----------
    diagonal, factor
        d, shape (n_testlets, n_items), and F, shape (n_testlets, n_items, n_raters).
    """
    size = np.arange(diagonal.shape[1])
    if factor.shape[2] >= factor.shape[1]:
        block = -factor @ factor.transpose(0, 2, 1)
        block[:, size, size] += diagonal
        return invert_all(block)
    scaled = factor / diagonal[:, :, None]
    core = np.eye(factor.shape[2]) - factor.transpose(0, 2, 1) @ scaled
    inverse_core, log_of_core = invert_all(core)
    inverse = scaled @ inverse_core @ scaled.transpose(0, 2, 1)
    inverse[:, size, size] += 1.0 / diagonal
    return np.asarray(inverse, dtype=np.float64), float(np.log(diagonal).sum()) + log_of_core
