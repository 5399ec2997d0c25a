"""Full information of the penalised testlet model where the observed cells are listed, eliminated towards the items.

Holds the elimination of `testlet_laplace_items`, rater by rater on the cells that the rater has: u, then theta, then a
dense system in b and the mean. Memory: the observed cells and n_items**2; time: the squares of the raters' counts.
"""

from typing import NamedTuple

import numba
import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dpotri

from analytics.irt.testlet_laplace import Information, marginal_gradient
from analytics.irt.testlet_listed import ListedCells
from analytics.irt.testlet_point import Point, Scales
from analytics.matrix import FloatArray, IntArray


class _Lists(NamedTuple):
    """What the loops over raters read: the lists of `ListedCells`, and what is known at the point.

    Attributes
    ----------
    rater_starts, pair_starts, item, weight
        As in `ListedCells`.
    w
        Information of each cell.
    kept, spread
        Share of a pair's information that is left to theta, and variance of its u given theta and b.
    precision
        Precision of each theta given b.
    """

    rater_starts: IntArray
    pair_starts: IntArray
    item: IntArray
    weight: FloatArray
    w: FloatArray
    kept: FloatArray
    spread: FloatArray
    precision: FloatArray


def information_of_listed(cells: ListedCells, scales: Scales, point: Point) -> Information:
    """Eliminate the Hessian at `point`, which must be the mode for the gradient to hold."""
    weight, pairs, n_items = cells.weight, cells.pairs, point.b.size
    logit = np.repeat(pairs.of_rater(point.theta) + point.u, _sizes(cells)) - point.b[cells.item]
    p = 1.0 / (1.0 + np.exp(-logit))
    w = p * (1.0 - p)
    info = np.add.reduceat(w, cells.pair_starts[:-1])
    kept = 1.0 / (1.0 + scales.u**2 * info)
    spread = scales.u**2 * kept
    precision = scales.theta_precision + pairs.by_rater(info * kept)
    lists = _Lists(cells.rater_starts, cells.pair_starts, cells.item, weight, w, kept, spread, precision)
    dense = np.zeros((n_items + 1, n_items + 1))
    _add_raters(lists, dense)
    diagonal = np.append(np.full(n_items, scales.b_precision), n_items * scales.b_precision)
    dense[np.diag_indices_from(dense)] += diagonal
    dense[:n_items, -1] = dense[-1, :n_items] = -scales.b_precision
    cov, log_determinant = _invert(dense)
    log_determinant += 2.0 * n_items * np.log(scales.b) + float(weight @ np.log(precision * scales.theta**2))
    log_determinant -= float(pairs.of_rater(weight) @ np.log(kept))
    var_theta, var_u, skew_s = np.empty(weight.size), np.empty(kept.size), np.empty(kept.size)
    skew_b = np.zeros(n_items)
    _spread(lists, w * (1.0 - 2.0 * p), cov, var_theta, var_u, skew_s, skew_b)
    own_b = np.diag(cov)[:n_items].copy()
    var_deviation = own_b + cov[-1, -1] - 2.0 * cov[:n_items, -1]
    right_theta = pairs.by_rater(kept * skew_s)
    through = pairs.of_rater(weight) * (kept * pairs.of_rater(right_theta / precision) + spread * skew_s)
    right_b = skew_b + np.bincount(cells.item, w * np.repeat(through, _sizes(cells)), n_items)
    solution = cov @ np.append(right_b, 0.0)
    followed = np.add.reduceat(w * solution[cells.item], cells.pair_starts[:-1])
    theta = (right_theta + pairs.by_rater(kept * followed)) / precision
    u = spread * (skew_s + followed - info * pairs.of_rater(theta))
    adjoint = Point(theta=theta, u=u, b=solution[:-1], mean_b=float(solution[-1]))
    return Information(
        var_theta=var_theta,
        var_u=var_u,
        var_b=own_b,
        var_mean_b=float(cov[-1, -1]),
        half_log_determinant=0.5 * log_determinant,
        gradient=marginal_gradient(cells, scales, point, (var_theta, var_deviation, var_u), adjoint),
    )


