"""Observed information of the many-facet model: second derivatives of its marginal log-likelihood.

Holds the compiled pass over persons. The first derivatives are in ``facets_kernel``, the layout of the parameters in
``facets_likelihood``. A person's log-likelihood l = log sum_q w_q exp(J_q) over nodes q has the Hessian
E(h + g g') - E(g) E(g)', with g and h the derivatives of J and E the mean over the posterior (Louis 1982). A person
touches few parameters, so the cost is that of the ratings and of the square of those few, not of all.
"""

import numpy as np
from numba import njit

from analytics.irt.facets_kernel import category_probabilities
from analytics.irt.responses import FloatArray, IntArray

_NEGLIGIBLE = 1e-14  # posterior weight of a node that no second derivative can feel


@njit(cache=True)
def facets_information(
    ptr: IntArray,
    positions: IntArray,
    offset: FloatArray,
    values: IntArray,
    first_step: IntArray,
    cumulative: FloatArray,
    n_categories: IntArray,
    abilities: FloatArray,
    log_weights: FloatArray,
    information: FloatArray,
) -> None:
    """Add the negative second derivatives of every person to `information`.

    Parameters
    ----------
    ptr
        Ratings of person i are ``ptr[i]:ptr[i + 1]``.
    positions
        Where the level of each facet lies in the search vector, shape (n_facets, n_ratings).
    offset, values
        Sum of the levels, and category, of each rating.
    first_step
        Where the first step of the scale of each rating lies in the search vector, shape (n_ratings,).
    cumulative
        Sums of the steps up to each category, one row a rating, shape (n_ratings, n_categories).
    n_categories
        Of the scale of each rating.
    abilities, log_weights
        Nodes, in units of the scale, and their log weights.
    information
        Square, one row a position of the search vector; the last is the log of the standard deviation.
    """
    n_facets, n_nodes, width, n_positions = len(positions), len(abilities), cumulative.shape[1], len(information)
    place = np.full(n_positions, -1)
    touched = np.empty(n_positions, dtype=np.int64)
    for i in range(len(ptr) - 1):
        start, n = ptr[i], ptr[i + 1] - ptr[i]
        if n == 0:
            continue
        size = 0
        for c in range(start, start + n):
            for f in range(n_facets + n_categories[c] - 1):
                at = positions[f, c] if f < n_facets else first_step[c] + f - n_facets
                if place[at] < 0:
                    place[at], touched[size] = size, at
                    size += 1
        touched[size] = n_positions - 1
        size += 1
        p = np.empty((n, width, n_nodes))
        posterior = _posterior(start, offset, values, cumulative, n_categories, abilities, log_weights, p)
        second, mean, g = np.zeros((size, size)), np.zeros(size), np.empty(size)
        for q in range(n_nodes):
            if posterior[q] < _NEGLIGIBLE:
                continue
            g[:] = 0.0
            for c in range(n):
                cell = start + c
                _add_rating(
                    p[c, : n_categories[cell], q], values[cell], abilities[q], posterior[q], positions[:, cell],
                    first_step[cell], place, g, second,
                )  # fmt: skip
            for a in range(size):
                mean[a] += posterior[q] * g[a]
                for b in range(size):
                    second[a, b] += posterior[q] * g[a] * g[b]
        for a in range(size):
            for b in range(size):
                information[touched[a], touched[b]] -= second[a, b] - mean[a] * mean[b]
            place[touched[a]] = -1


@njit(cache=True)
def _posterior(
    start: int,
    offset: FloatArray,
    values: IntArray,
    cumulative: FloatArray,
    n_categories: IntArray,
    abilities: FloatArray,
    log_weights: FloatArray,
    p: FloatArray,
) -> FloatArray:
    """Write the probabilities of the categories of a person's ratings at every node; return the nodes' posterior."""
    joint = log_weights.copy()
    of_node = np.empty(p.shape[1])
    for c in range(len(p)):
        cell = start + c
        k_all = n_categories[cell]
        for q in range(len(abilities)):
            category_probabilities(abilities[q] - offset[cell], cumulative[cell, :k_all], of_node)
            p[c, :k_all, q] = of_node[:k_all]
            joint[q] += np.log(of_node[values[cell]])
    posterior = np.exp(joint - joint.max())
    return np.asarray(posterior / posterior.sum())


@njit(cache=True)
def _add_rating(
    p: FloatArray,
    value: int,
    ability: float,
    weight: float,
    levels: IntArray,
    first_step: int,
    place: IntArray,
    g: FloatArray,
    second: FloatArray,
) -> None:
    """Add a rating's first derivatives to `g` and its weighted second ones to `second`, at one node.

    J is linear in the parameters but for the log of its sum, so that h is minus the covariance, over the categories X,
    of -X (a level), -[X >= h] (step h) and ability times X (log sd), and (x - E X) times the ability for log sd itself.
    """
    n_facets, top, last = len(levels), len(p) - 1, len(g) - 1
    expected, squares = 0.0, 0.0
    for k in range(1, top + 1):
        expected += k * p[k]
        squares += k * k * p[k]
    variance, residual = squares - expected**2, value - expected
    for f in range(n_facets):
        a = place[levels[f]]
        g[a] -= residual
        for other in range(n_facets):
            second[a, place[levels[other]]] -= weight * variance
        second[a, last] += weight * ability * variance
        second[last, a] += weight * ability * variance
    g[last] += ability * residual
    second[last, last] += weight * (ability * residual - ability**2 * variance)
    tail, tail_sum = 0.0, 0.0
    tails = np.zeros(top + 1)
    for h in range(top, 0, -1):
        tail += p[h]
        tail_sum += h * p[h]
        tails[h] = tail
        a, with_x = place[first_step + h - 1], tail_sum - expected * tail
        g[a] += tail - (1.0 if value >= h else 0.0)
        for f in range(n_facets):
            second[a, place[levels[f]]] -= weight * with_x
            second[place[levels[f]], a] -= weight * with_x
        second[a, last] += weight * ability * with_x
        second[last, a] += weight * ability * with_x
        for higher in range(h, top + 1):
            shared = weight * (tails[higher] - tails[higher] * tail)
            b = place[first_step + higher - 1]
            second[a, b] -= shared
            if higher > h:
                second[b, a] -= shared
