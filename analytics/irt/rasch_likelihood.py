"""The Rasch likelihood of complete data over distinct sums: persons with one sum score are alike, and so are items.

Holds the sufficient statistics and one evaluation of the likelihood with its gradient: distinct sums x nodes plus
distinct scores x nodes. Does not hold the search for its maximum (`rasch_scores`).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from analytics.irt.quadrature import Quadrature
from analytics.irt.responses import CodeArray, FloatArray, IntArray

_LARGEST_LOG = 700.0  # a product of factors 1 + odds is kept below exp(700) before its logarithm is taken
_MOST_FACTORS = 64  # a power of more factors costs more than a logarithm
_NEGLIGIBLE = -45.0  # exp(-45) of the peak is below the rounding of any sum that it enters


@dataclass(frozen=True, slots=True)
class SumScores:
    """Sufficient statistics of complete 0/1 data.

    Attributes
    ----------
    scores, weights
        Distinct sum scores of persons and the weight of each, shape (n_scores,).
    sums, multiplicity
        Distinct weighted sums of items and how many items have each, shape (n_sums,).
    score_of_person, sum_of_item
        Position of each person's and each item's sum among the distinct ones.
    """

    scores: FloatArray
    weights: FloatArray
    sums: FloatArray
    multiplicity: FloatArray
    score_of_person: IntArray
    sum_of_item: IntArray


@dataclass(frozen=True, slots=True)
class RaschPoint:
    """The likelihood at one set of parameters.

    Attributes
    ----------
    log_likelihood
        Marginal log-likelihood.
    by_d, by_slope
        Gradient by the intercepts of the distinct sums, shape (n_sums,), and by the slope.
    posterior
        Shape (n_scores, n_nodes).
    p
        P(1 | node) of the distinct sums, shape (n_sums, n_nodes).
    """

    log_likelihood: float
    by_d: FloatArray
    by_slope: float
    posterior: FloatArray
    p: FloatArray


def sum_scores(dense: CodeArray, counts: FloatArray, weights: FloatArray) -> SumScores:
    """Return the sufficient statistics of a complete 0/1 table whose item counts are known."""
    scores, of_person = np.unique(_row_sums(dense), return_inverse=True)
    sums, of_item = np.unique(counts[:, 1], return_inverse=True)
    return SumScores(
        scores.astype(np.float64),
        np.bincount(of_person, weights=weights).astype(np.float64),
        sums,
        np.bincount(of_item).astype(np.float64),
        of_person.astype(np.int64),
        of_item.astype(np.int64),
    )


def evaluate(data: SumScores, slope: float, d: FloatArray, quadrature: Quadrature) -> RaschPoint:
    """Return likelihood and gradient at a slope and intercepts.

    log L = sum of n s d + sum over scores of w log of the integral of exp(score a theta - sum of n log(1 + exp(a theta
    + d))): no exponential per cell, since exp(a theta + d) is a product.
    """
    nodes = quadrature.nodes
    p, log_total = np.empty((len(d), len(nodes))), np.zeros(len(nodes))
    largest = data.multiplicity * np.logaddexp(0.0, d + slope * nodes[-1])
    _respond(np.exp(d), np.exp(slope * nodes), data.multiplicity, largest, p, log_total)
    posterior, log_mass = np.empty((len(data.scores), len(nodes))), np.empty(len(data.scores))
    _integrate(data.scores, slope * nodes, quadrature.log_weights - log_total, posterior, log_mass)
    value = data.weights @ log_mass + np.sum(data.multiplicity * data.sums * d)
    node_mass = data.weights @ posterior
    by_d = data.multiplicity * (data.sums - p @ node_mass)
    right = (data.weights * data.scores) @ posterior - (data.multiplicity @ p) * node_mass
    return RaschPoint(float(value), by_d, float(right @ nodes), posterior, p)


@njit(cache=True)
def _row_sums(dense: CodeArray) -> IntArray:
    """Return the sum of each row."""
    sums = np.zeros(dense.shape[0], dtype=np.int64)
    for i in range(dense.shape[0]):
        total = 0
        for j in range(dense.shape[1]):
            total += dense[i, j]
        sums[i] = total
    return sums


@njit(cache=True, error_model="numpy")
def _respond(
    odds_of_sum: FloatArray,
    odds_of_node: FloatArray,
    multiplicity: FloatArray,
    largest: FloatArray,
    p: FloatArray,
    log_total: FloatArray,
) -> None:
    """Write P(1) of each distinct sum at each node, and add n log(1 + odds) over the sums; logarithms of products.

    ``largest`` is each sum's n log(1 + odds) at the highest node: products that would overflow are never made.
    """
    product, held = np.ones(p.shape[1]), 0.0
    for j in range(p.shape[0]):
        e = odds_of_sum[j]
        for q in range(p.shape[1]):
            p[j, q] = e * odds_of_node[q] / (1.0 + e * odds_of_node[q])
        if multiplicity[j] > _MOST_FACTORS or largest[j] > _LARGEST_LOG:
            for q in range(p.shape[1]):
                log_total[q] += multiplicity[j] * np.log1p(e * odds_of_node[q])
            continue
        if held + largest[j] > _LARGEST_LOG:
            for q in range(p.shape[1]):
                log_total[q] += np.log(product[q])
                product[q] = 1.0
            held = 0.0
        held += largest[j]
        for _ in range(int(multiplicity[j])):
            for q in range(p.shape[1]):
                product[q] *= 1.0 + e * odds_of_node[q]
    for q in range(p.shape[1]):
        log_total[q] += np.log(product[q])


@njit(cache=True, error_model="numpy")
def _integrate(
    scores: FloatArray, logits: FloatArray, log_base: FloatArray, posterior: FloatArray, log_mass: FloatArray
) -> None:
    """Write the posterior of each score over the nodes and the log of its mass; far from the peak it is 0."""
    for r in range(len(scores)):
        row, peak = posterior[r], -np.inf
        for q in range(len(logits)):
            row[q] = scores[r] * logits[q] + log_base[q]
            peak = max(peak, row[q])
        mass = 0.0
        for q in range(len(logits)):
            row[q] = np.exp(row[q] - peak) if row[q] - peak > _NEGLIGIBLE else 0.0
            mass += row[q]
        for q in range(len(logits)):
            row[q] /= mass
        log_mass[r] = np.log(mass) + peak
