"""Tables as a registry entry describes them: which reader, which rows, which columns make the id.

The step between files (``tables``, ``semeval``) and what they mean (``banks``, ``recorded``).
"""

import math
import re
from collections.abc import Callable
from pathlib import Path

from inference.identity import encode_id
from inference.registry.bank_specs import TableSpec
from inference.sources.semeval import read_answers, read_references
from inference.sources.tables import SourceError, TextTable, first_repeated, read_text_table

_ARCHIVES: dict[str, Callable[[Path], TextTable]] = {
    "semeval_answers": read_answers,
    "semeval_references": read_references,
}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read_table(spec: TableSpec, path: Path) -> TextTable:
    """Read the rows that a table description asks for."""
    read = _ARCHIVES.get(spec.format)
    table = read_text_table(path, encoding=spec.encoding) if read is None else read(path)
    return table.where(spec.where)


def joined_ids(table: TextTable, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return one id per row from one or several columns, blank ones included."""
    parts = zip(*(table.column(name) for name in columns), strict=True)
    return tuple(cells[0] if len(columns) == 1 else encode_id(cells) for cells in parts)


def composite_ids(table: TextTable, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return one id per row from one or several columns.

    Raises
    ------
    SourceError
        An id is blank.
    """
    for *cells, line in zip(*(table.column(name) for name in columns), table.lines, strict=True):
        if not all(cells):
            raise SourceError(f"{table.path}, line {line}: {' or '.join(columns)} is blank; every row needs an id")
    return joined_ids(table, columns)


def unique_ids(table: TextTable, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return ids as :func:`composite_ids` does, and stop where one stands twice.

    Raises
    ------
    SourceError
        An id is blank or stands twice; the message gives its lines.
    """
    ids = composite_ids(table, columns)
    repeated = first_repeated(ids, table.lines)
    if repeated is not None:
        raise SourceError(
            f"{table.path}: {', '.join(columns)} {repeated[0]!r} stands on lines "
            f"{', '.join(map(str, repeated[1]))}; make ids unique, or name the further columns that belong to the key"
        )
    return ids


def optional(table: TextTable, column: str | None) -> tuple[str | None, ...]:
    """Return a column with blanks as null; all null where the description names no column."""
    if column is None:
        return (None,) * len(table.rows)
    return tuple(cell or None for cell in table.column(column))


def parse_number(cell: str) -> float:
    """Return the number that a cell holds; NaN where it holds none."""
    return float(cell) if _NUMBER.fullmatch(cell.strip()) else math.nan


def number(table: TextTable, line: int, column: str, cell: str | None) -> float | None:
    """Return the number in a cell; None where it is blank.

    Raises
    ------
    SourceError
        The cell holds something else.
    """
    if cell is None or not cell.strip():
        return None
    value = parse_number(cell)
    if not math.isfinite(value):
        raise SourceError(f"{table.path}, line {line}: {column} is {cell!r}; expected a number such as 3 or 0.5")
    return value
