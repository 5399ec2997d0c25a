"""Compiled loops over the testlets of the model with a model facet: elimination and substitution.

Holds what `testlet_facet_system` does testlet by testlet. There a model's difficulties d of the testlet's items have
the block B = diag(D) - W S W' (D the prior's precision plus information, W information by item and rater, S the
variances of u), and B^-1 is held as diag(e) + A A', A as narrow as the model's raters or the items are few. Raters of
one model stand side by side. Does not hold the dense system or the variances (`testlet_facet_variances`).
"""

from typing import NamedTuple

import numba
import numpy as np

from analytics.irt.small_inverse import invert_root
from analytics.irt.vector_math import FAST
from analytics.matrix import FloatArray, IntArray


class Blocks(NamedTuple):
    """The testlets' part of a system, raters in the order of their models.

    Attributes
    ----------
    starts, edges
        First item of each testlet, first rater of each model, and the ends.
    var_u, p_v, p_b
        Variance of u, precisions of v and b.
    kept
        Share of a testlet's information that u leaves to theta, shape (n_testlets, n_raters).
    left
        Information of each cell times that share, shape (n_items, n_raters).
    diagonal, factor
        e, shape (n_items, n_models), and A, shape (n_items, n_raters): in the first columns of a model, the rest 0.
    to_theta
        B^-1 left, how d follows theta, shape (n_items, n_raters).
    root_b
        R of the block of b, whose inverse is R'R, in the first columns of shape (n_items, largest testlet).
    half
        R times the pull of (theta, mean of b) on b, shape (n_items, n_raters + 1).
    """

    starts: IntArray
    edges: IntArray
    var_u: float
    p_v: float
    p_b: float
    kept: FloatArray
    left: FloatArray
    diagonal: FloatArray
    factor: FloatArray
    to_theta: FloatArray
    root_b: FloatArray
    half: FloatArray


