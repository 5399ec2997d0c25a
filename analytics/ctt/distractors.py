"""Options of multiple-choice items: who chose what, and upper-lower discrimination.

Holds the distractor table and the D-index. Does not hold parsing or keys: choices arrive as option codes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.correlation import pearson
from analytics.matrix import FloatArray, IntArray

MISSING_CHOICE = -1
"""Code of a missing choice."""


@dataclass(frozen=True, slots=True)
class DistractorTable:
    """Statistics of every option of every item; an option nobody chose keeps its row.

    Attributes
    ----------
    n, share
        Raters who chose the option, and their share of those who answered, shape (n_items, n_options).
    mean_rest
        Mean share right on the other items among those who chose it; NaN when nobody did.
    option_rest_r
        Correlation of choosing the option with the score on the other items; NaN without spread.
    is_key
        Shape (n_items, n_options).
    """

    n: IntArray
    share: FloatArray
    mean_rest: FloatArray
    option_rest_r: FloatArray
    is_key: NDArray[np.bool_]


def distractor_table(choices: IntArray, key: IntArray, n_options: int) -> DistractorTable:
    """Tabulate the options of every item.

    Parameters
    ----------
    choices
        Option codes from 0, `MISSING_CHOICE` where missing, shape (n_raters, n_items).
    key
        Right option of each item, shape (n_items,).
    n_options
        Number of options; every one is in the table.

    Raises
    ------
    ValueError
        If a choice or key is not an option.
    """
    for name, codes, low in (("choice", choices, MISSING_CHOICE), ("key", key, 0)):
        if codes.size and (codes.min() < low or codes.max() >= n_options):
            raise ValueError(f"a {name} is outside the options {low} to {n_options - 1}")
    n_items = choices.shape[1]
    answered = choices != MISSING_CHOICE
    right = (choices == key) & answered
    others = answered.sum(axis=1)[:, None] - answered
    rest = np.full(choices.shape, np.nan)
    np.divide(right.sum(axis=1)[:, None] - right, others, out=rest, where=others > 0)
    n = np.zeros((n_items, n_options), dtype=np.int64)
    share, mean_rest, r = (np.full(n.shape, np.nan) for _ in range(3))
    for j in range(n_items):
        kept = answered[:, j]
        for option in range(n_options):
            chose = choices[kept, j] == option
            n[j, option] = chose.sum()
            share[j, option] = chose.mean() if kept.any() else np.nan
            usable = ~np.isnan(rest[kept, j])
            x, y = chose[usable].astype(np.float64), rest[kept, j][usable]
            if x.any():
                mean_rest[j, option] = y[x > 0].mean()
            r[j, option] = pearson(x, y)
    return DistractorTable(n, share, mean_rest, r, key[:, None] == np.arange(n_options))


def d_index(responses: FloatArray, share: float = 0.27) -> FloatArray:
    """Upper-lower discrimination: facility in the best `share` of raters less facility in the worst.

    Raters are ordered by their mean over the observed items. Raters tied across the edge of a group enter it with
    equal fractional weight, so that the groups have their exact size and no order of rows matters.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items); NaN is missing.
    share
        Size of each group, at most one half.

    Returns
    -------
    ndarray of float
        Shape (n_items,); NaN where a group did not answer the item.
    """
    if not 0.0 < share <= 0.5:
        raise ValueError(f"share must lie in (0, 0.5]; got {share}")
    seen = ~np.isnan(responses)
    kept = seen.any(axis=1)
    x, seen = np.nan_to_num(responses[kept]), seen[kept]
    mean = x.sum(axis=1) / seen.sum(axis=1)
    facility = []
    for score in (mean, -mean):
        weight = _group_weight(score, share * score.size)
        below = weight @ seen
        part = np.full(below.size, np.nan)
        np.divide(weight @ x, below, out=part, where=below > 0)
        facility.append(part)
    difference: FloatArray = facility[0] - facility[1]
    return difference


def _group_weight(score: FloatArray, size: float) -> FloatArray:
    """Weight of each rater in the group of the `size` highest scores; ties share what is left."""
    _, index, count = np.unique(-np.round(score, 12), return_inverse=True, return_counts=True)
    before = np.cumsum(count) - count
    weight: FloatArray = np.clip((size - before) / count, 0.0, 1.0)
    return weight[index]
