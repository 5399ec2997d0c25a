"""What the declaration of a table is: columns, types, key, meaning, and the one function that makes a frame obey it.

Holds no table of its own (`schemas`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, polars type and meaning."""

    name: str
    dtype: type[pl.DataType]
    description: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: name, grain, key and columns in order."""

    name: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Column names and polars types."""
        return {column.name: column.dtype for column in self.columns}

    def frame(self, data: Mapping[str, object] | pl.DataFrame) -> pl.DataFrame:
        """Frame with exactly the declared columns and types, NaN made null, sorted by the key.

        Raises
        ------
        ValueError
            If columns are missing or undeclared, a key value is null, or a key repeats.
        """
        frame = data if isinstance(data, pl.DataFrame) else pl.DataFrame(data, strict=False)
        wrong = set(frame.columns) ^ set(self.schema)
        if wrong:
            raise ValueError(f"table {self.name!r}: columns {sorted(wrong)} are missing or undeclared")
        floats = [column.name for column in self.columns if column.dtype == pl.Float64]
        frame = frame.select(pl.col(name).cast(dtype) for name, dtype in self.schema.items())
        frame = frame.with_columns(pl.col(floats).fill_nan(None)).sort(self.key)
        if frame.select(pl.any_horizontal(pl.col(self.key).is_null().any())).item():
            raise ValueError(f"table {self.name!r}: null in the key {self.key}")
        if frame.select(pl.struct(self.key).is_duplicated().any()).item():
            raise ValueError(f"table {self.name!r}: the key {self.key} repeats")
        return frame


def text(name: str, description: str) -> Column:
    """Declare a column of text."""
    return Column(name, pl.String, description)


def number(name: str, description: str) -> Column:
    """Declare a column of real numbers."""
    return Column(name, pl.Float64, description)


def count(name: str, description: str) -> Column:
    """Declare a column of whole numbers."""
    return Column(name, pl.Int64, description)


def flag(name: str, description: str) -> Column:
    """Declare a column of yes or no."""
    return Column(name, pl.Boolean, description)
