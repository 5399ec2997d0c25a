"""The items of the model facet integrated by quadrature: what Laplace's method misses in their standard deviations.

Holds the difference, item by item, between the integral over an item's b and v at given abilities and its Laplace
approximation, with its derivatives. A model often has two or three raters, whose answers to an item are two or three
bits about v: there the expansion at the mode is poor, and sd_v comes out too small by a third to two thirds. Abilities
rest on many items and stay with Laplace's method (`testlet_facet_system`). Does not hold the search
(`testlet_facet_search`).
"""

from dataclasses import dataclass

import numba
import numpy as np

from analytics.irt.testlet_cells import over_testlets
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
    s = np.repeat(point.theta + point.u, np.diff(starts), axis=0)
    p_v, p_b = scales.v**-2, scales.b**-2
    member = np.eye(point.d.shape[1])[model]
    logit = s - point.d[:, model]
    p = seen / (1.0 + np.exp(-logit))
    w = p * (1.0 - p)
    informations = w @ member
    held = 1.0 / (p_v + informations)  # variance of d given b and abilities
    precision_b = p_b + np.sum(p_v * informations * held, axis=1)
    v, deviation = point.d - point.b[:, None], point.b - point.mean_b
    laplace = np.sum(right * logit - seen * np.logaddexp(0.0, logit), axis=1)
    laplace -= 0.5 * (p_v * np.sum(v**2, axis=1) + p_b * deviation**2)
    # the widths of the nodes would appear on both sides, and are left out on both
    found = _Moments(s.shape)
    by_model = np.argsort(model, kind="stable")
    edges = np.append(0, np.cumsum(np.bincount(model)))
    shape = _shape_of_nodes()

    def run(first: int, last: int) -> None:
        _integrate(
            first, last, *shape, by_model, edges, right, seen, s, point.b, point.d, point.mean_b, p_b, p_v, held,
            precision_b, found.exact, found.expected, found.mean_b, found.square_b, found.square_v,
        )  # fmt: skip

    over_testlets(run, len(right), right.size * _NODES_B)
    through = p_v * held  # how d follows b
    var_d = held + through**2 / precision_b[:, None]  # given abilities
    var_v = held + (1.0 - through) ** 2 / precision_b[:, None]
    half_skew = 0.5 * w * (1.0 - 2.0 * p) * var_d[:, model]
    by_testlet = np.add.reduceat(p - found.expected + half_skew, starts[:-1], axis=0)
    slope = FacetPoint(
        theta=by_testlet.sum(axis=0),
        u=by_testlet,
        d=-half_skew @ member,
        b=np.zeros(point.b.size),
        mean_b=p_b * float(np.sum(found.mean_b - point.b)),
    )
    return ItemCorrection(
        value=float(np.sum(found.exact - laplace)),
        slope=slope,
        for_b=p_b * float(np.sum(found.square_b - deviation**2 - 1.0 / precision_b)),
        for_v=p_v * float(np.sum(found.square_v) - np.sum(v**2 + var_v)),
    )


class _Moments:
    """What the integration of each item leaves: its log, expected right answers, and moments of b and of all v."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.exact, self.mean_b, self.square_b, self.square_v = (np.empty(shape[0]) for _ in range(4))
        self.expected = np.zeros(shape)


def _shape_of_nodes() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Nodes of b, the logs of their weights against a normal density that is divided out; the same of v."""
    parts: list[FloatArray] = []
    for n_nodes in (_NODES_B, _NODES_V):
        nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
        parts += [nodes, np.log(weights / weights.sum()) + nodes**2 / 2.0]
    return parts[0], parts[1], parts[2], parts[3]


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _integrate(
    first: int,
    last: int,
    nodes_b: FloatArray,
    logs_b: FloatArray,
    nodes_v: FloatArray,
    logs_v: FloatArray,
    raters: IntArray,
    edges: IntArray,
    right: FloatArray,
    seen: FloatArray,
    s: FloatArray,
    b: FloatArray,
    d: FloatArray,
    mean_b: float,
    p_b: float,
    p_v: float,
    held: FloatArray,
    precision_b: FloatArray,
    exact: FloatArray,
    expected: FloatArray,
    first_b: FloatArray,
    second_b: FloatArray,
    second_v: FloatArray,
) -> None:
    n_raters, n_models, n_b, n_v = raters.size, edges.size - 1, nodes_b.size, nodes_v.size
    x, wrong, fixed = np.empty(n_raters), np.empty(n_models), np.empty(n_models)
    share, height_b, square = np.empty((n_b, n_raters)), np.empty(n_b), np.empty(n_b)
    at_d, odds, height, product = np.empty(n_v), np.empty(n_v), np.empty(n_v), np.empty(n_v)
    p = np.empty((n_raters, n_v))
    middle = n_v // 2
    for j in range(first, last):
        for m in range(n_models):
            wrong[m], fixed[m] = 0.0, 0.0
            for r in range(edges[m], edges[m + 1]):
                i = raters[r]
                x[r] = vector_exp(-s[j, i])
                wrong[m] += seen[j, i] - right[j, i]
                fixed[m] += (seen[j, i] - right[j, i]) * s[j, i]
        width_b = 1.0 / np.sqrt(precision_b[j])
        for k in range(n_b):
            at_b = b[j] + nodes_b[k] * width_b
            height_b[k] = logs_b[k] - 0.5 * p_b * (at_b - mean_b) ** 2
            square[k] = 0.0
            for m in range(n_models):
                centre, width = d[j, m] + p_v * held[j, m] * (at_b - b[j]), np.sqrt(held[j, m])
                for q in range(n_v):
                    at_d[q] = centre + nodes_v[q] * width
                    odds[q] = vector_exp(at_d[q])
                    height[q] = logs_v[q] + wrong[m] * at_d[q] - 0.5 * p_v * (at_d[q] - at_b) ** 2
                    product[q] = 1.0
                for r in range(edges[m], edges[m + 1]):
                    is_seen = seen[j, raters[r]]
                    for q in range(n_v):
                        against = odds[q] * x[r]
                        p[r, q] = is_seen / (1.0 + against)
                        product[q] *= 1.0 + is_seen * against
                    if product[n_v - 1] > 1e200:  # odds rise with the node: no other product is larger
                        for q in range(n_v):
                            height[q] -= np.log(product[q])
                            product[q] = 1.0
                high, of_middle = height[middle], product[middle]
                total, moment = 0.0, 0.0
                for q in range(n_v):  # against the middle node, which is near the mode
                    product[q] = vector_exp(height[q] - high) * (of_middle / product[q])
                    total += product[q]
                    moment += product[q] * (at_d[q] - at_b) ** 2
                for r in range(edges[m], edges[m + 1]):
                    mean_p = 0.0
                    for q in range(n_v):
                        mean_p += product[q] * p[r, q]
                    share[k, r] = mean_p / total
                square[k] += moment / total
                height_b[k] += high - fixed[m] + np.log(total / of_middle)
        top, total = np.max(height_b), 0.0
        first_b[j], second_b[j], second_v[j] = 0.0, 0.0, 0.0
        for k in range(n_b):
            height_b[k] = np.exp(height_b[k] - top)
            total += height_b[k]
        for k in range(n_b):
            weight, at_b = height_b[k] / total, b[j] + nodes_b[k] * width_b
            first_b[j] += weight * at_b
            second_b[j] += weight * (at_b - mean_b) ** 2
            second_v[j] += weight * square[k]
            for r in range(n_raters):
                expected[j, raters[r]] += weight * share[k, r]
        exact[j] = top + np.log(total)
