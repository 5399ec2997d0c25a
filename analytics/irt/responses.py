"""What every item response model reads: who answered what, one small integer a cell.

Holds the container of scored responses (dense for full tables, compressed rows for sparse ones) and its recoding to
consecutive categories. Building it from labelled data belongs to ``reading``; no model and no statistic belongs here.
"""

from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Responses:
    """Scored responses of persons (rows) to items (columns); the order of both is the order of the input.

    Attributes
    ----------
    person_ids, item_ids
        Labels, in first-seen order.
    weights
        Shape (n_persons,). Frequency of each row: a weight of 3 is the row three times.
    dense
        Shape (n_persons, n_items), the score or -1 for a missing cell; None when the responses are sparse.
    indptr, items, values
        Compressed rows of the observed cells when the responses are sparse, empty otherwise: row `i` owns
        ``items[indptr[i]:indptr[i + 1]]`` with the scores in ``values``.
    answered
        Shape (n_persons,), number of observed cells of each person.
    """

    person_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    weights: FloatArray
    dense: CodeArray | None
    indptr: IntArray
    items: IntArray
    values: CodeArray
    answered: IntArray

    @property
    def n_persons(self) -> int:
        """Number of rows."""
        return len(self.person_ids)

    @property
    def n_items(self) -> int:
        """Number of columns."""
        return len(self.item_ids)

    @property
    def n_observed(self) -> int:
        """Number of observed cells, unweighted."""
        return int(self.answered.sum())

    @property
    def highest_score(self) -> int:
        """Highest score observed, 0 where nothing was."""
        cells = self.values if self.dense is None else self.dense
        return max(int(cells.max(initial=0)), 0)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_persons, self.n_items

    def table(self) -> FloatArray:
        """Return a full table, NaN for missing, shape (n_persons, n_items)."""
        rows, items, values = self.triples()
        table = np.full(self.shape, np.nan)
        table[rows, items] = values
        return table

    @property
    def sum_scores(self) -> FloatArray:
        """Sum of the observed scores of each person, unweighted, shape (n_persons,)."""
        if self.dense is not None:
            return np.asarray(self.dense.sum(axis=1, dtype=np.float64, where=self.dense > 0))
        rows, _, values = self.triples()
        return np.bincount(rows, weights=values, minlength=self.n_persons).astype(np.float64)

    def triples(self) -> tuple[IntArray, IntArray, CodeArray]:
        """Return row, item and score of each observed cell, row by row, each of shape (n_observed,)."""
        if self.dense is None:
            return np.repeat(np.arange(self.n_persons), np.diff(self.indptr)), self.items, self.values
        rows, items = np.nonzero(self.dense >= 0)
        return rows, items, self.dense[rows, items]

    def category_counts(self, n_categories: int | None = None) -> FloatArray:
        """Return weighted counts of each score, shape (n_items, n_categories)."""
        highest = self.highest_score
        width = n_categories or max(highest, 1) + 1
        if self.dense is not None:
            counts = np.zeros((self.n_items, width))
            if highest == 1 and self.answered.min(initial=self.n_items) == self.n_items:
                counts[:, 1] = _weighted_sums(self.dense, self.weights)
                # added row by row like the column sums, so that the difference is exactly 0 for a constant item
                counts[:, 0] = np.cumsum(self.weights)[-1] - counts[:, 1]
            else:
                _tabulate(self.dense, self.weights, counts)
            return counts
        rows, items, values = self.triples()
        flat = np.bincount(items * width + values, weights=self.weights[rows], minlength=self.n_items * width)
        return flat.reshape(self.n_items, width).astype(np.float64)

    def take_items(self, index: IntArray) -> "Responses":
        """Return the responses to the items at `index`, in that order; persons stay, even those left without a cell."""
        ids = tuple(self.item_ids[j] for j in index)
        if self.dense is not None:
            return dense_table(self.person_ids, ids, self.weights, np.ascontiguousarray(self.dense[:, index]))
        place = np.full(self.n_items, -1)
        place[index] = np.arange(len(index))
        rows, items, values = self.triples()
        kept = place[items] >= 0
        return compressed(self.person_ids, ids, self.weights, rows[kept], place[items[kept]], values[kept])

    def mapped(self, table: CodeArray) -> "Responses":
        """Replace score `k` of item `j` by ``table[j, k]``, shape (n_items, highest score + 1)."""
        if self.dense is None:
            return replace(self, values=table[self.items, self.values])
        columns = np.arange(self.n_items)
        dense = np.where(self.dense >= 0, table[columns, np.maximum(self.dense, 0)], np.int8(-1)).astype(np.int8)
        return replace(self, dense=dense)


