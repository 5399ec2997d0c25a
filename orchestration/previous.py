"""What readers saw before the refresh under way: the leaderboard of the published file, kept to compare with.

The published file stays as it is until the refresh ends, so a refresh that is broken off and begun again compares with
the same leaderboard. Does not compare (``marts.refresh_diff`` does).
"""

import contextlib
from dataclasses import dataclass

import duckdb
import polars as pl

from inference.rows import columns, frame_of
from orchestration.settings import Settings
from orchestration.warehouse import connect, ensure_tables, read_frame, replace_rows, transaction

TABLE = "meta.previous_leaderboard"


@dataclass(frozen=True, slots=True)
class PreviousRow:
    """A line of the leaderboard that was published when the refresh began. Key: dataset, rater_id."""

    dataset: str
    """Data set."""
    rater_id: str
    """Rater."""
    rank: int | None
    """Rank by theta."""
    theta: float | None
    """Ability."""
    theta_se: float | None
    """Standard error of theta."""
    accuracy: float | None
    """Share of right answers among the answered."""


def published_leaderboard(settings: Settings) -> pl.DataFrame:
    """Return what is published now (PreviousRow); empty where nothing is, or nothing that can be read."""
    if settings.analyst.exists():
        names = ", ".join(column.name for column in columns(PreviousRow))
        # a file that is damaged, or older than one of the columns, is replaced by this refresh: nothing to compare with
        with contextlib.suppress(duckdb.Error), connect(settings.analyst, read_only=True) as connection:
            return read_frame(connection, f"select {names} from marts.leaderboard order by all")
    return frame_of(PreviousRow, [])


def keep_previous(settings: Settings) -> int:
    """Copy what is published now into the warehouse and return its number of rows."""
    before = published_leaderboard(settings)
    with connect(settings.warehouse) as connection, transaction(connection):
        connection.execute("create schema if not exists meta")
        ensure_tables(connection, {TABLE: columns(PreviousRow)})
        replace_rows(connection, {TABLE: before})
    return before.height
