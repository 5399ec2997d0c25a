"""Item parameters on the scale that people read, and the response functions that follow from them.

Holds the frozen table of calibrated items and P(category | theta) with its first two derivatives. How the parameters
are estimated belongs to the models; what they say about a person belongs to ``ability``.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from analytics.irt.responses import FloatArray, IntArray, Responses
from analytics.literals import check_option

ResponseFamily = Literal["logistic", "graded", "partial_credit"]
"""How slope, thresholds and lower asymptote make category probabilities."""


@dataclass(frozen=True, slots=True)
class ItemParameters:
    """Parameters of calibrated items.

    ``logistic``: P(1) = c + (1 - c) expit(a (theta - b)). ``graded`` (Samejima 1969): P(X >= k) =
    expit(a (theta - b_k)). ``partial_credit`` (Muraki 1992): P(k) proportional to exp(sum over h <= k of
    a (theta - b_h)).

    Attributes
    ----------
    family
        Which of the three formulas holds.
    item_ids
        Labels.
    slope, lower
        Shape (n_items,): a and c; NaN where an item has no estimate (a constant item).
    thresholds
        Shape (n_items, highest number of categories - 1): b; NaN behind an item's own categories.
    scores
        For each item, the original score of each category in order.
    """

    family: ResponseFamily
    item_ids: tuple[str, ...]
    slope: FloatArray
    thresholds: FloatArray
    lower: FloatArray
    scores: tuple[tuple[int, ...], ...]

    @property
    def is_estimated(self) -> NDArray[np.bool_]:
        """Whether an item carries information, shape (n_items,)."""
        return np.isfinite(self.slope)

    @property
    def n_categories(self) -> IntArray:
        """Number of categories of each item, shape (n_items,)."""
        return np.array([len(found) for found in self.scores], dtype=np.int64)


def item_parameters(
    family: ResponseFamily,
    thresholds: FloatArray,
    *,
    slope: FloatArray | float = 1.0,
    lower: FloatArray | float = 0.0,
    item_ids: tuple[str, ...] | None = None,
) -> ItemParameters:
    """Return a table of known parameters, for scoring on a fixed calibration and for simulation.

    Parameters
    ----------
    family
        See :class:`ItemParameters`.
    thresholds
        Shape (n_items,) for two categories or (n_items, n_categories - 1), NaN-padded.
    slope, lower
        One number or shape (n_items,).
    item_ids
        Labels; ``I1, I2, ...`` where not given.

    Raises
    ------
    ValueError
        If the family is unknown, or a lower asymptote is given to a family that has none.
    """
    check_option("family", family, ResponseFamily)
    table = np.array(thresholds, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    n = len(table)
    low = np.broadcast_to(np.asarray(lower, dtype=np.float64), n).copy()
    if family != "logistic" and np.any(low != 0):
        raise ValueError(f"a lower asymptote belongs to the family 'logistic', not to {family!r}")
    ids = item_ids or tuple(f"I{j + 1}" for j in range(n))
    scores = tuple(tuple(range(1 + int(count))) for count in np.isfinite(table).sum(axis=1))
    return ItemParameters(family, ids, np.broadcast_to(np.asarray(slope, float), n).copy(), table, low, scores)


def category_probabilities(
    items: ItemParameters, item_codes: IntArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(category), dP/dtheta and d2P/dtheta2.

    Parameters
    ----------
    items
        Calibrated items.
    item_codes, theta
        Item positions and abilities, broadcast against each other to a shape S.

    Returns
    -------
    tuple of arrays
        Each of shape S + (n_categories,); categories that an item lacks have probability 0.
    """
    a = items.slope[item_codes]
    z = a[..., None] * (np.asarray(theta)[..., None] - items.thresholds[item_codes])
    a = np.broadcast_to(a[..., None], (*z.shape[:-1], 1))
    if items.family == "partial_credit":
        return _adjacent(z, a)
    above = np.where(np.isnan(z), 0.0, expit(z))
    first, second = above * (1 - above) * a, above * (1 - above) * (1 - 2 * above) * a**2
    if items.family == "logistic":
        c = items.lower[item_codes][..., None]
        above, first, second = c + (1 - c) * above, (1 - c) * first, (1 - c) * second
    return _differences(above, 1.0), _differences(first, 0.0), _differences(second, 0.0)


