"""How well items fit their model: mean squares, S-X2, and correlations of residuals.

Holds statistics of items given calibrated parameters. Person fit belongs to ``person_fit``.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from analytics.irt.items import (
    ItemParameters,
    align_responses,
    category_probabilities,
    log_probabilities,
    select_items,
)
from analytics.irt.quadrature import normal_grid
from analytics.irt.responses import CodeArray, FloatArray, IntArray, Responses

MIN_EXPECTED = 1.0  # expected count below which neighbouring score groups are merged
FEWEST_PAIRS = 3


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """Infit and outfit (Wright & Masters 1982): 1 is expected, NaN where nobody with a finite theta answered.

    Attributes
    ----------
    item_ids, person_ids
        Labels; items in the calibration's order.
    item_outfit, item_infit
        Shape (n_items,).
    person_outfit, person_infit
        Shape (n_persons,).
    """

    item_ids: tuple[str, ...]
    person_ids: tuple[str, ...]
    item_outfit: FloatArray
    item_infit: FloatArray
    person_outfit: FloatArray
    person_infit: FloatArray


@dataclass(frozen=True, slots=True)
class ScoreFit:
    """S-X2 of each item (Orlando & Thissen 2000), observed against expected by rest-of-test score.

    Attributes
    ----------
    item_ids
        Labels.
    statistic, p_value
        Shape (n_items,); NaN with a reason.
    degrees_of_freedom
        Shape (n_items,).
    reason
        Why the statistic is undefined, empty where it is not.
    n_persons
        Weighted number of complete rows used.
    """

    item_ids: tuple[str, ...]
    statistic: FloatArray
    p_value: FloatArray
    degrees_of_freedom: IntArray
    reason: tuple[str, ...]
    n_persons: float


def mean_squares(items: ItemParameters, responses: Responses, theta: FloatArray) -> MeanSquares:
    """Return infit and outfit at given abilities.

    Parameters
    ----------
    items
        Calibrated items.
    responses
        The responses, original scores.
    theta
        Shape (n_persons,); persons whose theta is not finite are left out.
    """
    data, table = align_responses(items, responses), select_items(items, responses)
    rows, codes, _, residual, variance = residuals(table, data, theta)
    weight = data.weights[rows]
    square = residual**2

    def ratios(index: IntArray, n: int, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        def total(values: FloatArray) -> FloatArray:
            return np.bincount(index, weights=values, minlength=n).astype(np.float64)

        with np.errstate(invalid="ignore", divide="ignore"):
            return total(w * square / variance) / total(w), total(w * square) / total(w * variance)

    item_outfit, item_infit = ratios(codes, len(table.item_ids), weight)
    person_outfit, person_infit = ratios(rows, data.n_persons, np.ones_like(weight))
    return MeanSquares(table.item_ids, data.person_ids, item_outfit, item_infit, person_outfit, person_infit)


def residuals(
    items: ItemParameters, data: Responses, theta: FloatArray
) -> tuple[IntArray, IntArray, CodeArray, FloatArray, FloatArray]:
    """Return row, item, value, residual and model variance of each cell with a finite theta and an estimated item."""
    rows, codes, values = data.triples()
    kept = np.isfinite(theta[rows]) & items.is_estimated[codes]
    rows, codes, values = rows[kept], codes[kept], values[kept]
    p, _, _ = category_probabilities(items, codes, theta[rows])
    score = np.arange(p.shape[1])
    expected = p @ score
    variance = p @ score**2 - expected**2
    return rows, codes, values, values - expected, variance


def residual_correlations(items: ItemParameters, responses: Responses, theta: FloatArray) -> FloatArray:
    """Return Q3 (Yen 1984): correlations of residuals over the persons who answered both items.

    Parameters
    ----------
    items, responses, theta
        As for :func:`mean_squares`.

    Returns
    -------
    ndarray
        Shape (n_items, n_items), ones on the diagonal; NaN where fewer than 3 persons answered both or a residual
        does not vary.
    """
    data, table = align_responses(items, responses), select_items(items, responses)
    rows, codes, _, residual, _ = residuals(table, data, theta)
    shape = (data.n_persons, len(table.item_ids))
    seen, value = np.zeros(shape), np.zeros(shape)
    seen[rows, codes], value[rows, codes] = 1.0, residual
    weighted = seen * data.weights[:, None]
    n, pairs = weighted.T @ seen, seen.T @ seen
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (value.T @ weighted) / n  # mean of the row's item over the persons who answered the column's too
        covariance = (value * data.weights[:, None]).T @ value / n - mean * mean.T
        variance = (value**2).T @ weighted / n - mean**2
        result = covariance / np.sqrt(variance * variance.T)
    result[(pairs < FEWEST_PAIRS) | (variance < 1e-14) | (variance.T < 1e-14)] = np.nan
    return np.asarray(np.clip(result, -1.0, 1.0))


def score_fit(
    items: ItemParameters, responses: Responses, *, mean: float = 0.0, sd: float = 1.0, n_parameters: int | None = None
) -> ScoreFit:
    """Return S-X2 for every item, from the rows without a missing cell.

    Parameters
    ----------
    items, responses
        Calibrated items and the responses.
    mean, sd
        Normal ability distribution.
    n_parameters
        Estimated parameters an item, taken from the degrees of freedom; slope (where they differ), thresholds and
        lower asymptote if None.
    """
    data, table = align_responses(items, responses), select_items(items, responses)
    n_items = len(table.item_ids)
    undefined = np.full(n_items, np.nan)
    codes = _complete_rows(data)
    weights = data.weights[data.answered == data.n_items]
    if not table.is_estimated.all() or len(codes) == 0:
        why = "an item has no estimate" if not table.is_estimated.all() else "no row is complete"
        return ScoreFit(table.item_ids, undefined, undefined, np.zeros(n_items, np.int64), (why,) * n_items, 0.0)
    rule = normal_grid()
    p = np.exp(log_probabilities(table, mean + sd * rule.nodes))
    p *= np.arange(p.shape[1])[None, :, None] < table.n_categories[:, None, None]
    mass = np.exp(rule.log_weights)
    score = codes.sum(axis=1, dtype=np.int64)
    whole = _score_distribution(p, table.n_categories)
    by_score = np.bincount(score, weights=weights, minlength=len(whole)).astype(np.float64)
    found = [
        _one_score_fit(j, p, table, codes[:, j], score, weights, whole @ mass, by_score, mass, n_parameters)
        for j in range(n_items)
    ]
    statistic, df = np.array([f[0] for f in found]), np.array([f[1] for f in found], dtype=np.int64)
    bad = df < 1
    statistic[bad] = np.nan
    reasons = tuple("too few score groups for its parameters" if b else "" for b in bad)
    p_value = np.where(bad, np.nan, chi2.sf(statistic, np.maximum(df, 1)))
    return ScoreFit(table.item_ids, statistic, p_value, df, reasons, float(weights.sum()))


def _complete_rows(data: Responses) -> CodeArray:
    """Return the table of the rows without a missing cell."""
    keep = data.answered == data.n_items
    if data.dense is not None:
        return np.ascontiguousarray(data.dense[keep])
    return np.zeros((0, data.n_items), dtype=np.int8)


def _one_score_fit(
    j: int,
    p: FloatArray,
    items: ItemParameters,
    value: CodeArray,
    score: IntArray,
    weights: FloatArray,
    whole: FloatArray,
    by_score: FloatArray,
    mass: FloatArray,
    n_parameters: int | None,
) -> tuple[float, int]:
    """Return statistic and degrees of freedom of item j."""
    k_j = int(items.n_categories[j])
    others = np.delete(np.arange(len(p)), j)
    rest = _score_distribution(p[others], items.n_categories[others])
    expected = np.zeros((len(whole), k_j))
    for k in range(k_j):
        expected[k : k + len(rest), k] = (rest * p[j, k]) @ mass
    expected *= (by_score / np.maximum(whole, 1e-300))[:, None]
    observed = np.zeros_like(expected)
    np.add.at(observed, (score, value), weights)
    # the ends of the score scale have one possible answer pattern and tell nothing
    groups = _merge(observed[1:-1], expected[1:-1])
    statistic = sum(float(np.sum((o - e) ** 2 / e)) for o, e in groups)
    own = (k_j - 1) + int(np.ptp(items.slope) > 1e-12) + int(items.lower[j] > 0)
    return statistic, len(groups) * (k_j - 1) - (own if n_parameters is None else n_parameters)


def _merge(observed: FloatArray, expected: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Merge neighbouring score groups until every category of each is expected often enough."""
    groups: list[tuple[FloatArray, FloatArray]] = []
    o, e = np.zeros(observed.shape[1]), np.zeros(observed.shape[1])
    for row_o, row_e in zip(observed, expected, strict=True):
        o, e = o + row_o, e + row_e
        if e.min() >= MIN_EXPECTED:
            groups.append((o, e))
            o, e = np.zeros_like(o), np.zeros_like(e)
    if groups:
        groups[-1] = (groups[-1][0] + o, groups[-1][1] + e)
    return groups


def _score_distribution(p: FloatArray, n_categories: IntArray) -> FloatArray:
    """Return P(sum score | node), shape (highest score + 1, n_nodes) (Lord & Wingersky 1984)."""
    result = np.ones((1, p.shape[2]))
    for j in range(len(p)):
        longer = np.zeros((len(result) + int(n_categories[j]) - 1, p.shape[2]))
        for k in range(int(n_categories[j])):
            longer[k : k + len(result)] += result * p[j, k]
        result = longer
    return result
