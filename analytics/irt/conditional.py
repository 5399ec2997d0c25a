"""Conditional maximum likelihood for Rasch and partial credit items: person parameters cancel, given the sum scores.

Holds the elementary symmetric functions with their exact gradient, and the search. The recursion runs over logarithms
and adds only positive terms, forwards for the functions and backwards for their derivatives, so it neither overflows
nor cancels however long the test (the difference algorithm does both). Andersen (1972); Masters (1982).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import minimize

from analytics.irt.responses import FloatArray, IntArray, Responses


@dataclass(frozen=True, slots=True)
class ScoreGroups:
    """Persons grouped by the items that they answered, and counted by sum score.

    Attributes
    ----------
    item_ptr, items
        Items of group g are ``items[item_ptr[g]:item_ptr[g + 1]]``.
    score_ptr, counts
        Weighted number of persons of group g by sum score, ``counts[score_ptr[g]:score_ptr[g + 1]]``; extreme scores,
        whose conditional probability is 1 whatever the items are, count 0.
    observed
        Weighted counts of each category by the persons that are not extreme, shape (n_items, n_categories).
    """

    item_ptr: IntArray
    items: IntArray
    score_ptr: IntArray
    counts: FloatArray
    observed: FloatArray


@dataclass(frozen=True, slots=True)
class ConditionalSolution:
    """Where the search ended.

    Attributes
    ----------
    thresholds
        Shape (n_items, n_categories - 1), mean 0, NaN-padded.
    covariance
        Of the thresholds in row-major order without padding, under their mean being 0; NaN where it was not asked.
    log_likelihood, gradient_norm, n_iterations
        Conditional log-likelihood, largest gradient in units of standard errors, quasi-Newton iterations.
    """

    thresholds: FloatArray
    covariance: FloatArray
    log_likelihood: float
    gradient_norm: float
    n_iterations: int


def group_by_score(responses: Responses, n_categories: IntArray) -> ScoreGroups:
    """Return the sufficient statistics of the conditional likelihood."""
    rows, items, values = responses.triples()
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=responses.n_persons)))
    scores = np.bincount(rows, weights=values, minlength=responses.n_persons).astype(np.int64)
    highest = np.bincount(rows, weights=n_categories[items] - 1, minlength=responses.n_persons).astype(np.int64)
    inner = (scores > 0) & (scores < highest)
    members: dict[bytes, list[int]] = {}
    for i in np.flatnonzero(inner):
        members.setdefault(items[starts[i] : starts[i + 1]].tobytes(), []).append(int(i))
    groups = [(items[starts[own[0]] : starts[own[0] + 1]], np.array(own)) for own in members.values()]
    counts = [
        np.bincount(scores[own], weights=responses.weights[own], minlength=highest[own[0]] + 1) for _, own in groups
    ]
    width = int(n_categories.max())
    weights = responses.weights[rows] * inner[rows]
    observed = np.bincount(items * width + values, weights=weights, minlength=len(n_categories) * width)
    return ScoreGroups(
        np.append(0, np.cumsum([len(own) for own, _ in groups])).astype(np.int64),
        np.concatenate([own for own, _ in groups]) if groups else np.zeros(0, dtype=np.int64),
        np.append(0, np.cumsum([len(count) for count in counts])).astype(np.int64),
        np.concatenate(counts) if counts else np.zeros(0),
        observed.reshape(len(n_categories), width).astype(np.float64),
    )


def conditional_log_likelihood(
    thresholds: FloatArray, groups: ScoreGroups, n_categories: IntArray
) -> tuple[float, FloatArray]:
    """Return the conditional log-likelihood and its gradient by the thresholds, shape as `thresholds`."""
    eta = np.concatenate([np.zeros((len(thresholds), 1)), -np.cumsum(np.nan_to_num(thresholds), axis=1)], axis=1)
    expected = np.zeros_like(eta)
    log_gamma = _symmetric_functions(
        eta, n_categories, groups.item_ptr, groups.items, groups.score_ptr, groups.counts, expected
    )
    excess = expected - groups.observed
    return float(np.sum(groups.observed * eta) - log_gamma), np.cumsum(excess[:, :0:-1], axis=1)[:, ::-1]


def fit_conditional(
    responses: Responses, n_categories: IntArray, *, has_errors: bool, tolerance: float, max_iterations: int
) -> ConditionalSolution:
    """Maximise the conditional likelihood.

    Parameters
    ----------
    responses
        Scores 0, 1, ... without gaps; every item has at least two categories in use.
    n_categories
        Shape (n_items,).
    has_errors
        Whether to compute the covariance (two passes a parameter).
    tolerance, max_iterations
        As in :func:`analytics.irt.marginal.maximise`.

    Raises
    ------
    ValueError
        If everybody has an extreme score.
    """
    groups = group_by_score(responses, n_categories)
    if len(groups.items) == 0:
        raise ValueError("every person has the lowest or the highest score possible; no item can be compared")
    own = np.arange(int(n_categories.max()) - 1)[None, :] < n_categories[:, None] - 1
    answered = groups.observed.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        steps = np.log((groups.observed[:, :-1] + 0.5) / (groups.observed[:, 1:] + 0.5))
    scale = np.sqrt(np.broadcast_to(answered / n_categories[:, None] ** 2 + 1e-9, own.shape)[own])

    def spread(flat: FloatArray) -> FloatArray:
        table = np.full(own.shape, np.nan)
        table[own] = flat
        return table

    def negative(y: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = conditional_log_likelihood(spread(y / scale), groups, n_categories)
        return -value, -gradient[own] / scale

    options = {"maxcor": 30, "gtol": tolerance, "ftol": 0.0, "maxiter": max_iterations, "maxfun": 3 * max_iterations}
    found = minimize(negative, steps[own] * scale, jac=True, method="L-BFGS-B", options=options)
    value, gradient = negative(found.x)
    flat = found.x / scale
    flat -= flat.mean()
    covariance = np.full((len(flat), len(flat)), np.nan)
    if has_errors:
        covariance = np.linalg.pinv(_curvature(spread(flat), own, groups, n_categories), 1e-9, hermitian=True)
    return ConditionalSolution(spread(flat), covariance, -value, float(np.max(np.abs(gradient))), int(found.nit))


def _curvature(
    thresholds: FloatArray, own: NDArray[np.bool_], groups: ScoreGroups, n_categories: IntArray, step: float = 1e-4
) -> FloatArray:
    """Return minus the Hessian by the thresholds, from central differences of the exact gradient.

    It is singular along the direction that moves all thresholds, which the likelihood does not see.
    """
    columns = []
    for j, h in zip(*np.nonzero(own), strict=True):
        sides = []
        for sign in (step, -step):
            near = thresholds.copy()
            near[j, h] += sign
            sides.append(conditional_log_likelihood(near, groups, n_categories)[1][own])
        columns.append((sides[1] - sides[0]) / (2 * step))
    matrix = np.stack(columns)
    return np.asarray((matrix + matrix.T) / 2)


@njit(cache=True)
def _symmetric_functions(
    eta: FloatArray,
    n_categories: IntArray,
    item_ptr: IntArray,
    items: IntArray,
    score_ptr: IntArray,
    counts: FloatArray,
    expected: FloatArray,
) -> float:
    """Return the sum of counts x log gamma(score) over all groups and add the expected category counts."""
    total = 0.0
    for g in range(len(item_ptr) - 1):
        own = items[item_ptr[g] : item_ptr[g + 1]]
        n = counts[score_ptr[g] : score_ptr[g + 1]]
        n_items, n_scores = len(own), len(n)
        forward = np.full((n_items + 1, n_scores), -np.inf)
        forward[0, 0] = 0.0
        reach = np.zeros(n_items + 1, dtype=np.int64)
        for j in range(n_items):
            m = n_categories[own[j]] - 1
            reach[j + 1] = reach[j] + m
            for r in range(reach[j + 1] + 1):
                peak = -np.inf
                for k in range(max(0, r - reach[j]), min(m, r) + 1):
                    peak = max(peak, forward[j, r - k] + eta[own[j], k])
                mass = 0.0
                for k in range(max(0, r - reach[j]), min(m, r) + 1):
                    mass += np.exp(forward[j, r - k] + eta[own[j], k] - peak)
                forward[j + 1, r] = peak + np.log(mass)
        backward = np.full(n_scores, -np.inf)
        for r in range(n_scores):
            if n[r] > 0:
                total += n[r] * forward[n_items, r]
                backward[r] = np.log(n[r]) - forward[n_items, r]
        for j in range(n_items - 1, -1, -1):
            m = n_categories[own[j]] - 1
            for r in range(reach[j] + 1):
                peak = -np.inf
                for k in range(m + 1):
                    peak = max(peak, backward[r + k] + eta[own[j], k])
                if peak > -np.inf:
                    mass = 0.0
                    for k in range(m + 1):
                        part = np.exp(backward[r + k] + eta[own[j], k] - peak)
                        mass += part
                        expected[own[j], k] += part * np.exp(peak + forward[j, r])
                    peak += np.log(mass)
                # position r is read for the last time here: r + k never falls below r
                backward[r] = peak
    return total
