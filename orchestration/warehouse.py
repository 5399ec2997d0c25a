"""The working database: connections, tables made from their declarations, and whole-table writes.

Every connection of the house to ``warehouse.duckdb`` is opened here, briefly, and closed again. Does not hold SQL
models (dbt), what is written into raw (:mod:`orchestration.intake`) or the files that readers open
(:mod:`orchestration.publish`).
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import duckdb
import polars as pl
import psutil

from inference.rows import RAW_TABLES, Column, columns

SCHEMAS = ("raw", "staging", "core", "psychometrics", "marts", "meta")
SQL_TYPES: dict[type, str] = {
    str: "varchar",
    int: "bigint",
    float: "double",
    bool: "boolean",
    datetime: "timestamp with time zone",
}
WAIT_SECONDS = 30.0
_HOLDER = re.compile(r"PID (\d+)")


class WarehouseBusyError(RuntimeError):
    """Another process holds the warehouse and kept it for longer than this one was ready to wait."""


class WarehouseDamagedError(duckdb.IOException):
    """The file cannot be opened as a DuckDB database."""


def command_of(pid: int) -> str:
    """Return the command line of a process on one line, or a note that it is gone."""
    try:
        words = " ".join(psutil.Process(pid).cmdline()).split()
    except psutil.Error:
        return "no longer running"
    return " ".join(words)[:160] or "unknown command"


def _is_lock_conflict(error: duckdb.Error) -> bool:
    """Tell a held lock from any other failure to open; DuckDB has no error code for it."""
    return "lock" in str(error).lower() and "conflicting" in str(error).lower()


def _busy(path: Path, error: duckdb.Error, waited: float) -> WarehouseBusyError:
    found = _HOLDER.search(str(error))
    holder = f"PID {found[1]} ({command_of(int(found[1]))})" if found else "another process"
    return WarehouseBusyError(
        f"{path}: held by {holder} for more than {waited:.0f} s; wait for it to end, or end it, and run again"
    )


@contextmanager
def connect(
    path: Path, *, read_only: bool = False, wait_seconds: float = WAIT_SECONDS
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB file for a short while, waiting for another process to let go of it.

    Parameters
    ----------
    path
        Database file; made where it does not exist, unless `read_only`.
    read_only
        Open for reading; several readers may hold the file at once, but none beside a writer.
    wait_seconds
        How long to keep trying, in seconds.

    Raises
    ------
    WarehouseBusyError
        If another process kept the file for all that time; the message names its PID and command.
    WarehouseDamagedError
        If DuckDB cannot open the file.
    """
    if not read_only:
        path.parent.mkdir(parents=True, exist_ok=True)
    deadline, pause = time.monotonic() + wait_seconds, 0.02
    while True:
        try:
            connection = duckdb.connect(str(path), read_only=read_only)
            break
        except duckdb.IOException as error:
            if not _is_lock_conflict(error):
                reason = " ".join(str(error).split())
                raise WarehouseDamagedError(
                    f"{path}: cannot be opened ({reason}); if it is damaged move it away: the next run makes it again"
                ) from error
            if time.monotonic() >= deadline:
                raise _busy(path, error, wait_seconds) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)
    try:
        connection.execute("set timezone = 'UTC'")
        yield connection
    finally:
        connection.close()


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Run the body as one transaction: all of it or nothing."""
    connection.execute("begin")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def quote(name: str) -> str:
    """Quote an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def _create_statements(table: str, declared: Sequence[Column]) -> list[str]:
    body = ", ".join(f"{quote(c.name)} {SQL_TYPES[c.type]}{'' if c.is_nullable else ' not null'}" for c in declared)
    comments = [f"comment on column {table}.{quote(c.name)} is {literal(c.description)}" for c in declared]
    return [f"create table {table} ({body})", *comments]


def ensure_tables(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Sequence[Column]]) -> None:
    """Make tables from their declarations, by `schema.table`, or add the columns that newer declarations have.

    A column added to a table that has rows is null in them, whatever the declaration says: nothing is made up.
    """
    found = connection.execute(
        "select schema_name || '.' || table_name, list(column_name) from duckdb_columns() "
        "where database_name = current_database() group by all"
    )
    existing: dict[str, list[str]] = dict(found.fetchall())
    for table, declared in tables.items():
        if table not in existing:
            for statement in _create_statements(table, declared):
                connection.execute(statement)
            continue
        for column in declared:
            if column.name not in existing[table]:
                connection.execute(f"alter table {table} add column {quote(column.name)} {SQL_TYPES[column.type]}")
                connection.execute(f"comment on column {table}.{quote(column.name)} is {literal(column.description)}")


def create_schemas(connection: duckdb.DuckDBPyConnection) -> None:
    """Make every schema that is missing."""
    for schema in SCHEMAS:
        connection.execute(f"create schema if not exists {schema}")


def create_raw_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Make every raw table that is missing, from the declarations in :mod:`inference.rows`."""
    create_schemas(connection)
    ensure_tables(connection, {f"raw.{name}": columns(row) for name, row in RAW_TABLES.items()})


def insert(connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> None:
    """Append a frame to a table by column name."""
    if frame.is_empty():
        return
    connection.register("_incoming", frame.to_arrow())
    connection.execute(f"insert into {table} by name select * from _incoming")
    connection.unregister("_incoming")


def replace_rows(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pl.DataFrame]) -> None:
    """Replace the rows of whole tables inside the caller's transaction."""
    for table, frame in tables.items():
        connection.execute(f"delete from {table}")
        insert(connection, table, frame)


def read_frame(connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[object] = ()) -> pl.DataFrame:
    """Run a query and return a polars frame."""
    return connection.execute(query, list(parameters)).pl()
