"""Abilities of persons, given calibrated items.

Holds the four estimators and the rule for scores at the end of the scale. Items are never moved here: this is the
anchored scoring of new persons too.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analytics.irt.expectation import chunks, posterior_moments, prepare_rows
from analytics.irt.items import (
    ItemParameters,
    align_responses,
    category_probabilities,
    log_probabilities,
    select_items,
)
from analytics.irt.quadrature import Quadrature, normal_grid, step_for
from analytics.irt.responses import CodeArray, FloatArray, IntArray, Responses
from analytics.literals import check_option

AbilityMethod = Literal["ml", "map", "eap", "wle"]
"""Maximum likelihood, posterior mode, posterior mean, weighted likelihood (Warm 1989)."""

REACH = 8.0  # logits beyond the outermost threshold at which an estimate still rising counts as infinite
N_SEARCH_NODES = 121
MAX_STEPS = 80
NO_ANSWER = "no response to an estimated item"


@dataclass(frozen=True, slots=True)
class Abilities:
    """Abilities in the order of the input.

    Attributes
    ----------
    person_ids
        Labels.
    theta, theta_se
        Shape (n_persons,). ``ml`` gives plus or minus infinity with a NaN error where the likelihood has no maximum;
        NaN marks a person without a response to an estimated item.
    method
        Estimator.
    is_extreme
        Whether every answer lies in the highest, or every one in the lowest, category.
    reason
        One text a person: why theta or its error is not a finite number, empty where both are.
    """

    person_ids: tuple[str, ...]
    theta: FloatArray
    theta_se: FloatArray
    method: AbilityMethod
    is_extreme: NDArray[np.bool_]
    reason: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """Observed cells of estimated items, row by row, shape (n_cells,) each."""

    rows: IntArray
    items: IntArray
    values: CodeArray


def score_abilities(
    items: ItemParameters,
    responses: Responses,
    *,
    method: AbilityMethod = "eap",
    prior_mean: float = 0.0,
    prior_sd: float = 1.0,
) -> Abilities:
    """Estimate abilities on the scale of a calibration.

    Parameters
    ----------
    items
        Calibrated items; those without an estimate say nothing.
    responses
        Responses to some or all of the items, matched by label, in original scores.
    method
        See :data:`AbilityMethod`.
    prior_mean, prior_sd
        Of the normal prior of ``map`` and ``eap``.

    Raises
    ------
    ValueError
        If an item or a score is not in the calibration, or the prior is not proper.
    """
    check_option("method", method, AbilityMethod)
    if not (np.isfinite(prior_mean) and 0 < prior_sd < np.inf):
        raise ValueError(f"the prior needs a finite mean and a positive sd; got {prior_mean} and {prior_sd}")
    data, table = align_responses(items, responses), select_items(items, responses)
    rows, codes, values = data.triples()
    telling = table.is_estimated[codes]
    cells = Cells(rows[telling], codes[telling], values[telling])
    n = np.bincount(cells.rows, minlength=data.n_persons)
    top = table.n_categories[cells.items] - 1
    at_top = np.bincount(cells.rows, weights=cells.values == top, minlength=data.n_persons) == n
    at_bottom = np.bincount(cells.rows, weights=cells.values == 0, minlength=data.n_persons) == n
    if not telling.any():
        theta = error = np.full(data.n_persons, np.nan)
    elif method == "eap":
        theta, error = _posterior_means(table, data, prior_mean, prior_sd)
    else:
        theta, error = _maxima(table, data, cells, method, prior_mean, prior_sd)
    theta, error = np.where(n > 0, theta, np.nan), np.where(n > 0, error, np.nan)
    return Abilities(
        responses.person_ids, theta, error, method, (n > 0) & (at_top | at_bottom), _reasons(theta, error, n)
    )


def information_at(
    items: ItemParameters, cells: Cells, theta: FloatArray, n_persons: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each person's score function, Fisher information and Warm's J at theta, shape (n_persons,) each."""
    p, first, second = category_probabilities(items, cells.items, theta[cells.rows])
    here = np.arange(len(cells.rows))
    by_cell = first[here, cells.values] / np.maximum(p[here, cells.values], 1e-300)
    safe = np.maximum(p, 1e-300)
    information, bias = np.sum(first**2 / safe, axis=1), np.sum(first * second / safe, axis=1)
    slope, fisher, warm = (
        np.bincount(cells.rows, weights=part, minlength=n_persons).astype(np.float64)
        for part in (by_cell, information, bias)
    )
    return slope, fisher, warm