def empty_blocks(starts: IntArray, edges: IntArray, var_u: float, p_v: float, p_b: float) -> Blocks:
    """Room for what `eliminate` writes."""
    n_items, n_raters = int(starts[-1]), int(edges[-1])
    cells = (n_items, n_raters)
    return Blocks(
        starts, edges, var_u, p_v, p_b,
        kept=np.empty((starts.size - 1, n_raters)),
        left=np.empty(cells),
        diagonal=np.empty((n_items, edges.size - 1)),
        factor=np.empty(cells),
        to_theta=np.empty(cells),
        root_b=np.empty((n_items, int(np.diff(starts).max()))),
        half=np.empty((n_items, n_raters + 1)),
    )  # fmt: skip


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def eliminate(blocks: Blocks, p: FloatArray) -> float:
    """Eliminate u, d and b of every testlet: fill `blocks` and return the log determinants.

    Parameters
    ----------
    blocks
        Of `empty_blocks`.
    p
        Probabilities, 0 where missing, shape (n_items, n_raters).
    """
    starts, edges, var_u, p_v, p_b, kept, left, diagonal, factor, to_theta, root_b, half = blocks
    n_raters, n_models, largest = p.shape[1], edges.size - 1, root_b.shape[1]
    w, kept_w = np.empty((n_raters, largest)), np.empty((n_raters, largest))
    total, rows, columns = np.empty(largest), np.empty((largest, largest)), np.empty((largest, largest))
    core, root, items = np.empty((largest, largest)), np.empty((largest, largest)), np.empty((largest, largest))
    log_determinant = 0.0
    for t in range(starts.size - 1):
        first, n = starts[t], starts[t + 1] - starts[t]
        for i in range(n_raters):
            information = 0.0
            for j in range(n):
                w[i, j] = p[first + j, i] * (1.0 - p[first + j, i])
                information += w[i, j]
            kept[t, i] = 1.0 / (1.0 + var_u * information)
            log_determinant -= np.log(kept[t, i])
            for j in range(n):
                kept_w[i, j] = kept[t, i] * w[i, j]
        for m in range(n_models):
            low, high = edges[m], edges[m + 1]
            width = min(high - low, n)
            total[:n] = p_v
            for i in range(low, high):
                for j in range(n):
                    total[j] += w[i, j]
            if width < n:  # Woodbury's identity: a matrix as small as the raters are few
                for j in range(n):
                    log_determinant += np.log(total[j])
                    diagonal[first + j, m] = 1.0 / total[j]
                for a in range(width):
                    root_spread = np.sqrt(var_u * kept[t, low + a])
                    for j in range(n):
                        columns[a, j] = root_spread * w[low + a, j]
                        rows[a, j] = columns[a, j] / total[j]
                    for c in range(a + 1):
                        product = 0.0
                        for j in range(n):
                            product += rows[a, j] * columns[c, j]
                        core[a, c] = (1.0 if a == c else 0.0) - product
            else:
                for j in range(n):
                    diagonal[first + j, m] = 0.0
                    for k in range(n):
                        rows[j, k] = 1.0 if j == k else 0.0
                        core[j, k] = total[j] if j == k else 0.0
                for i in range(low, high):
                    for j in range(n):
                        for k in range(j + 1):
                            core[j, k] -= var_u * kept_w[i, j] * w[i, k]
            log_determinant += invert_root(core, width, root)
            for a in range(width):
                columns[a, :n] = 0.0
                for c in range(a + 1):
                    for j in range(n):
                        columns[a, j] += root[a, c] * rows[c, j]
            for i in range(low, high):
                for j in range(n):
                    total[j] = diagonal[first + j, m] * kept_w[i, j]
                for a in range(width):
                    product = 0.0
                    for j in range(n):
                        product += columns[a, j] * kept_w[i, j]
                    for j in range(n):
                        total[j] += product * columns[a, j]
                for j in range(n):
                    to_theta[first + j, i] = total[j]
                    left[first + j, i] = kept_w[i, j]
                    factor[first + j, i] = columns[i - low, j] if i - low < width else 0.0
        for j in range(n):
            for k in range(j + 1):
                product = 0.0
                for i in range(n_raters):
                    product += factor[first + j, i] * factor[first + k, i]
                items[j, k] = -(p_v**2) * product
            items[j, j] += p_b + p_v * (n_models - p_v * np.sum(diagonal[first + j]))
        log_determinant += invert_root(items, n, root)
        for j in range(n):
            pulled = half[first + j]
            pulled[:] = 0.0
            for k in range(j + 1):
                root_b[first + j, k] = root[j, k]
                scaled = p_v * root[j, k]
                for i in range(n_raters):
                    pulled[i] += scaled * to_theta[first + k, i]
                pulled[n_raters] += p_b * root[j, k]
    return log_determinant


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def substitute_forward(
    blocks: Blocks, right_theta: FloatArray, right_u: FloatArray, right_d: FloatArray, right_b: FloatArray
) -> None:
    """Take u, d and b out of a right-hand side, which is overwritten; what is left of b is R times it."""
    starts, edges, var_u, p_v, _, _, left, diagonal, factor, to_theta, root_b, _ = blocks
    n_raters, n_models = factor.shape[1], edges.size - 1
    x, along = np.empty(root_b.shape[1]), np.empty(n_raters)
    out = np.empty(n_models)
    for t in range(starts.size - 1):
        first, last = starts[t], starts[t + 1]
        along[:] = 0.0
        for j in range(first, last):
            for m in range(n_models):
                own = right_d[j, m]
                for i in range(edges[m], edges[m + 1]):
                    from_u = var_u * left[j, i] * right_u[t, i]
                    own += from_u
                    right_theta[i] -= from_u
                right_d[j, m] = own
                for i in range(edges[m], edges[m + 1]):
                    right_theta[i] += to_theta[j, i] * own
                    along[i] += factor[j, i] * own
        for j in range(first, last):
            _inverse_times(edges, diagonal[j], factor[j], right_d[j], along, out)
            x[j - first] = right_b[j] + p_v * np.sum(out)
        for j in range(first, last):
            total = 0.0
            for k in range(j - first + 1):
                total += root_b[j, k] * x[k]
            right_b[j] = total


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def substitute_back(blocks: Blocks, theta: FloatArray, u: FloatArray, d: FloatArray, b: FloatArray) -> None:
    """Put theta, and b before its R', into what the forward substitution left; u, d and b are overwritten."""
    starts, edges, var_u, p_v, _, kept, left, diagonal, factor, to_theta, root_b, _ = blocks
    n_raters, n_models = factor.shape[1], edges.size - 1
    x, along, own = np.empty(root_b.shape[1]), np.empty(n_raters), np.empty(n_models)
    for t in range(starts.size - 1):
        first, last = starts[t], starts[t + 1]
        x[:] = 0.0
        for j in range(first, last):
            for k in range(j - first + 1):
                x[k] += root_b[j, k] * b[j]
        along[:] = 0.0
        for j in range(first, last):
            b[j] = x[j - first]
            for m in range(n_models):
                d[j, m] += p_v * b[j]
                pulled = d[j, m]
                for i in range(edges[m], edges[m + 1]):
                    along[i] += factor[j, i] * pulled
        for i in range(n_raters):
            u[t, i] *= kept[t, i]
        for j in range(first, last):
            _inverse_times(edges, diagonal[j], factor[j], d[j], along, own)
            for m in range(n_models):
                total = own[m]
                for i in range(edges[m], edges[m + 1]):
                    total += to_theta[j, i] * theta[i]
                d[j, m] = total
                for i in range(edges[m], edges[m + 1]):
                    u[t, i] += left[j, i] * (total - theta[i])
        for i in range(n_raters):
            u[t, i] *= var_u


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _inverse_times(
    edges: IntArray, diagonal: FloatArray, factor: FloatArray, x: FloatArray, along: FloatArray, out: FloatArray
) -> None:
    """Write an item's row of B^-1 x for each model, with A'x at hand for each rater."""
    for m in range(edges.size - 1):
        total = diagonal[m] * x[m]
        for i in range(edges[m], edges[m + 1]):
            total += factor[i] * along[i]
        out[m] = total