def log_probabilities(items: ItemParameters, nodes: FloatArray) -> FloatArray:
    """Return log P(category) at each node, shape (n_items, n_categories, n_nodes); 0 where an item has no estimate.

    A log probability of 0 lets an item without an estimate, or a category that it lacks, say nothing about a person.
    """
    codes = np.arange(len(items.slope))[:, None]
    probability, _, _ = category_probabilities(items, codes, nodes[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.moveaxis(probability, -1, 1))
    lacks = np.arange(logs.shape[1])[None, :] >= items.n_categories[:, None]
    logs[lacks | ~items.is_estimated[:, None]] = 0.0
    return np.maximum(logs, -700.0)  # below the smallest float a probability only says "impossible"


def align_responses(items: ItemParameters, responses: Responses) -> Responses:
    """Return the responses with columns and categories of the calibration, matched by label.

    Raises
    ------
    ValueError
        If an answered item is not in the calibration, or a score is not one of the item's calibrated scores.
    """
    place = {label: j for j, label in enumerate(responses.item_ids)}
    unknown = [label for label in responses.item_ids if label not in set(items.item_ids)]
    if unknown:
        raise ValueError(f"item {unknown[0]!r} is not in the calibration ({len(unknown)} such item(s))")
    if items.item_ids != responses.item_ids:
        present = [label for label in items.item_ids if label in place]
        responses = responses.take_items(np.array([place[label] for label in present], dtype=np.int64))
        items = _rows(items, present)
    counts = responses.category_counts()
    table = np.zeros(counts.shape, dtype=np.int8)
    for j, scores in enumerate(items.scores):
        known = dict(zip(scores, range(len(scores)), strict=True))
        for k in np.flatnonzero(counts[j]):
            if items.is_estimated[j] and int(k) not in known:
                raise ValueError(f"score {int(k)} of item {items.item_ids[j]!r} is not one of {scores}")
            table[j, k] = known.get(int(k), 0)
    return responses.mapped(table)


def select_items(items: ItemParameters, responses: Responses) -> ItemParameters:
    """Return the calibrated items that `responses` has, in the calibration's order."""
    present = set(responses.item_ids)
    return _rows(items, [label for label in items.item_ids if label in present])


def _rows(items: ItemParameters, labels: list[str]) -> ItemParameters:
    """Return the rows of the named items."""
    if len(labels) == len(items.item_ids):
        return items
    place = {label: j for j, label in enumerate(items.item_ids)}
    index = np.array([place[label] for label in labels], dtype=np.int64)
    scores = tuple(items.scores[j] for j in index)
    return ItemParameters(
        items.family, tuple(labels), items.slope[index], items.thresholds[index], items.lower[index], scores
    )


def _differences(above: FloatArray, bottom: float) -> FloatArray:
    """Return the categories' share from cumulative values P(X >= k): neighbours' differences along the last axis."""
    edge = np.full((*above.shape[:-1], 1), bottom)
    full = np.concatenate([edge, above, np.zeros_like(edge)], axis=-1)
    return np.asarray(full[..., :-1] - full[..., 1:])


def _adjacent(z: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return partial-credit probabilities and derivatives from the step logits z."""
    exponent = np.concatenate([np.zeros((*z.shape[:-1], 1)), np.cumsum(z, axis=-1)], axis=-1)
    exponent = np.where(np.isnan(exponent), -np.inf, exponent)
    p = np.exp(exponent - exponent.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    score = np.arange(p.shape[-1], dtype=np.float64)
    distance = score - (p @ score)[..., None]
    variance = np.sum(p * distance**2, axis=-1, keepdims=True)
    return p, a * p * distance, a**2 * p * (distance**2 - variance)
