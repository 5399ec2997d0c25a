"""Connections, tables from declarations, transactions."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from inference.rows import RAW_TABLES, ChunkRow, columns
from orchestration.warehouse import (
    SQL_TYPES,
    WarehouseBusyError,
    WarehouseDamagedError,
    connect,
    create_raw_tables,
    ensure_tables,
    transaction,
)

HOLD = """
import duckdb, sys, time
held = duckdb.connect(sys.argv[1])
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


@contextmanager
def held_by_another_process(path: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield holder
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_raw_tables_have_the_declared_columns_types_and_comments(tmp_path: Path) -> None:
    with connect(tmp_path / "w.duckdb") as connection:
        create_raw_tables(connection)
        create_raw_tables(connection)  # making them twice changes nothing
        for table, row in RAW_TABLES.items():
            found = connection.execute(
                "select column_name, lower(data_type), is_nullable, comment from duckdb_columns() "
                "where schema_name = 'raw' and table_name = ? order by column_index",
                [table],
            ).fetchall()
            assert found == [(c.name, SQL_TYPES[c.type], c.is_nullable, c.description) for c in columns(row)]


def test_a_column_that_a_newer_declaration_adds_is_null_in_old_rows(tmp_path: Path) -> None:
    with connect(tmp_path / "w.duckdb") as connection:
        connection.execute("create schema raw")
        connection.execute("create table raw.chunks (chunk_id varchar not null)")
        connection.execute("insert into raw.chunks values ('007')")
        ensure_tables(connection, {"raw.chunks": columns(ChunkRow)})
        assert connection.execute("from raw.chunks").fetchall() == [("007", None, None, None)]


def test_a_lock_held_for_long_is_an_error_that_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with held_by_another_process(path, 60) as holder:
        message = rf"held by PID {holder.pid} \(.*python.*\).*run again"
        with pytest.raises(WarehouseBusyError, match=message) as caught, connect(path, wait_seconds=0.3):
            pass
        assert "\n" not in str(caught.value)


def test_a_lock_held_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    started = time.monotonic()
    with held_by_another_process(path, 0.7), connect(path, wait_seconds=30) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert time.monotonic() - started < 15


def test_an_error_that_is_no_lock_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    path.write_bytes(b"this is no database" * 500)
    with pytest.raises(WarehouseDamagedError, match="move it away"), connect(path, wait_seconds=30):
        pass


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with connect(tmp_path / "w.duckdb") as connection:
        connection.execute("create table t (x integer)")
        with pytest.raises(duckdb.ConversionException), transaction(connection):
            connection.execute("insert into t values (1); insert into t values ('x')")
        assert connection.execute("select count(*) from t").fetchone() == (0,)
