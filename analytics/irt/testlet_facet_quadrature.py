"""The items of the model facet integrated by quadrature: what Laplace's method misses in their standard deviations.

Holds the difference, item by item, between the integral over an item's b and v at given abilities and its Laplace
approximation, with its derivatives. A model often has two or three raters, whose answers to an item are two or three
bits about v: there the expansion at the mode is poor, and sd_v comes out too small by a third to two thirds. Abilities
rest on many items and stay with Laplace's method (`testlet_facet_system`). Does not hold the search
(`testlet_facet_search`).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from analytics.irt.testlet_cells import over_testlets
from analytics.irt.testlet_facet_cells import pass_cells
from analytics.irt.testlet_facet_point import FacetPoint, FacetScales
from analytics.irt.vector_math import FAST, vector_exp
from analytics.matrix import FloatArray, IntArray

_NODES_B, _NODES_V = 11, 8  # adaptive: around the mode, as wide as the curvature there says


@dataclass(frozen=True, slots=True)
class ItemCorrection:
    """Exact less Laplace, all items together.

    Attributes
    ----------
    value
        What to add to the Laplace marginal log-likelihood.
    slope
        Derivative of `value` in theta, u, d and the mean of b; that in b is 0 at the mode.
    for_b, for_v
        Derivative of `value` in log sd of b and of v, the point held.
    """

    value: float
    slope: FacetPoint
    for_b: float
    for_v: float


class _Nodes(NamedTuple):
    """Nodes of v by nodes of b, flat, shape (_NODES_V * _NODES_B,), and logs of weights over the normal density."""

    b: FloatArray
    log_b: FloatArray
    v: FloatArray
    log_v: FloatArray


class _Items(NamedTuple):
    """Exact less Laplace of each item; mean_b, square_b and square_v are sums of first and second moments.

    Shapes (n_items,), but `by_cell`, the derivative in theta + u, (n_items, n_raters), `by_model`, that in d,
    (n_items, n_models).
    """

    value: FloatArray
    by_cell: FloatArray
    by_model: FloatArray
    mean_b: FloatArray
    square_b: FloatArray
    square_v: FloatArray


def correct_items(
    right: FloatArray, seen: FloatArray, model: IntArray, starts: IntArray, scales: FacetScales, point: FacetPoint
) -> ItemCorrection:
    """Integrate over b and, for each of its nodes, over the v of each model.

    Parameters
    ----------
    right, seen
        1 where right, and where observed, shape (n_items, n_raters), items packed by testlet.
    model
        Model of each rater, codes from 0, shape (n_raters,).
    starts
        First item of each testlet and the end.
    scales, point
        Standard deviations, and the mode for them.
    """
    cells = pass_cells(right, seen, model, starts, point)
    s = np.repeat(point.theta + point.u, np.diff(starts), axis=0)
    p_b, p_v = scales.b**-2, scales.v**-2
    found = _Items(cells.log_likelihood, np.empty(s.shape), np.empty(point.d.shape), *np.empty((3, len(s))))
    by_model, edges = np.argsort(model, kind="stable"), np.append(0, np.cumsum(np.bincount(model)))
    nodes = _nodes()

    def run(first: int, last: int) -> None:
        at = (cells.p, s, point.b, point.d, point.mean_b)
        _integrate(first, last, nodes, by_model, edges, right, seen, *at, p_b, p_v, found)

    over_testlets(run, len(right), right.size * _NODES_B)
    filled = np.flatnonzero(np.diff(starts))
    by_testlet = np.zeros(point.u.shape)
    by_testlet[filled] = np.add.reduceat(found.by_cell, starts[filled], axis=0)
    theta, no_b, mean_b = by_testlet.sum(axis=0), np.zeros(point.b.size), p_b * float(np.sum(found.mean_b))
    return ItemCorrection(
        value=float(np.sum(found.value)),
        slope=FacetPoint(theta=theta, u=by_testlet, d=found.by_model, b=no_b, mean_b=mean_b),
        for_b=p_b * float(np.sum(found.square_b)),
        for_v=p_v * float(np.sum(found.square_v)),
    )


def _nodes() -> _Nodes:
    """Gauss-Hermite nodes: those of b for the first of v, then for the next."""
    (b, log_b), (v, log_v) = _rule(_NODES_B), _rule(_NODES_V)
    return _Nodes(np.tile(b, _NODES_V), np.tile(log_b, _NODES_V), np.repeat(v, _NODES_B), np.repeat(log_v, _NODES_B))


def _rule(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, np.log(weights / weights.sum()) + nodes**2 / 2.0


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _integrate(
    first: int,
    last: int,
    nodes: _Nodes,
    raters: IntArray,
    edges: IntArray,
    right: FloatArray,
    seen: FloatArray,
    p: FloatArray,
    s: FloatArray,
    b: FloatArray,
    d: FloatArray,
    mean_b: float,
    p_b: float,
    p_v: float,
    out: _Items,
) -> None:
    """Write what some items have exactly less what they have by Laplace's method.

    `out.value` holds their log-likelihoods before. A node's weight holds 1 / prod(1 + odds) over the raters of the
    model. Once the weights are known, what one of them answers is to be expected is the weight by 1 / (1 + odds) of
    that rater: by the product of those before it and those after it, over the product of all. So one division does for
    all raters, or for a run of them where the product would overflow.
    """
    n_raters, n_models, size, middle = raters.size, edges.size - 1, nodes.b.size, _NODES_V // 2 * _NODES_B
    x, before, is_end = np.empty(n_raters), np.empty((n_raters, size)), np.empty(n_raters, np.bool_)
    odds, weight, inverse = np.empty((n_models, size)), np.empty((n_models, size)), np.empty((n_models, size))
    v, total, held = np.empty((n_models, size)), np.empty((n_models, _NODES_B)), np.empty(n_models)
    height_b, gathered, scale = np.empty(_NODES_B), np.empty(_NODES_B), np.empty(_NODES_B)
    from_b, height, product = np.empty(size), np.empty(size), np.empty(size)
    for j in range(first, last):
        away, precision_b = b[j] - mean_b, p_b
        for m in range(n_models):
            precision = p_v
            for r in range(edges[m], edges[m + 1]):
                i = raters[r]
                x[r] = seen[j, i] * vector_exp(-s[j, i])  # 0 where missing: such a factor is 1
                precision += p[j, i] * (1.0 - p[j, i])
            held[m] = 1.0 / precision  # variance of d given b and abilities
            precision_b += p_v * (1.0 - p_v * held[m])
        # Laplace: the widths of the nodes would appear on both sides, and are left out on both
        laplace, square, var_b = out.value[j] - 0.5 * p_b * away**2, 0.0, 1.0 / precision_b
        for m in range(n_models):
            through = p_v * held[m]  # how d follows b
            var_d = held[m] + through**2 * var_b  # given abilities
            laplace -= 0.5 * p_v * (d[j, m] - b[j]) ** 2
            square -= (d[j, m] - b[j]) ** 2 + held[m] + (1.0 - through) ** 2 * var_b
            out.by_model[j, m] = 0.0
            for r in range(edges[m], edges[m + 1]):
                one = p[j, raters[r]]
                half_skew = 0.5 * one * (1.0 - one) * (1.0 - 2.0 * one) * var_d
                out.by_cell[j, raters[r]] = one + half_skew
                out.by_model[j, m] -= half_skew
        # the nodes, first those of b, then those of v for each model
        for n in range(size):
            from_b[n] = nodes.b[n] * np.sqrt(var_b)
        for k in range(_NODES_B):
            height_b[k] = nodes.log_b[k] - 0.5 * p_b * (from_b[k] + away) ** 2
            gathered[k] = 1.0
        for m in range(n_models):
            width, at_mode, slope, wrong = np.sqrt(held[m]), d[j, m] - b[j], p_v * held[m] - 1.0, 0.0
            for r in range(edges[m], edges[m + 1]):
                i = raters[r]
                wrong += seen[j, i] - right[j, i]
                laplace += (seen[j, i] - right[j, i]) * s[j, i]  # left out of the heights
                is_end[r] = r == edges[m + 1] - 1
            for n in range(size):
                v[m, n] = at_mode + slope * from_b[n] + nodes.v[n] * width
            for n in range(size):
                odds[m, n] = vector_exp(b[j] + from_b[n] + v[m, n])
            for n in range(size):  # against the middle node of v, which is near the mode
                beyond = (nodes.v[n] - nodes.v[middle]) * width
                height[n] = nodes.log_v[n] + beyond * (wrong - p_v * (v[m, n] - 0.5 * beyond))
            for k in range(_NODES_B):
                of_middle = v[m, middle + k]
                height_b[k] += wrong * (b[j] + from_b[k] + of_middle) - 0.5 * p_v * of_middle**2
            product[:] = 1.0
            for r in range(edges[m], edges[m + 1]):
                for n in range(size):
                    before[r, n] = product[n]
                    product[n] *= 1.0 + x[r] * odds[m, n]
                if product[size - 1] > 1e200 and not is_end[r]:  # odds rise with the nodes: no other product is larger
                    is_end[r] = True
                    for n in range(size):
                        height[n] -= np.log(product[n] / product[middle + n % _NODES_B])
                    for k in range(_NODES_B):
                        height_b[k] -= np.log(product[middle + k])
                    product[:] = 1.0
            for n in range(size):
                inverse[m, n] = 1.0 / product[n]
                weight[m, n] = vector_exp(height[n]) * inverse[m, n]
            total[m] = 0.0
            for q in range(_NODES_V):
                for k in range(_NODES_B):
                    total[m, k] += weight[m, q * _NODES_B + k]
            for k in range(_NODES_B):
                gathered[k] *= total[m, k]
            if not 1e-60 < np.min(gathered) <= np.max(gathered) < 1e60 or m == n_models - 1:  # a log for many models
                for k in range(_NODES_B):
                    height_b[k] += np.log(gathered[k])
                    gathered[k] = 1.0
        top = np.max(height_b)
        whole = 0.0
        for k in range(_NODES_B):
            height_b[k] = np.exp(height_b[k] - top)
            whole += height_b[k]
        out.value[j] = top + np.log(whole) - laplace
        out.mean_b[j], out.square_b[j] = 0.0, -(away**2) - var_b
        for k in range(_NODES_B):
            height_b[k] /= whole
            out.mean_b[j] += height_b[k] * from_b[k]
            out.square_b[j] += height_b[k] * (from_b[k] + away) ** 2
        # back through the models: the weights, and with them expected squares and answers
        for m in range(n_models):
            low, high = edges[m], edges[m + 1]
            for k in range(_NODES_B):
                scale[k] = height_b[k] / total[m, k]
            for q in range(_NODES_V):
                for k in range(_NODES_B):
                    weight[m, q * _NODES_B + k] *= scale[k]
            for n in range(size):
                square += weight[m, n] * v[m, n] ** 2
                product[n] = weight[m, n] * inverse[m, n]
            for r in range(high - 1, low - 1, -1):
                if is_end[r] and r < high - 1:
                    for n in range(size):
                        product[n] = weight[m, n] / (before[r, n] * (1.0 + x[r] * odds[m, n]))
                expected = 0.0
                for n in range(size):
                    expected += product[n] * before[r, n]
                    product[n] *= 1.0 + x[r] * odds[m, n]
                out.by_cell[j, raters[r]] -= seen[j, raters[r]] * expected
        out.square_v[j] = square
