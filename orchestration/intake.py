"""What enters ``raw``: journal chunks, and the mirror of registry and banks.

Each function is one transaction: a chunk lands whole or not at all, and the mirror changes whole or not at all. Does
not read banks or journals' contents in Python (:mod:`inference`), and does not decide what is current (dbt does).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from inference.landing import ChunkError, chunk_files, validate_chunk
from inference.rows import RAW_TABLES, ResponseRow, columns
from orchestration.warehouse import connect, create_raw_tables, insert, quote, replace_rows, transaction

BANK_TABLES = ("datasets", "items", "item_options", "reference_answers", "human_item_statistics")
CHUNKS_PER_TRANSACTION = 200
_RESPONSE_COLUMNS = ", ".join(quote(column.name) for column in columns(ResponseRow))


@dataclass(frozen=True, slots=True)
class Landed:
    """What one landing brought."""

    n_chunks: int
    """Chunks that had not landed before."""
    n_rows: int
    """Attempts that had not landed before."""


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    row = connection.execute(f"select count(*) from {table}").fetchone()
    assert row is not None
    return int(row[0])


_INCOMING = "read_parquet(?, union_by_name = true, filename = true, file_row_number = true)"
_SUPERFLUOUS = f"""
create or replace temp table superfluous as
with incoming as (select attempt_id, finished_at, filename, file_row_number from {_INCOMING}),
twice as (select attempt_id from incoming group by attempt_id having count(*) > 1)
select filename, file_row_number from incoming semi join twice using (attempt_id)
qualify row_number() over (partition by attempt_id order by finished_at, filename, file_row_number) > 1
union
select filename, file_row_number from incoming semi join raw.responses using (attempt_id)
"""


def _land(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], journal: Path) -> None:
    """Insert the rows, prompts and ids of some chunks; duplicates inside them and against raw are left out.

    Which rows those are is found from narrow columns first: whole rows are read once, and straight into their table.
    """
    names = [str(file) for file in files]
    connection.execute(_SUPERFLUOUS, [names])
    connection.execute(
        f"insert into raw.responses by name select {_RESPONSE_COLUMNS} from {_INCOMING} "
        "anti join superfluous using (filename, file_row_number)",
        [names],
    )
    connection.execute(
        f"insert into raw.prompts by name select prompt_hash, any_value(messages) as messages from {_INCOMING} "
        "where messages is not null and prompt_hash not in (select prompt_hash from raw.prompts) group by prompt_hash",
        [names],
    )
    counts = dict(
        connection.execute(f"select filename, count(*) from {_INCOMING} group by filename", [names]).fetchall()
    )
    connection.executemany(
        "insert into raw.chunks values (?, ?, ?, now())",
        [[file.stem, file.relative_to(journal).as_posix(), counts.get(str(file), 0)] for file in files],
    )


def _check_pages(files: Sequence[Path]) -> None:
    """Read whole chunks where landing them has failed: a whole footer says nothing about the pages before it."""
    with duckdb.connect() as connection:
        for file in files:
            try:
                connection.execute("create or replace temp table pages as from read_parquet(?)", [str(file)])
            except duckdb.Error as problem:
                reason = " ".join(str(problem).split())
                raise ChunkError(
                    f"{file}: damaged chunk ({reason}); move it out of the journal, its requests will be asked again"
                ) from problem


def land_chunks(warehouse: Path, journal: Path) -> Landed:
    """Bring every chunk of the journal that has not landed yet into raw.

    Parameters
    ----------
    warehouse
        Working database.
    journal
        Folder with the chunks.

    Raises
    ------
    ChunkError
        If a new chunk is damaged; it and the chunks of its transaction do not land.
    WarehouseBusyError
        If another process keeps the warehouse.
    """
    files = chunk_files(journal)
    with connect(warehouse) as connection:
        create_raw_tables(connection)
        landed = {str(row[0]) for row in connection.execute("select chunk_id from raw.chunks").fetchall()}
        new = [file for file in files if file.stem not in landed]
        for file in new:
            validate_chunk(file)
        n_before = _count(connection, "raw.responses")
        for start in range(0, len(new), CHUNKS_PER_TRANSACTION):
            some = new[start : start + CHUNKS_PER_TRANSACTION]
            try:
                with transaction(connection):
                    _land(connection, some, journal)
            except duckdb.Error:
                _check_pages(some)
                raise
        return Landed(len(new), _count(connection, "raw.responses") - n_before)


def _append_loads(connection: duckdb.DuckDBPyConnection, banks: Sequence[Mapping[str, pl.DataFrame]]) -> None:
    """Append bank readings that raw does not have, and say which readings are current."""
    known = {str(row[0]) for row in connection.execute("select load_id from raw.loads").fetchall()}
    current = []
    for frames in banks:
        load_id = frames["loads"]["load_id"][0]
        current.append([load_id])
        if load_id not in known:
            for table, frame in frames.items():
                insert(connection, f"raw.{table}", frame)
    connection.execute("update raw.loads set is_current = false where is_current")
    if current:
        connection.executemany("update raw.loads set is_current = true where load_id = ?", current)


def _merge_raters(connection: duckdb.DuckDBPyConnection, raters: pl.DataFrame) -> None:
    """Bring the raters named now up to date; raters seen before are kept, and not active."""
    connection.execute("update raw.raters set is_active = false where is_active")
    connection.register("_raters", raters.to_arrow())
    connection.execute("delete from raw.raters where rater_id in (select rater_id from _raters)")
    connection.unregister("_raters")
    insert(connection, "raw.raters", raters)


def mirror(
    warehouse: Path,
    *,
    banks: Sequence[Mapping[str, pl.DataFrame]],
    labels: pl.DataFrame,
    raters: pl.DataFrame,
    requests: pl.DataFrame,
) -> None:
    """Make raw say what registry and banks say now.

    Parameters
    ----------
    warehouse
        Working database.
    banks
        Frames of each bank by table, ``loads`` with one row among them; appended under their load.
    labels, raters, requests
        Frames by the declarations in :mod:`inference.rows`.
    """
    with connect(warehouse) as connection:
        create_raw_tables(connection)
        with transaction(connection):
            _append_loads(connection, banks)
            _merge_raters(connection, raters)
            replace_rows(connection, {"raw.labels": labels, "raw.requests": requests})


def count_rows(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return the number of rows of every raw table."""
    return {table: _count(connection, f"raw.{table}") for table in RAW_TABLES}


def landed_requests(connection: duckdb.DuckDBPyConnection, raters: Collection[str] = ()) -> pl.DataFrame:
    """Return request_id, n_attempts and is_done of every request that has an attempt; of some raters where named."""
    where = "where rater_id in (select unnest(?))" if raters else ""
    return connection.execute(
        "select request_id, count(*) as n_attempts, bool_or(error_kind is distinct from 'retryable') as is_done "
        f"from raw.responses {where} group by request_id",
        [sorted(raters)] if raters else [],
    ).pl()


def bound_settings(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the settings hash that each rater id is bound to: the one under which it last answered.

    A rater that has never answered is bound to nothing, so its entry may be edited freely until then.
    """
    query = "select rater_id, arg_max(settings_hash, finished_at) from raw.responses group by rater_id"
    return dict(connection.execute(query).fetchall())