def _sizes(cells: ListedCells) -> IntArray:
    return np.diff(cells.pair_starts)


def _invert(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverse of a positive definite matrix, made in its place, and its log determinant."""
    factor = cholesky(matrix.T, lower=True, overwrite_a=True)  # transposed: LAPACK's order of memory
    log_determinant = 2.0 * float(np.sum(np.log(np.diag(factor))))
    inverse, _ = dpotri(factor, lower=True, overwrite_c=True)
    inverse = inverse.T  # its upper triangle is the inverse
    for row in range(len(inverse)):
        inverse[row + 1 :, row] = inverse[row, row + 1 :]
    return inverse, log_determinant


@numba.njit(cache=True, error_model="numpy")
def _add_raters(lists: _Lists, dense: FloatArray) -> None:
    """Add what each rater tells of its items once its u and theta are eliminated."""
    rater_starts, pair_starts, item, weight, w, kept, spread, precision = lists
    for i in range(weight.size):
        for p in range(rater_starts[i], rater_starts[i + 1]):
            for c in range(pair_starts[p], pair_starts[p + 1]):
                dense[item[c], item[c]] += weight[i] * w[c]
                for other in range(pair_starts[p], pair_starts[p + 1]):
                    dense[item[c], item[other]] -= weight[i] * spread[p] * w[c] * w[other]
                through = weight[i] * kept[p] * w[c] / precision[i]
                for q in range(rater_starts[i], rater_starts[i + 1]):
                    for other in range(pair_starts[q], pair_starts[q + 1]):
                        dense[item[c], item[other]] -= through * kept[q] * w[other]


@numba.njit(cache=True, error_model="numpy")
def _spread(
    lists: _Lists,
    slope: FloatArray,
    cov: FloatArray,
    var_theta: FloatArray,
    var_u: FloatArray,
    skew_s: FloatArray,
    skew_b: FloatArray,
) -> None:
    """Write the variances of theta and u, and the derivatives of the log determinant in s and b.

    `slope` is the derivative of each cell's information in its logit.
    """
    rater_starts, pair_starts, item, weight, w, kept, spread, precision = lists
    for i in range(weight.size):
        first, last = pair_starts[rater_starts[i]], pair_starts[rater_starts[i + 1]]
        theta_b, own_cov = np.zeros(last - first), np.zeros(last - first)  # covariance of b with theta and with own u
        followed = 0.0
        for p in range(rater_starts[i], rater_starts[i + 1]):
            for c in range(pair_starts[p], pair_starts[p + 1]):
                for q in range(rater_starts[i], rater_starts[i + 1]):
                    total = 0.0
                    for other in range(pair_starts[q], pair_starts[q + 1]):
                        total += w[other] * cov[item[c], item[other]]
                    theta_b[c - first] += kept[q] * total
                    if q == p:
                        own_cov[c - first] = spread[p] * total
                followed += kept[p] * w[c] * theta_b[c - first]
        var_theta[i] = 1.0 / precision[i] + followed / precision[i] ** 2
        for p in range(rater_starts[i], rater_starts[i + 1]):
            quadratic, mixed = 0.0, 0.0
            for c in range(pair_starts[p], pair_starts[p + 1]):
                quadratic += spread[p] * w[c] * own_cov[c - first]
                mixed += spread[p] * w[c] * theta_b[c - first]
            lost, through = 1.0 - kept[p], kept[p] / precision[i]
            var_u[p] = spread[p] + lost**2 * var_theta[i] - 2.0 * lost / precision[i] * mixed + quadratic
            var_s = spread[p] + kept[p] * through + through**2 * followed + 2.0 * through * mixed + quadratic
            skew_s[p] = 0.0
            for c in range(pair_starts[p], pair_starts[p + 1]):
                var_logit = var_s + cov[item[c], item[c]] - 2.0 * (own_cov[c - first] + through * theta_b[c - first])
                skew_s[p] += slope[c] * var_logit
                skew_b[item[c]] -= weight[i] * slope[c] * var_logit
