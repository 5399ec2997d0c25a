"""Agreement beyond chance between two graders: kappa, weighted kappa, exact agreement.

Holds the statistics of one pair of graders. Does not hold Krippendorff's alpha (`krippendorff`) or the
per-class scores (`classification`). An undefined kappa is NaN with its reason, never 0 or 1.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.agreement.pairs import Agreement, LabelPairs, pair_labels
from analytics.agreement.rounding import Halves, nearest_class
from analytics.matrix import FloatArray


def qwk(gold: FloatArray, answer: FloatArray, *, min_score: int, max_score: int) -> Agreement:
    """Quadratic weighted kappa on a declared scale (Cohen 1968).

    Weights are (i - j)^2 / (k - 1)^2 over the k possible grades `min_score` ... `max_score`, so that the distance
    between two grades does not depend on which grades happen to occur.

    Parameters
    ----------
    gold, answer
        Whole grades, shape (n,); NaN is missing and dropped pairwise.
    min_score, max_score
        Ends of the scale.

    Raises
    ------
    ValueError
        If the scale has fewer than two grades, or a grade is not whole or lies outside it.
    """
    if max_score <= min_score:
        raise ValueError(f"a scale needs two grades at least; got {min_score} to {max_score}")
    gold, answer = np.asarray(gold, dtype=np.float64), np.asarray(answer, dtype=np.float64)
    for name, values in (("gold", gold), ("answer", answer)):
        known = values[~np.isnan(values)]
        bad = known[(known != np.trunc(known)) | (known < min_score) | (known > max_score)]
        if bad.size:
            raise ValueError(f"{name} grade {bad[0]:g} is not a whole grade from {min_score} to {max_score}")
    pairs = pair_labels(gold.astype(object), answer.astype(object))
    return _weighted(pairs, pairs.labels.astype(np.float64))


def qwk_observed_categories(gold: FloatArray, answer: FloatArray, *, halves: Halves = "away") -> Agreement:
    """Quadratic weighted kappa with the classes that occur as equally spaced categories.

    For comparison with published numbers only: gaps in the scale vanish, so the value changes with the sample.

    Parameters
    ----------
    gold, answer
        Grades, shape (n,), rounded to whole classes here; NaN is missing and dropped pairwise.
    halves
        How halves are rounded. The tables use ``away``, like every other number; published kappas, scikit-learn's on
        numpy's rounding, are those of ``even``.
    """
    classes = (nearest_class(side, halves).astype(object) for side in (gold, answer))
    pairs = pair_labels(*classes)
    return _weighted(pairs, np.arange(pairs.labels.size, dtype=np.float64))


def cohen_kappa(gold: NDArray[np.object_], answer: NDArray[np.object_]) -> Agreement:
    """Cohen's kappa of two sets of labels, all disagreements counting alike.

    Parameters
    ----------
    gold, answer
        Labels, shape (n,); None or NaN is missing and dropped pairwise.
    """
    pairs = pair_labels(gold, answer)
    n = pairs.gold.size
    if n == 0:
        return Agreement(float("nan"), 0, pairs.n_missing, "no pairs")
    table = pairs.table / n
    by_chance = float(table.sum(axis=1) @ table.sum(axis=0))
    if pairs.labels.size == 1:
        return Agreement(float("nan"), n, pairs.n_missing, "one label only")
    return Agreement((float(np.trace(table)) - by_chance) / (1.0 - by_chance), n, pairs.n_missing)


def exact_agreement(gold: NDArray[np.object_], answer: NDArray[np.object_]) -> Agreement:
    """Share of pairs that are equal.

    Parameters
    ----------
    gold, answer
        Labels or grades, shape (n,); None or NaN is missing and dropped pairwise.
    """
    pairs = pair_labels(gold, answer)
    if pairs.gold.size == 0:
        return Agreement(float("nan"), 0, pairs.n_missing, "no pairs")
    return Agreement(float(np.mean(pairs.gold == pairs.answer)), pairs.gold.size, pairs.n_missing)


def _weighted(pairs: LabelPairs, position: FloatArray) -> Agreement:
    """Compute 1 - observed over expected squared distance of the categories' positions."""
    n = pairs.gold.size
    if n == 0:
        return Agreement(float("nan"), 0, pairs.n_missing, "no pairs")
    if pairs.labels.size == 1:
        return Agreement(float("nan"), n, pairs.n_missing, "one grade only")
    distance = (position[:, None] - position) ** 2
    observed = float(np.sum(distance * pairs.table)) / n
    shares = pairs.table.sum(axis=1) / n, pairs.table.sum(axis=0) / n
    return Agreement(1.0 - observed / float(shares[0] @ distance @ shares[1]), n, pairs.n_missing)
