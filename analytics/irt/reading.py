"""From labelled data to the container that models read.

Holds the two doors, a table and long triples, with their checks. No file is opened here.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from analytics.irt.responses import CodeArray, FloatArray, IntArray, Responses, compressed, dense_table

MAX_SCORE = 126
DENSE_FROM = 0.2  # share of observed cells from which one byte a cell is smaller and faster than compressed rows


def responses_from_matrix(
    matrix: ArrayLike,
    *,
    person_ids: Sequence[Hashable] | None = None,
    item_ids: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
) -> Responses:
    """Build responses from a table.

    Parameters
    ----------
    matrix
        Shape (n_persons, n_items). Whole numbers from 0; NaN is a missing cell (in an integer array, any negative).
    person_ids, item_ids
        Labels; ``P1, P2, ...`` and ``I1, I2, ...`` where not given.
    weights
        Shape (n_persons,), frequencies of the rows.

    Raises
    ------
    ValueError
        If a cell is not a whole number from 0 to 126, the shape is not two-dimensional, or labels are not unique.
    """
    array = np.asarray(matrix)
    if array.ndim != 2:
        raise ValueError(f"responses have {array.ndim} dimension(s); expected persons x items")
    persons, items = _labels(person_ids, array.shape[0], "P"), _labels(item_ids, array.shape[1], "I")
    if array.dtype.kind in "bui":
        high = int(array.max(initial=0))
        if high > MAX_SCORE:
            raise ValueError(f"score {high} is above the highest score allowed, {MAX_SCORE}")
        dense = array.astype(np.int8, order="C")
    else:
        floats = np.ascontiguousarray(array, dtype=np.float64)
        dense = np.empty(floats.shape, dtype=np.int8)
        bad = int(_encode(floats, dense))
        if bad >= 0:
            row, column = divmod(bad, array.shape[1])
            raise ValueError(
                f"response {array[row, column]!r} of person {persons[row]!r} to item {items[column]!r} "
                f"is not a whole number from 0 to {MAX_SCORE}, nor NaN for missing"
            )
    full = dense_table(persons, items, _weights(weights, len(persons)), dense)
    if full.n_observed >= DENSE_FROM * dense.size:
        return full
    return compressed(persons, items, full.weights, *full.triples())


def responses_from_long(
    person_codes: ArrayLike,
    item_codes: ArrayLike,
    values: ArrayLike,
    *,
    person_ids: Sequence[Hashable],
    item_ids: Sequence[Hashable],
    weights: ArrayLike | None = None,
) -> Responses:
    """Build responses from long triples; memory grows with what is observed, not with persons x items.

    Parameters
    ----------
    person_codes, item_codes
        Shape (n,), positions in `person_ids` and `item_ids` (see :func:`first_seen`).
    values
        Shape (n,), scores; a NaN is a missing cell and is left out.
    person_ids, item_ids, weights
        As for :func:`responses_from_matrix`.

    Raises
    ------
    ValueError
        If a person answers an item twice (both are named) or a score is not allowed.
    """
    persons, items = _labels(person_ids, len(person_ids), "P"), _labels(item_ids, len(item_ids), "I")
    scores = np.asarray(values, dtype=np.float64)
    seen = ~np.isnan(scores)
    rows = np.asarray(person_codes, dtype=np.int64)[seen]
    columns = np.asarray(item_codes, dtype=np.int64)[seen]
    codes = np.empty((1, len(rows)), dtype=np.int8)
    bad = int(_encode(scores[seen][None, :], codes))
    if bad >= 0:
        raise ValueError(
            f"response {scores[seen][bad]!r} of person {persons[rows[bad]]!r} to item {items[columns[bad]]!r} "
            f"is not a whole number from 0 to {MAX_SCORE}"
        )
    order = np.lexsort((columns, rows))
    rows, columns, cells = rows[order], columns[order], codes[0, order]
    twice = np.flatnonzero((np.diff(rows) == 0) & (np.diff(columns) == 0))
    if len(twice):
        raise ValueError(
            f"person {persons[rows[twice[0]]]!r} answers item {items[columns[twice[0]]]!r} more than once "
            f"({len(twice)} such cell(s)); keep one response a cell"
        )
    row_weights = _weights(weights, len(persons))
    if len(cells) >= DENSE_FROM * len(persons) * len(items):
        dense = np.full((len(persons), len(items)), -1, dtype=np.int8)
        dense[rows, columns] = cells
        return dense_table(persons, items, row_weights, dense)
    return compressed(persons, items, row_weights, rows, columns, cells)


def first_seen(labels: Sequence[Hashable]) -> tuple[tuple[str, ...], IntArray]:
    """Return the distinct labels as text in the order in which they first occur, and the code of each entry."""
    place: dict[str, int] = {}
    codes = np.fromiter((place.setdefault(str(label), len(place)) for label in labels), np.int64, len(labels))
    return tuple(place), codes


def _labels(labels: Sequence[Hashable] | None, n: int, prefix: str) -> tuple[str, ...]:
    """Return labels as text, made up where not given, refused where they do not fit or repeat."""
    if labels is None:
        return tuple(f"{prefix}{i + 1}" for i in range(n))
    texts = tuple(str(label) for label in labels)
    if len(texts) != n:
        raise ValueError(f"{len(texts)} labels for {n} rows or columns")
    if len(set(texts)) != n:
        again = next(text for i, text in enumerate(texts) if text in texts[:i])
        raise ValueError(f"label {again!r} occurs more than once; labels must be unique")
    return texts


def _weights(weights: ArrayLike | None, n: int) -> FloatArray:
    """Return one finite non-negative weight a row."""
    if weights is None:
        return np.ones(n)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,) or not np.all(np.isfinite(array)) or np.any(array < 0):
        raise ValueError(f"weights must be {n} finite numbers from 0, one a person; got shape {array.shape}")
    return array


@njit(cache=True)
def _encode(floats: FloatArray, codes: CodeArray) -> int:
    """Write scores as int8 (-1 for NaN); return the flat position of the first cell that is not allowed, or -1."""
    for i in range(floats.shape[0]):
        for j in range(floats.shape[1]):
            value = floats[i, j]
            if value != value:
                codes[i, j] = -1
            elif value < 0 or value > MAX_SCORE or value != np.floor(value):
                return int(i * floats.shape[1] + j)
            else:
                codes[i, j] = np.int8(value)
    return -1