def recode_categories(
    responses: Responses, counts: FloatArray | None = None
) -> tuple[Responses, tuple[tuple[int, ...], ...]]:
    """Renumber the scores in use of each item 0, 1, 2, ... so that no category is empty.

    Parameters
    ----------
    responses
        Scores as given.
    counts
        Their :meth:`Responses.category_counts`, where the caller has them already.

    Returns
    -------
    tuple
        The recoded responses, and for each item the original scores in order (empty where nothing was observed).
    """
    used = (responses.category_counts() if counts is None else counts) > 0
    table = np.where(used, np.cumsum(used, axis=1) - 1, 0).astype(np.int8)
    patterns, kind = np.unique(used, axis=0, return_inverse=True)
    by_kind = [tuple(np.flatnonzero(pattern).tolist()) for pattern in patterns]
    scores = tuple(by_kind[k] for k in kind.tolist())
    if all(found == tuple(range(len(found))) for found in by_kind):
        return responses, scores
    return responses.mapped(table), scores


def missing_as_incorrect(responses: Responses) -> Responses:
    """Return the responses with score 0 in each missing cell (the policy ``incorrect``)."""
    rows, items, values = responses.triples()
    dense = np.zeros((responses.n_persons, responses.n_items), dtype=np.int8)
    dense[rows, items] = values
    return dense_table(responses.person_ids, responses.item_ids, responses.weights, dense)


def compressed(
    person_ids: tuple[str, ...],
    item_ids: tuple[str, ...],
    weights: FloatArray,
    rows: IntArray,
    items: IntArray,
    values: CodeArray,
) -> Responses:
    """Return compressed rows from triples sorted by row."""
    answered = np.bincount(rows, minlength=len(person_ids)).astype(np.int64)
    indptr = np.append(0, np.cumsum(answered)).astype(np.int64)
    return Responses(person_ids, item_ids, weights, None, indptr, items, values, answered)


def dense_table(
    person_ids: tuple[str, ...], item_ids: tuple[str, ...], weights: FloatArray, dense: CodeArray
) -> Responses:
    """Return responses that hold a full table."""
    nothing, answered = np.zeros(0, dtype=np.int64), np.empty(len(dense), dtype=np.int64)
    _count_rows(dense, answered)
    return Responses(person_ids, item_ids, weights, dense, nothing, nothing, nothing.astype(np.int8), answered)


@njit(cache=True)
def _tabulate(dense: CodeArray, weights: FloatArray, counts: FloatArray) -> None:
    """Add the weight of each observed cell to its item's score, rows in order."""
    for i in range(dense.shape[0]):
        for j in range(dense.shape[1]):
            if dense[i, j] >= 0:
                counts[j, dense[i, j]] += weights[i]


@njit(cache=True)
def _weighted_sums(dense: CodeArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of each column of a complete table: what to tabulate where scores are 0 and 1."""
    sums = np.zeros(dense.shape[1])
    for i in range(dense.shape[0]):
        weight = weights[i]
        for j in range(dense.shape[1]):
            sums[j] += weight * dense[i, j]
    return sums


@njit(cache=True)
def row_extremes(dense: CodeArray, low: IntArray, high: IntArray, result: IntArray) -> None:
    """Write -1, 0 or 1 for each row of a dense table; see ``design.extreme_persons``."""
    for i in range(dense.shape[0]):
        at_low, at_high, n = True, True, 0
        for j in range(dense.shape[1]):
            value = dense[i, j]
            if value >= 0 and low[j] < high[j]:
                n += 1
                at_low = at_low and value == low[j]
                at_high = at_high and value == high[j]
                if not (at_low or at_high):
                    break
        result[i] = 0 if n == 0 else (-1 if at_low else (1 if at_high else 0))


@njit(cache=True)
def _count_rows(dense: CodeArray, answered: IntArray) -> None:
    """Write the number of observed cells of each row."""
    for i in range(dense.shape[0]):
        n = 0
        for j in range(dense.shape[1]):
            n += dense[i, j] >= 0
        answered[i] = n