def _posterior_means(items: ItemParameters, data: Responses, mean: float, sd: float) -> tuple[FloatArray, FloatArray]:
    """Return EAP and posterior standard deviation."""
    rows = prepare_rows(data, max(2, int(items.n_categories.max(initial=2))))
    rough = normal_grid()
    p, first, _ = category_probabilities(items, np.arange(len(items.slope))[:, None], mean + sd * rough.nodes[None, :])
    information = np.nansum(first**2 / np.maximum(p, 1e-300), axis=(0, 2)).max()
    rule = normal_grid(step_for(sd**2 * float(information)))
    logs = _fitted(log_probabilities(items, mean + sd * rule.nodes), items)
    eap, error = posterior_moments(rows, logs, Quadrature(rule.nodes, rule.log_weights, rule.step))
    return mean + sd * eap, sd * error


def _fitted(logs: FloatArray, items: ItemParameters) -> FloatArray:
    """Return log probabilities with at least two categories a item, the width that prepared rows have."""
    width = max(2, int(items.n_categories.max(initial=2)))
    full = np.zeros((logs.shape[0], width, logs.shape[2]))
    full[:, : min(width, logs.shape[1])] = logs[:, :width]
    return full


def _maxima(
    items: ItemParameters, data: Responses, cells: Cells, method: AbilityMethod, mean: float, sd: float
) -> tuple[FloatArray, FloatArray]:
    """Return ML, MAP or WLE: the best node of a wide search, then safeguarded scoring steps around it."""
    steepness = np.abs(items.slope)[:, None]
    low = min(float(np.nanmin(items.thresholds - REACH / steepness)), mean - REACH * sd)
    high = max(float(np.nanmax(items.thresholds + REACH / steepness)), mean + REACH * sd)
    nodes = np.linspace(low, high, N_SEARCH_NODES)
    best = _best_node(items, data, nodes, method, mean, sd)
    left, right = nodes[np.maximum(best - 1, 0)], nodes[np.minimum(best + 1, len(nodes) - 1)]
    theta = nodes[best].astype(np.float64)
    precision = 1 / sd**2 if method == "map" else 0.0
    for _ in range(MAX_STEPS):
        slope, information, bias = information_at(items, cells, theta, data.n_persons)
        slope = slope - precision * (theta - mean)
        if method == "wle":
            slope = slope + bias / (2 * np.maximum(information, 1e-300))
        left, right = np.where(slope >= 0, theta, left), np.where(slope < 0, theta, right)
        with np.errstate(over="ignore"):
            step = slope / np.maximum(information + precision, 1e-12)
        proposal = theta + step
        proposal = np.where((proposal <= left) | (proposal >= right), (left + right) / 2, proposal)
        moved, theta = np.abs(proposal - theta).max(), proposal
        if moved < 1e-10:
            break
    _, information, _ = information_at(items, cells, theta, data.n_persons)
    with np.errstate(divide="ignore"):
        error = 1 / np.sqrt(information + precision)
    if method == "map":
        return theta, error
    unbounded = (best == 0) | (best == len(nodes) - 1)
    sign = np.where(best == 0, -np.inf, np.inf)
    return np.where(unbounded, sign, theta), np.where(unbounded, np.nan, error)


def _best_node(
    items: ItemParameters, data: Responses, nodes: FloatArray, method: AbilityMethod, mean: float, sd: float
) -> IntArray:
    """Return the node with the highest (penalised) log-likelihood of each person."""
    rows = prepare_rows(data, max(2, int(items.n_categories.max(initial=2))))
    logs = _fitted(log_probabilities(items, nodes), items)
    extra = -0.5 * ((nodes - mean) / sd) ** 2 if method == "map" else np.zeros(len(nodes))
    best = np.empty(len(rows.weights), dtype=np.int64)
    if method == "wle":
        # log-likelihood + log(information) / 2 has the root as its maximum in exponential families, and is near it else
        p, first, _ = category_probabilities(items, np.arange(len(items.slope))[:, None], nodes[None, :])
        by_item = np.nan_to_num(np.sum(first**2 / np.maximum(p, 1e-300), axis=2))
        logs = logs.copy()
        answered = np.broadcast_to(by_item[:, None, :], logs.shape)
    for part in chunks(len(rows.weights), len(nodes)):
        value = rows.log_weights_at_nodes(logs, part) + extra
        if method == "wle":
            value += 0.5 * np.log(np.maximum(rows.log_weights_at_nodes(answered, part), 1e-300))
        best[part] = np.argmax(value, axis=1)
    return best[rows.row_of_person]


def _reasons(theta: FloatArray, error: FloatArray, n: IntArray) -> tuple[str, ...]:
    """Return why an ability or its error is not a finite number."""
    infinite = "the likelihood rises without end: every answer lies at one end of the scale"
    return tuple(
        NO_ANSWER if count == 0 else ("" if np.isfinite(t) and np.isfinite(e) else infinite)
        for t, e, count in zip(theta, error, n, strict=True)
    )
