"""Pairing of gold and answer: what is dropped, and the result that every agreement statistic returns.

Holds the pairwise deletion of blanks and the result type. Does not hold statistics.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.matrix import IntArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """One agreement statistic.

    Attributes
    ----------
    value
        The statistic; NaN when it is undefined.
    n
        Pairs used.
    n_missing
        Pairs dropped because a side is missing.
    undefined_reason
        Why the value is NaN, or None.
    """

    value: float
    n: int
    n_missing: int
    undefined_reason: str | None = None


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Gold and answer as codes of the sorted labels that occur.

    Attributes
    ----------
    gold, answer
        Codes, shape (n,).
    labels
        Sorted labels, as they came, length n_labels.
    n_missing
        Pairs dropped.
    """

    gold: IntArray
    answer: IntArray
    labels: NDArray[np.object_]
    n_missing: int

    @property
    def table(self) -> IntArray:
        """Counts, gold in rows, shape (n_labels, n_labels)."""
        k = self.labels.size
        return np.bincount(self.gold * k + self.answer, minlength=k * k).reshape(k, k)


def pair_labels(gold: NDArray[np.object_], answer: NDArray[np.object_]) -> LabelPairs:
    """Pair labels or whole-number grades, blanks (None or NaN) dropped pairwise.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    gold, answer = np.asarray(gold, dtype=object), np.asarray(answer, dtype=object)
    if gold.shape != answer.shape:
        raise ValueError(f"gold and answer differ in length: {gold.shape} and {answer.shape}")
    kept = ~(_is_blank(gold) | _is_blank(answer))
    labels, codes = np.unique(np.concatenate([gold[kept], answer[kept]]), return_inverse=True)
    n = int(kept.sum())
    return LabelPairs(codes[:n].astype(np.int64), codes[n:].astype(np.int64), labels, int(gold.size - n))


def _is_blank(values: NDArray[np.object_]) -> NDArray[np.bool_]:
    return np.array([v is None or v != v for v in values], dtype=bool)
