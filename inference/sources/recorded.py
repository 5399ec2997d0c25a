"""Recorded responses: files of answers that somebody has already collected, cell by cell.

Knows which cells are whose. A cell is kept verbatim; what it means is for the parser to say.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inference.identity import encode_id
from inference.registry import RecordedSpec, Registry
from inference.sources.described import composite_ids, read_table, unique_ids
from inference.sources.tables import SHOWN, SourceError, TextTable, some


@dataclass(frozen=True, slots=True)
class RecordedRater:
    """The cells of one rater in one file."""

    rater_id: str
    """Model and condition, encoded."""
    model: str
    """Model."""
    condition: str
    """Condition."""
    column: str
    """Name in the file: the column's (wide) or the rater's (long)."""
    cells: Mapping[str, str]
    """Item -> cell, verbatim; an item without a row is absent."""
    cut_off: frozenset[str] = frozenset()
    """Items whose response the file says was cut off by length."""
    file: Path = field(default=Path(), compare=False)
    """File that holds them."""
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Item -> first line of the file on which it stands."""


def read_recorded(spec: RecordedSpec, registry: Registry) -> tuple[RecordedRater, ...]:
    """Read all raters of a recorded file.

    Raises
    ------
    SourceError
        A column is missing, an id stands twice, no column is a rater, or a rater's name does not split.
    """
    table = read_table(spec.table, registry.path_of(spec, spec.table.file))
    named = _wide(spec, table) if spec.raters.layout == "wide" else _long(spec, table)
    cut_off = _cut_off(spec, table)
    lines: dict[str, int] = {}
    for item_id, line in zip(composite_ids(table, spec.item_id), table.lines, strict=True):
        lines.setdefault(item_id, line)
    raters = []
    for column, cells in named.items():
        match = re.fullmatch(spec.raters.split_name, column)
        if match is None:
            raise SourceError(
                f"{table.path}: rater {column!r} does not split into a model and a condition; write it as "
                f"'model|condition', or say how it splits (split_name of {spec.name} in {spec.yaml}, now "
                f"{spec.raters.split_name})"
            )
        model, condition = match["model"], match["condition"] or "default"
        rater_id = encode_id([model, condition])
        cut = cut_off.get(column, frozenset())
        raters.append(RecordedRater(rater_id, model, condition, column, cells, cut, table.path, lines))
    return tuple(raters)


def check_items(spec: RecordedSpec, raters: tuple[RecordedRater, ...], known: set[str]) -> None:
    """Stop where a recorded file holds items that its data set lacks.

    Raises
    ------
    SourceError
        Some items are unknown; the message shows them with their lines, beside ids that are known.
    """
    unknown = {item: rater for rater in raters for item in rater.cells if item not in known}
    if unknown:
        items = sorted(unknown)
        lines = ", ".join(str(unknown[item].lines[item]) for item in items[:SHOWN])
        raise SourceError(
            f"{raters[0].file} ({spec.name}): {len(items)} {'id is' if len(items) == 1 else 'ids are'} not in data set "
            f"{spec.dataset}: {some(items)}, on {'line' if len(items) == 1 else 'lines'} {lines}; "
            f"ids there look like {some(sorted(known)[:3])}; correct the ids, the id column or the data set"
        )


def rater_columns(spec: RecordedSpec, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a wide file that are raters, in file order."""
    patterns = [re.compile(pattern) for pattern in spec.raters.columns if _is_pattern(pattern)]
    ids = set(spec.item_id)
    return tuple(
        column
        for column in columns
        if column not in ids
        and (column in spec.raters.columns or any(pattern.fullmatch(column) for pattern in patterns))
    )


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _wide(spec: RecordedSpec, table: TextTable) -> dict[str, dict[str, str]]:
    ids = unique_ids(table, spec.item_id)
    columns = rater_columns(spec, table.columns)
    if not columns:
        raise SourceError(
            f"{table.path}: no column is a rater by {list(spec.raters.columns)} of {spec.name} in {spec.yaml}; "
            f"it has {some(table.columns)}"
        )
    return {column: dict(zip(ids, table.column(column), strict=True)) for column in columns}


def _long(spec: RecordedSpec, table: TextTable) -> dict[str, dict[str, str]]:
    assert spec.raters.rater_column is not None
    assert spec.raters.value_column is not None
    unique_ids(table, (*spec.item_id, spec.raters.rater_column))
    named: dict[str, dict[str, str]] = {}
    rows = zip(
        composite_ids(table, spec.item_id),
        table.column(spec.raters.rater_column),
        table.column(spec.raters.value_column),
        strict=True,
    )
    for item_id, rater, value in rows:
        named.setdefault(rater, {})[item_id] = value
    return named


def _cut_off(spec: RecordedSpec, table: TextTable) -> dict[str, frozenset[str]]:
    """Return the items of each rater whose response was cut off, where the file says so."""
    if spec.raters.finish_column is None:
        return {}
    assert spec.raters.rater_column is not None
    cut: dict[str, set[str]] = {}
    rows = zip(
        composite_ids(table, spec.item_id),
        table.column(spec.raters.rater_column),
        table.column(spec.raters.finish_column),
        strict=True,
    )
    for item_id, rater, finish_reason in rows:
        if finish_reason == "length":
            cut.setdefault(rater, set()).add(item_id)
    return {rater: frozenset(items) for rater, items in cut.items()}
