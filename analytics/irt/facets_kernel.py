"""The loop over ratings of the many-facet model.

Holds the compiled pass alone: persons in order, ratings in order, nodes in order, so that sums never depend on threads.
"""

import numpy as np
from numba import njit

from analytics.irt.responses import FloatArray, IntArray

SAFE_EXPONENT = 600.0  # largest exponent whose running product stays clear of overflow and of zero


@njit(cache=True)
def facets_pass(
    ptr: IntArray,
    offset: FloatArray,
    values: IntArray,
    scale: IntArray,
    cumulative: FloatArray,
    n_categories: IntArray,
    abilities: FloatArray,
    log_weights: FloatArray,
    by_offset: FloatArray,
    by_step: FloatArray,
    eap: FloatArray,
    spread: FloatArray,
    by_log_sd: FloatArray,
) -> float:
    """Fill the derivatives of every rating and person; return the log-likelihood. Persons in order, nodes in order."""
    total = 0.0
    n_nodes, width = len(abilities), cumulative.shape[1]
    farthest = np.abs(abilities).max() + np.abs(offset).max()
    is_safe = farthest * (width - 1) + np.abs(cumulative).max() < SAFE_EXPONENT
    odds, weights = np.exp(abilities), np.exp(-cumulative)
    p = np.empty(width)
    for i in range(len(ptr) - 1):
        joint = log_weights.copy()
        surprise = np.zeros(n_nodes)
        n = ptr[i + 1] - ptr[i]
        tails = np.empty((n, width, n_nodes))  # P(X >= k)
        for c in range(n):
            cell = ptr[i] + c
            x, g, k_all = values[cell], scale[cell], n_categories[scale[cell]]
            own, own_weights, leniency = cumulative[g, :k_all], weights[g], np.exp(-offset[cell])
            for q in range(n_nodes):
                eta = abilities[q] - offset[cell]
                log_mass = _categories(eta, odds[q] * leniency, own, own_weights, is_safe, p)
                joint[q] += x * eta - own[x] - log_mass
                above = 0.0
                for k in range(k_all - 1, 0, -1):
                    above += p[k]
                    tails[c, k, q] = above
                    surprise[q] -= above
                surprise[q] += x
        peak = joint.max()
        posterior = np.exp(joint - peak)
        mass = posterior.sum()
        posterior /= mass
        total += peak + np.log(mass)
        for q in range(n_nodes):
            eap[i] += posterior[q] * abilities[q]
            by_log_sd[i] += posterior[q] * surprise[q] * abilities[q]
        for q in range(n_nodes):
            spread[i] += posterior[q] * (abilities[q] - eap[i]) ** 2
        spread[i] = np.sqrt(spread[i])
        for c in range(n):
            cell = ptr[i] + c
            for k in range(1, n_categories[scale[cell]]):
                excess = -1.0 if values[cell] >= k else 0.0
                for q in range(n_nodes):
                    excess += posterior[q] * tails[c, k, q]
                by_step[cell, k - 1] = excess
                by_offset[cell] += excess
    return total


@njit(cache=True)
def _categories(eta: float, odds: float, own: FloatArray, weights: FloatArray, is_safe: bool, p: FloatArray) -> float:
    """Write P(k) for k < len(own) and return the log of the sum of exp(k eta - own[k]).

    Where nothing can overflow, exp(k eta) is a running product of `odds` and exp(-own[k]) is in `weights`: no
    exponential is taken.
    """
    if not is_safe:
        return category_probabilities(eta, own, p)
    mass, power = 0.0, 1.0
    for k in range(len(own)):
        p[k] = power * weights[k]
        mass += p[k]
        power *= odds
    for k in range(len(own)):
        p[k] /= mass
    return float(np.log(mass))


@njit(cache=True)
def category_probabilities(eta: float, own: FloatArray, p: FloatArray) -> float:
    """Write P(k) for k < len(own) and return the log of the sum of exp(k eta - own[k]), whatever their size."""
    peak, mass = 0.0, 0.0
    for k in range(len(own)):
        peak = max(peak, k * eta - own[k])
    for k in range(len(own)):
        p[k] = np.exp(k * eta - own[k] - peak)
        mass += p[k]
    for k in range(len(own)):
        p[k] /= mass
    return float(peak + np.log(mass))
