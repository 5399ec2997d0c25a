"""Columns of a file of responses, CSV or Parquet, each cell checked where it stands.

Holds opening and the reading of columns as labels, numbers or scores, with faults that name file, line, column, value
and remedy. Does not know wide from long (:mod:`orchestration.fitting_files`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from analytics.irt.responses import FloatArray
from inference.sources.tables import SourceError, read_text_table, some

BLANKS = ("", "NA")
"""Cells that are missing; NA is what R writes."""


@dataclass(frozen=True, slots=True)
class ResponseFile:
    """Columns of a file, and where each of its rows stands."""

    path: Path
    """File that was read."""
    frame: pl.DataFrame
    """Its columns; those of a text file are text."""
    lines: Sequence[int]
    """Number of each row in the file."""
    unit: str
    """What the number counts: ``line`` or, in Parquet, ``row``."""

    def at(self, row: int) -> str:
        """Name the place of a row in a message."""
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def texts(self, name: str) -> list[str]:
        """Return a column of labels, refusing a blank one."""
        texts = self.frame[name].cast(pl.String).fill_null("").str.strip_chars()
        if (blank := (texts == "").arg_max()) is not None and texts[blank] == "":
            raise SourceError(f"{self.at(blank)}, column {name!r}: blank; every row needs one, fill it in")
        return texts.to_list()

    def labels(self, name: str) -> list[str | None]:
        """Return a column of labels, None where it is blank or NA."""
        texts = self.frame[name].cast(pl.String).fill_null("").str.strip_chars()
        return [None if text in BLANKS else text for text in texts]

    def numbers(self, name: str) -> pl.Series:
        """Return a column as numbers, null where it is missing and NaN where it is no number."""
        column = self.frame[name]
        if column.dtype.is_numeric() or column.dtype == pl.Boolean:
            return column.cast(pl.Float64).fill_nan(None)
        text = column.cast(pl.String).fill_null("").str.strip_chars()
        number = text.cast(pl.Float64, strict=False).fill_null(float("nan"))
        return pl.select(pl.when(text.is_in(BLANKS)).then(None).otherwise(number)).to_series()

    def scores(self, name: str, highest: int) -> FloatArray:
        """Return a column of scores, NaN where missing, refusing what is not a whole number from 0 to `highest`."""
        numbers = self.numbers(name)
        values = numbers.fill_null(0.0).to_numpy()
        wrong = np.flatnonzero(~((values >= 0) & (values <= highest) & (values == np.floor(values))))
        if wrong.size:
            value = self.frame[name][int(wrong[0])]
            raise SourceError(
                f"{self.at(wrong[0])}, column {name!r}: {value!r} is not a score; allowed are whole numbers from 0 to "
                f"{highest}, and an empty cell or NA for missing; {_remedy(values[wrong[0]], highest)}"
            )
        return np.asarray(numbers.fill_null(float("nan")).to_numpy())

    def refuse_repeated(self, keys: Sequence[object], message: str) -> None:
        """Refuse a key that stands twice, naming both lines."""
        if len(set(keys)) == len(keys):
            return
        first: dict[object, int] = {}
        for row, key in enumerate(keys):
            if first.setdefault(key, row) != row:
                raise SourceError(f"{self.at(row)} (and {self.lines[first[key]]}): {message.format(key)}")


def open_file(path: Path) -> ResponseFile:
    """Read a file; text stays text, what Parquet says is a number is one.

    Raises
    ------
    SourceError
        If there is no such file, it cannot be read or it has no row.
    """
    refuse(path.is_dir(), f"{path}: a folder; name a file in it")
    if path.suffix != ".parquet":
        table = read_text_table(path, first_column="id")
        refuse(not table.rows, f"{path}: there is no row below the header; add the responses")
        columns = {name: table.column(name) for name in table.columns}
        return ResponseFile(path, pl.DataFrame(columns), table.lines, "line")
    refuse(not path.is_file(), f"{path}: no such file; correct the name, or put the file there")
    try:
        frame = pl.read_parquet(path)
    except pl.exceptions.PolarsError as fault:
        raise SourceError(f"{path}: not a Parquet file ({fault}); write it again, or use CSV") from fault
    refuse(frame.is_empty(), f"{path}: there is no row; add the responses")
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    refuse(
        bool(nested), f"{path}: column(s) {some(nested)} hold lists or structs; take them out, or give a cell one value"
    )
    return ResponseFile(path, frame, range(1, frame.height + 1), "row")


def refuse(is_wrong: bool, message: str) -> None:
    """Stop with a message that the person who named the file can act on."""
    if is_wrong:
        raise SourceError(message)


def _remedy(value: float, highest: int) -> str:
    if value > highest > 1 and np.isfinite(value):
        return f"group the scores so that none is above {highest}"
    if value > 1 and np.isfinite(value) and value == np.floor(value):
        return "fit grm, pcm, gpcm or mfrm to graded scores, or score the item 0/1"
    return "write the score as a number, or take the column out of the file if it is not an item"
