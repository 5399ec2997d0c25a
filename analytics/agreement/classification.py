"""Per-class scores: precision, recall and F1, averaged by a named rule.

Holds the averages over classes. Does not hold chance-corrected agreement (`kappa`). The averaging is in the name,
because published numbers differ in it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.agreement.pairs import pair_labels


@dataclass(frozen=True, slots=True)
class ClassScores:
    """Averaged scores over the classes that occur in gold or answer.

    Attributes
    ----------
    f1_macro, precision_macro, recall_macro
        Plain means over classes; a class that is never right scores 0. NaN without pairs.
    f1_weighted
        Mean weighted by the gold counts.
    accuracy
        Share of pairs that are equal.
    n, n_missing
        Pairs used and dropped.
    undefined_reason
        Why the values are NaN, or None.
    """

    f1_macro: float
    f1_weighted: float
    precision_macro: float
    recall_macro: float
    accuracy: float
    n: int
    n_missing: int
    undefined_reason: str | None = None


def class_scores(gold: NDArray[np.object_], answer: NDArray[np.object_]) -> ClassScores:
    """Average precision, recall and F1 of labels against gold.

    A class that occurs on one side only has no true positives: its F1 is 0, and so is the precision or recall that
    would divide by nothing, as in the usual reference implementation. A class that occurs nowhere is not averaged.

    Parameters
    ----------
    gold, answer
        Labels, shape (n,); None or NaN is missing and dropped pairwise.
    """
    pairs = pair_labels(gold, answer)
    n, nan = pairs.gold.size, float("nan")
    if n == 0:
        return ClassScores(nan, nan, nan, nan, nan, 0, pairs.n_missing, "no pairs")
    table = pairs.table.astype(np.float64)
    hit, in_gold, in_answer = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    f1 = 2.0 * hit / (in_gold + in_answer)
    return ClassScores(
        f1_macro=float(f1.mean()),
        f1_weighted=float(f1 @ in_gold) / n,
        precision_macro=float(np.mean(hit / np.maximum(in_answer, 1.0))),
        recall_macro=float(np.mean(hit / np.maximum(in_gold, 1.0))),
        accuracy=float(hit.sum()) / n,
        n=n,
        n_missing=pairs.n_missing,
    )
