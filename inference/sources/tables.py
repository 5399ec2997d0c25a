"""Text tables: any delimited file read without guessing, every cell as text.

The only place that opens a delimited file. Knows encodings, delimiters, quotes and line numbers, not items,
raters or golds. A cell is never a number, a date or a null here: `007` stays `007` and a blank stays ``""``.
"""

import contextlib
import csv
import gzip
import hashlib
import io
import logging
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.registry.bank_specs import Encoding
from inference.registry.yaml_files import nearest

_log = logging.getLogger(__name__)
_said: set[str] = set()
"""Contents that a notice has been given about."""

DELIMITERS = (",", ";", "\t")
CORRECT_COLUMN = "correct the column's name in the file or in the YAML that describes it"
"""Remedy for a column that is not there, where nobody knows a better one."""

SHOWN = 5
"""How many ids or values an error message lists before it says how many more there are."""


class SourceError(ValueError):
    """A file that cannot be used as it is; one line that names file, place, value and remedy."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A delimited file, cell by cell."""

    path: Path
    """File that was read."""
    columns: tuple[str, ...]
    """Column names in file order, each once."""
    rows: tuple[tuple[str, ...], ...]
    """Cells, shape (n_rows, n_columns); a blank cell is an empty string."""
    lines: tuple[int, ...]
    """Line of the file on which each row begins, counted from 1."""
    encoding: Encoding
    """How it was read: as declared, or `cp1252` where the bytes are not UTF-8."""

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of one column.

        Raises
        ------
        SourceError
            The file has no such column; the message lists those it has.
        """
        at = self._position(name)
        return tuple(row[at] for row in self.rows)

    def where(self, conditions: dict[str, str]) -> "TextTable":
        """Keep the rows whose cells equal all of the conditions (column -> value)."""
        wanted = [(self._position(name), value) for name, value in conditions.items()]
        keep = [i for i, row in enumerate(self.rows) if all(row[at] == value for at, value in wanted)]
        rows, lines = tuple(self.rows[i] for i in keep), tuple(self.lines[i] for i in keep)
        return TextTable(self.path, self.columns, rows, lines, self.encoding)

    def lacking(self, names: Sequence[str]) -> str:
        """Say which of the names are no columns, the nearest to each, and which columns there are; empty for none."""
        absent = [f"no column {name!r}{nearest(name, self.columns)}" for name in names if name not in self.columns]
        return f"{' and '.join(absent)}; it has {', '.join(map(repr, self.columns))}" if absent else ""

    def require(self, names: Sequence[str], remedy: str = CORRECT_COLUMN) -> None:
        """Stop where one of the columns is not there.

        Raises
        ------
        SourceError
            The message names all that are lacking, those there are, and the remedy.
        """
        if lacking := self.lacking(names):
            raise SourceError(f"{self.path}: {lacking}; {remedy}")

    def _position(self, name: str) -> int:
        self.require((name,))
        return self.columns.index(name)


def read_text_table(path: Path, *, encoding: Encoding = "utf-8", first_column: str = "") -> TextTable:
    """Read a delimited file (``.csv``, ``.tsv``, also ``.gz``) with every cell as text.

    A blank name of the first column (what R writes above row names) becomes `first_column`, where one is given.

    The delimiter is the one of comma, semicolon and tab that splits the header into most columns; data rows do not
    vote. Quotes are ``"``, doubled inside quotes; quoted line breaks and a byte-order mark are understood. Bytes that
    are not UTF-8 are read as cp1252, with a warning unless `encoding` says so.

    Raises
    ------
    SourceError
        The file is missing or empty, a column name is blank or stands twice, or a row has more or fewer cells.
    """
    text, found = _decode(path, encoding)
    if found != encoding:
        _say_once(path, text)
    delimiter = _sniff_delimiter(text)
    records = _records(path, text, delimiter)
    _, header = next(records, (0, []))
    columns = tuple((name.strip() or first_column) if at == 0 else name.strip() for at, name in enumerate(header))
    if not any(columns):
        raise SourceError(f"{path}: the file is empty; a header line with column names is needed")
    repeated = [name for name, n in Counter(columns).items() if n > 1 or not name]
    if repeated:
        raise SourceError(f"{path}, line 1: column {repeated[0]!r} is blank or stands twice; give each column one name")
    rows, lines = [], []
    for line, record in records:
        if len(record) != len(columns):
            raise SourceError(
                f"{path}, line {line}: {len(record)} cells where the header has {len(columns)} "
                f"(delimiter {delimiter!r}); quote cells that hold the delimiter or a line break"
            )
        rows.append(tuple(record))
        lines.append(line)
    return TextTable(path, columns, tuple(rows), tuple(lines), found)


def encoding_of(path: Path) -> Encoding:
    """Tell whether a file is UTF-8; what is not is taken for cp1252.

    Raises
    ------
    SourceError
        The file is missing, or it is no text.
    """
    return _decode(path, "utf-8")[1]


def first_repeated(keys: Sequence[str], lines: Sequence[int]) -> tuple[str, list[int]] | None:
    """Return the first key that stands more than once, with all its lines; None where every key is unique."""
    if len(set(keys)) == len(keys):
        return None
    repeated = next(key for key, n in Counter(keys).items() if n > 1)
    return repeated, [line for key, line in zip(keys, lines, strict=True) if key == repeated]


def some(values: Sequence[str]) -> str:
    """List a few values for a message and say how many more there are."""
    shown = ", ".join(map(repr, values[:SHOWN]))
    return shown if len(values) <= SHOWN else f"{shown} and {len(values) - SHOWN} more"


def _decode(path: Path, encoding: Encoding) -> tuple[str, Encoding]:
    """Return the text of a file and how it was read."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file; correct the name, or put the file there")
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as problem:
            raise SourceError(f"{path}: not a whole gzip file ({problem}); compress it again, or drop .gz") from None
    if b"\x00" in data:
        raise SourceError(f"{path}: holds NUL bytes, so it is not a text table in UTF-8 or cp1252; save it as UTF-8")
    if encoding == "utf-8":
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode("utf-8-sig"), "utf-8"
    # cp1252 leaves five bytes undefined; they become replacement signs instead of stopping the reading
    return data.decode("cp1252", errors="replace"), "cp1252"


def _say_once(path: Path, text: str) -> None:
    """Say that a file is not UTF-8, once however often it or its copy is read."""
    content = hashlib.sha256(text.encode()).hexdigest()
    if content not in _said:
        _said.add(content)
        _log.warning(
            "%s: not UTF-8, read as cp1252; save it as UTF-8 if letters look wrong (a registry entry may state "
            "encoding: cp1252)",
            path,
        )


def _sniff_delimiter(text: str) -> str:
    def n_columns(delimiter: str) -> int:
        return len(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), []))

    return max(DELIMITERS, key=n_columns)


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the line on which it begins; lines without any character are skipped."""
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
    except csv.Error as problem:
        raise SourceError(f"{path}, line {line}: {problem}; close or double the quote that opens there") from problem
