"""The two files that readers open: built aside, renamed into place.

``analyst.duckdb`` holds core, psychometrics and marts of one refresh, and the raw text behind them; ``public.duckdb``
holds the marts that dbt marks as public. A reader always finds a whole file: the old one or the new one. Does not
decide what is in a table; which marts are public is written beside each mart (``meta: {public: true}``).
"""

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from orchestration import generations
from orchestration.warehouse import connect, literal, quote

ANALYST_SCHEMAS = ("core", "psychometrics", "marts")
RAW_TEXT_TABLES = ("responses", "prompts")
RAW_TEXT_VIEW = """
create view out.raw.texts as
select r.rater_id, r.dataset, r.item_id, r.replicate, r.attempt, r.attempt_id, r.request_id,
       p.messages, r.text, r.finish_reason, r.error_kind, r.error_message, r.finished_at
from raw.responses as r left join raw.prompts as p using (prompt_hash)
"""
ASIDE = ".building"
HOUSE = "warehouse"
"""Name under which the working file is attached: the one that dbt writes into its views."""


@dataclass(frozen=True, slots=True)
class Published:
    """What one publication wrote."""

    generation: int
    """Refresh that every table of the file belongs to."""
    n_rows: Mapping[str, int]
    """Rows of every table copied, by ``schema.table``."""
    n_bytes: int
    """Size of the file."""

    @property
    def n_tables(self) -> int:
        """Tables copied."""
        return len(self.n_rows)


def public_marts(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the marts that dbt marks as public, by name.

    Parameters
    ----------
    manifest
        dbt's manifest, parsed.
    """
    nodes = (node for node in manifest["nodes"].values() if node["resource_type"] == "model")
    public = [n["name"] for n in nodes if n["schema"] == "marts" and n["config"].get("meta", {}).get("public") is True]
    return tuple(sorted(public))


def _relations(connection: duckdb.DuckDBPyConnection, schema: str) -> list[str]:
    found = connection.execute(
        f"select table_name from information_schema.tables where table_catalog = '{HOUSE}' and table_schema = ? "
        "order by table_name",
        [schema],
    )
    return [str(row[0]) for row in found.fetchall()]


def _copy(connection: duckdb.DuckDBPyConnection, schema: str, table: str) -> None:
    """Copy one table or view with its column comments."""
    target = f"out.{schema}.{quote(table)}"
    connection.execute(f"create table {target} as from {HOUSE}.{schema}.{quote(table)}")
    comments = connection.execute(
        f"select column_name, comment from duckdb_columns() where database_name = '{HOUSE}' and schema_name = ? "
        "and table_name = ? and comment is not null",
        [schema, table],
    )
    for column, comment in comments.fetchall():
        connection.execute(f"comment on column {target}.{quote(column)} is {literal(comment)}")


def _write_meta(connection: duckdb.DuckDBPyConnection, generation: int) -> None:
    """Copy the history of refreshes; the row of this one, fingerprint included, is written last of all."""
    connection.execute("create schema out.meta")
    connection.execute(f"create table out.meta.refreshes as from {HOUSE}.meta.refreshes where false")
    connection.execute(
        f"insert into out.meta.refreshes from {HOUSE}.meta.refreshes where published_at is not null and generation < ?",
        [generation],
    )
    connection.execute(
        "insert into out.meta.refreshes select * replace (?::timestamptz as published_at) "
        f"from {HOUSE}.meta.refreshes where generation = ?",
        [datetime.now(UTC), generation],
    )


def _build(
    warehouse: Path, aside: Path, fill: Callable[[duckdb.DuckDBPyConnection], None]
) -> tuple[int, dict[str, int]]:
    """Fill a new file from the warehouse; return its generation and the rows of its tables."""
    with connect(Path(":memory:")) as connection:
        _attach(connection, warehouse)
        connection.execute(f"attach {literal(str(aside))} as out")
        connection.execute(f"use {HOUSE}")
        generation = generations.current(connection)
        connection.execute("use out")
        fill(connection)
        n_rows = _count_rows(connection)
        _write_meta(connection, generation)
        connection.execute("checkpoint out")
        connection.execute("use memory")
        connection.execute("detach out")
        connection.execute(f"detach {HOUSE}")
    return generation, n_rows


def _count_rows(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    found = connection.execute(
        "select schema_name || '.' || table_name, estimated_size from duckdb_tables() where database_name = 'out' "
        "order by all"
    )
    return {str(table): int(n) for table, n in found.fetchall()}


def _attach(connection: duckdb.DuckDBPyConnection, warehouse: Path) -> None:
    with connect(warehouse, read_only=True):
        pass  # waits for a writer, or names it
    connection.execute(f"attach {literal(str(warehouse))} as {HOUSE} (read_only)")


def _swap(aside: Path, target: Path) -> None:
    """Make the new file durable and put it in the place of the old one."""
    _sync(aside)
    aside.chmod(0o444)
    target.with_name(target.name + ".wal").unlink(missing_ok=True)
    aside.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _publish(warehouse: Path, target: Path, fill: Callable[[duckdb.DuckDBPyConnection], None]) -> Published:
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f"{target.name}{ASIDE}")
    for leftover in (aside, aside.with_name(aside.name + ".wal")):
        leftover.unlink(missing_ok=True)
    try:
        generation, n_rows = _build(warehouse, aside, fill)
        n_bytes = aside.stat().st_size
        _swap(aside, target)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
    return Published(generation, n_rows, n_bytes)


def _fill_analyst(connection: duckdb.DuckDBPyConnection) -> None:
    for schema in ANALYST_SCHEMAS:
        connection.execute(f"create schema out.{schema}")
        for table in _relations(connection, schema):
            _copy(connection, schema, table)
    connection.execute("create schema out.raw")
    for table in RAW_TEXT_TABLES:
        _copy(connection, "raw", table)
    connection.execute(RAW_TEXT_VIEW)


def _fill_public(connection: duckdb.DuckDBPyConnection, marts: Sequence[str]) -> None:
    connection.execute("create schema out.marts")
    for table in marts:
        _copy(connection, "marts", table)


def publish_analyst(warehouse: Path, target: Path) -> Published:
    """Build the analysts' file and put it in place.

    Raises
    ------
    MixedGenerationsError
        If core, psychometrics and marts do not belong to one refresh.
    WarehouseBusyError
        If another process keeps the warehouse.
    """
    return _publish(warehouse, target, _fill_analyst)


def publish_public(warehouse: Path, target: Path, manifest_file: Path) -> Published:
    """Build the public file from the marts on dbt's allow-list and put it in place.

    Raises
    ------
    MixedGenerationsError
        If core, psychometrics and marts do not belong to one refresh.
    WarehouseBusyError
        If another process keeps the warehouse.
    """
    marts = public_marts(json.loads(manifest_file.read_text(encoding="utf-8")))
    return _publish(warehouse, target, lambda connection: _fill_public(connection, marts))
