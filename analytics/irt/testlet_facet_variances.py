"""Posterior variances of the testlet model with a model facet, and the derivative of its log determinant.

Holds the compiled loop over testlets that takes them from the eliminated system. With z = (theta, mean of b) and B a
model's block, d = B^-1 p_v b + (B^-1 left) theta + noise of variance B^-1, and u = var_u left'(d - theta) + noise; the
covariances follow from those of z. Does not hold the elimination (`testlet_facet_blocks`).
"""

from itertools import pairwise
from typing import NamedTuple

import numba
import numpy as np

from analytics.irt.testlet_facet_blocks import Blocks
from analytics.irt.vector_math import FAST
from analytics.matrix import FloatArray


class Spread(NamedTuple):
    """Variances by testlet and item, and the derivative of the log determinant.

    Attributes
    ----------
    u, b, deviation, v
        Variances of u, shape (n_testlets, n_raters), b, b less its mean, shape (n_items,), and v = d - b, shape
        (n_items, n_models).
    skew_s, skew_d
        Derivative of the log determinant in theta + u, shape (n_testlets, n_raters), and d, shape (n_items, n_models).
    """

    u: FloatArray
    b: FloatArray
    deviation: FloatArray
    v: FloatArray
    skew_s: FloatArray
    skew_d: FloatArray


def spread(blocks: Blocks, p: FloatArray, cov_z: FloatArray, shape_u: tuple[int, ...], n_items: int) -> Spread:
    """Return the variances where `blocks` were eliminated at probabilities `p` and cov_z is the covariance of z."""
    shape_d = (n_items, blocks.edges.size - 1)
    out = Spread(
        u=np.empty(shape_u),
        b=np.empty(n_items),
        deviation=np.empty(n_items),
        v=np.empty(shape_d),
        skew_s=np.zeros(shape_u),
        skew_d=np.zeros(shape_d),
    )
    theta_cov = np.empty(p.shape)
    for low, high in pairwise(blocks.edges):
        theta_cov[:, low:high] = blocks.to_theta[:, low:high] @ cov_z[low:high, low:high]
    widest = int(np.diff(blocks.edges).max())
    _spread(blocks, p, cov_z, blocks.half @ cov_z, theta_cov, widest, out)
    return out


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _spread(
    blocks: Blocks,
    p: FloatArray,
    cov_z: FloatArray,
    half_cov: FloatArray,
    theta_cov: FloatArray,
    widest: int,
    out: Spread,
) -> None:
    """Write the variances, given `half` and, for raters of the same model, `to_theta` times the covariance of theta.

    `widest` is the largest number of raters of a model.
    """
    starts, edges, var_u, p_v, _, kept, left, diagonal, factor, to_theta, root_b, half = blocks
    n_raters, largest = p.shape[1], root_b.shape[1]
    # x_y is the covariance of x with y, in a testlet; of theta and u, and of what d owes to theta, only a model's own
    b_z = np.empty((largest, n_raters + 1))
    within, cov_b, inverse = np.empty((largest, largest)), np.empty((largest, largest)), np.empty((largest, largest))
    b_d, from_theta = np.empty((largest, largest)), np.empty((largest, largest))
    follow, own_left = np.empty((widest, largest)), np.empty((widest, largest))
    d_z, d_u = np.empty((widest, largest)), np.empty((widest, largest))
    b_theta, var_d = np.empty((widest, largest)), np.empty(largest)
    for t in range(starts.size - 1):
        first, n = starts[t], starts[t + 1] - starts[t]
        for j in range(n):
            b_z[j] = 0.0
            for k in range(j, n):
                for i in range(n_raters + 1):
                    b_z[j, i] += root_b[first + k, j] * half_cov[first + k, i]
        for j in range(n):  # b_z half' + R', whose product with R is the covariance of b
            for k in range(n):
                total = root_b[first + k, j] if k >= j else 0.0
                for i in range(n_raters + 1):
                    total += b_z[j, i] * half[first + k, i]
                within[j, k] = total
        for j in range(n):
            cov_b[j, :n] = 0.0
            for h in range(n):
                for k in range(h + 1):
                    cov_b[j, k] += within[j, h] * root_b[first + h, k]
            out.b[first + j] = cov_b[j, j]
            out.deviation[first + j] = cov_b[j, j] + cov_z[n_raters, n_raters] - 2.0 * b_z[j, n_raters]
        for m in range(edges.size - 1):
            low, width = edges[m], edges[m + 1] - edges[m]
            inverse[:n, :n] = 0.0
            for j in range(n):
                inverse[j, j] = diagonal[first + j, m]
            for a in range(width):
                i = low + a
                for j in range(n):
                    follow[a, j], own_left[a, j] = to_theta[first + j, i], left[first + j, i]
                    b_theta[a, j], d_z[a, j] = b_z[j, i], factor[first + j, i]
                if a < n:
                    for j in range(n):
                        scaled = d_z[a, j]
                        for k in range(n):
                            inverse[j, k] += scaled * d_z[a, k]
            for k in range(n):
                b_d[k, :n] = 0.0
                for h in range(n):
                    scaled = p_v * cov_b[k, h]
                    for j in range(n):
                        b_d[k, j] += scaled * inverse[h, j]
                for a in range(width):
                    for j in range(n):
                        b_d[k, j] += b_theta[a, k] * follow[a, j]
            for j in range(n):
                var_d[j] = inverse[j, j]
            for k in range(n):
                for j in range(n):
                    var_d[j] += p_v * b_d[k, j] * inverse[k, j]
            from_theta[:n, :n] = 0.0
            for a in range(width):
                d_z[a, :n] = 0.0
                for k in range(n):
                    scaled = p_v * b_theta[a, k]
                    for j in range(n):
                        d_z[a, j] += scaled * inverse[k, j]
                for j in range(n):
                    d_z[a, j] += theta_cov[first + j, low + a]
                    var_d[j] += d_z[a, j] * follow[a, j]
                for k in range(n):
                    for j in range(n):
                        from_theta[k, j] += follow[a, k] * d_z[a, j]
            for j in range(n):
                out.v[first + j, m] = var_d[j] + cov_b[j, j] - 2.0 * b_d[j, j]
            for a in range(width):
                i = low + a
                for j in range(n):  # covariance of d with var_u left'd
                    d_u[a, j] = var_u * follow[a, j]
                for k in range(n):
                    by_b, by_theta = var_u * p_v * follow[a, k], var_u * own_left[a, k]
                    for j in range(n):
                        d_u[a, j] += by_b * b_d[k, j] + by_theta * from_theta[k, j]
                quadratic, mixed = 0.0, 0.0
                for j in range(n):
                    quadratic += var_u * own_left[a, j] * d_u[a, j]
                    mixed += var_u * own_left[a, j] * d_z[a, j]
                own_kept, lost = kept[t, i], 1.0 - kept[t, i]
                own_spread, var_theta = var_u * own_kept, cov_z[i, i]
                out.u[t, i] = own_spread + lost**2 * var_theta - 2.0 * lost * mixed + quadratic
                var_s = own_spread + own_kept**2 * var_theta + 2.0 * own_kept * mixed + quadratic
                of_s = 0.0
                for j in range(n):
                    one = p[first + j, i]
                    skew = one * (1.0 - one) * (1.0 - 2.0 * one)
                    skew *= var_s + var_d[j] - 2.0 * (d_u[a, j] + own_kept * d_z[a, j])
                    of_s += skew
                    out.skew_d[first + j, m] -= skew
                out.skew_s[t, i] = of_s
