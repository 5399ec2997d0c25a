"""The response matrix: raters in rows, items in columns, NaN where nothing was observed.

Holds the one frozen matrix that every statistic reads and the scatter that builds it from long rows. Does not hold
statistics, and never pivots: long rows become integer codes, and codes are written into an array.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ResponseMatrix:
    """Responses of raters to items, with their labels.

    Attributes
    ----------
    responses
        Scores, shape (n_raters, n_items); NaN is missing.
    rater_ids
        Raters in row order, length n_raters.
    item_ids
        Items in column order, length n_items.
    testlet_ids
        Testlets, length n_testlets.
    item_testlet
        Index of each item's testlet in `testlet_ids`, shape (n_items,).
    rater_model
        Model of each rater, length n_raters; raters of one model are siblings.
    """

    responses: FloatArray
    rater_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    testlet_ids: tuple[str, ...]
    item_testlet: IntArray
    rater_model: tuple[str, ...]

    @property
    def n_raters(self) -> int:
        """Number of rows."""
        return len(self.rater_ids)

    @property
    def n_items(self) -> int:
        """Number of columns."""
        return len(self.item_ids)

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        return int(np.count_nonzero(~np.isnan(self.responses)))

    def model_codes(self) -> IntArray:
        """Index of each rater's model among the sorted models, shape (n_raters,)."""
        return np.unique(np.asarray(self.rater_model, dtype=object), return_inverse=True)[1].astype(np.int64)


def scatter_responses(
    *,
    rater: pl.Series,
    item: pl.Series,
    testlet: pl.Series,
    model: pl.Series,
    response: FloatArray,
) -> ResponseMatrix:
    """Build the matrix from long rows, one per rater and item.

    Rows, columns and testlets are sorted by label, so that the order of the rows never reaches a result.

    Parameters
    ----------
    rater, item, testlet, model
        Text labels of each row, length n_rows, none null. An item has one testlet and a rater one model.
    response
        Score of each row, shape (n_rows,); NaN is missing.

    Returns
    -------
    ResponseMatrix
        Cells that have no row are missing, as are rows whose response is NaN.

    Raises
    ------
    ValueError
        If a (rater, item) pair has two rows, an item two testlets, a rater two models, or a label is null; the
        message names them.
    """
    rater_ids, rater_code = _codes(rater)
    item_ids, item_code = _codes(item)
    testlet_ids, testlet_code = _codes(testlet)
    model_ids, model_code = _codes(model)
    cell = rater_code * len(item_ids) + item_code
    _refuse_duplicates(cell, rater_ids, item_ids)
    item_testlet = _one_parent(item_code, testlet_code, item_ids, testlet_ids, child="item", parent="testlet")
    rater_model = _one_parent(rater_code, model_code, rater_ids, model_ids, child="rater", parent="model")
    responses = np.full(len(rater_ids) * len(item_ids), np.nan)
    responses[cell] = response
    return ResponseMatrix(
        responses=responses.reshape(len(rater_ids), len(item_ids)),
        rater_ids=rater_ids,
        item_ids=item_ids,
        testlet_ids=testlet_ids,
        item_testlet=item_testlet,
        rater_model=tuple(model_ids[code] for code in rater_model),
    )


def _codes(labels: pl.Series) -> tuple[tuple[str, ...], IntArray]:
    """Sorted labels and the code of each row."""
    if labels.null_count():
        raise ValueError(f"{labels.null_count()} rows have no {labels.name or 'label'}")
    unique = labels.unique().sort()
    return tuple(unique), labels.cast(pl.Enum(unique)).to_physical().to_numpy().astype(np.int64)


def _refuse_duplicates(cell: IntArray, rater_ids: tuple[str, ...], item_ids: tuple[str, ...]) -> None:
    unique, counts = np.unique(cell, return_counts=True)
    if unique.size == cell.size:
        return
    repeated = unique[counts > 1]
    named = ", ".join(f"({rater_ids[c // len(item_ids)]}, {item_ids[c % len(item_ids)]})" for c in repeated[:5])
    raise ValueError(f"{repeated.size} (rater, item) pairs have more than one row: {named}; keep one row per pair")


def _one_parent(
    child_code: IntArray,
    parent_code: IntArray,
    child_ids: tuple[str, ...],
    parent_ids: tuple[str, ...],
    *,
    child: str,
    parent: str,
) -> IntArray:
    """Parent of each child, refusing a child with two."""
    found = np.zeros(len(child_ids), dtype=np.int64)
    found[child_code] = parent_code
    wrong = np.flatnonzero(found[child_code] != parent_code)
    if wrong.size:
        row = wrong[0]
        other, kept = parent_ids[parent_code[row]], parent_ids[found[child_code[row]]]
        raise ValueError(f"{child} {child_ids[child_code[row]]!r} has two {parent}s: {kept!r} and {other!r}")
    return found
