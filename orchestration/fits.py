"""Takes the response matrix to the statisticians and their tables back to the warehouse.

Holds the query and the writing. Does not hold statistics (:mod:`analytics`).
"""

import hashlib
import io
from collections.abc import Mapping, Set

import duckdb
import polars as pl
from threadpoolctl import threadpool_limits

from analytics.schemas import PSYCHOMETRICS
from analytics.table_schema import Table
from analytics.tables import fit_dataset
from inference.identity import hash_of
from inference.registry import Registry
from orchestration import generations
from orchestration.freshness import folder_hash
from orchestration.house import House
from orchestration.warehouse import connect, insert, literal, quote, read_frame, transaction

CELLS = """
select m.dataset, m.rater_id, t.model, m.item_id, m.testlet_id, m.is_correct, m.status,
       coalesce(i.gold_label, i.answer_key) as gold_label,
       coalesce(r.answer_label, r.answer_choice) as answer_label
from core.response_matrix as m
join core.raters as t using (rater_id)
join core.items as i using (dataset, item_id)
left join core.responses as r
    on r.dataset = m.dataset and r.rater_id = m.rater_id and r.item_id = m.item_id and r.replicate = 0
order by m.dataset, m.rater_id, m.item_id
"""
SQL_TYPES: dict[type[pl.DataType], str] = {
    pl.String: "varchar",
    pl.Int64: "bigint",
    pl.Float64: "double",
    pl.Boolean: "boolean",
}


def read_cells(house: House) -> dict[str, pl.DataFrame]:
    """Read the response matrix with labels, long, one frame per data set."""
    with connect(house.settings.warehouse, read_only=True) as connection:
        cells = read_frame(connection, CELLS)
    return {str(key[0]): frame for key, frame in cells.group_by("dataset", maintain_order=True)}


def study_of(registry: Registry, dataset: str) -> str:
    """Return the studies that name a data set, joined by a comma."""
    return ",".join(sorted(name for name, study in registry.studies.items() if dataset in study.datasets))


def input_hashes(cells: Mapping[str, pl.DataFrame], registry: Registry) -> dict[str, str]:
    """Return, per data set, the hash of everything that its fits are computed from: cells, study and code."""
    code = folder_hash("analytics")
    return {
        name: hash_of([code, study_of(registry, name), hashlib.sha256(_bytes_of(frame)).hexdigest()])
        for name, frame in cells.items()
    }


def _bytes_of(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compression="uncompressed")
    return buffer.getvalue()


def fit_all(cells: Mapping[str, pl.DataFrame], registry: Registry) -> dict[str, pl.DataFrame]:
    """Fit every data set and return the rows of every psychometrics table."""
    # thousands of small matrices: further threads of BLAS would only wait for one another
    with threadpool_limits(1, user_api="blas"):
        fitted = [
            fit_dataset(frame, dataset=name, study=study_of(registry, name)).frames() for name, frame in cells.items()
        ]
    return {
        name: pl.concat([frames[name] for frames in fitted]) if fitted else pl.DataFrame(schema=table.schema)
        for name, table in PSYCHOMETRICS.items()
    }


def _create_statements(table: Table) -> list[str]:
    name = f"psychometrics.{table.name}"
    body = ", ".join(
        f"{quote(c.name)} {SQL_TYPES[c.dtype]}{' not null' if c.name in table.key else ''}" for c in table.columns
    )
    comments = [f"comment on column {name}.{quote(c.name)} is {literal(c.description)}" for c in table.columns]
    return [
        f"create or replace table {name} ({body})",
        f"comment on table {name} is {literal(table.description)}",
        *comments,
    ]


def _declaration_hash() -> str:
    return hash_of([_create_statements(table) for table in PSYCHOMETRICS.values()])


def _ensure_notes(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table that says what each data set's fits were computed from."""
    connection.execute("create schema if not exists meta")
    connection.execute("create table if not exists meta.fits (dataset varchar, input_hash varchar, declared varchar)")


def kept_fits(connection: duckdb.DuckDBPyConnection, hashes: Mapping[str, str]) -> set[str]:
    """Return the data sets whose fits stand already, computed from the very same input."""
    _ensure_notes(connection)
    found = connection.execute("select dataset, input_hash from meta.fits where declared = ?", [_declaration_hash()])
    return {str(name) for name, value in found.fetchall() if hashes.get(name) == value}


def write_fits(
    connection: duckdb.DuckDBPyConnection,
    frames: Mapping[str, pl.DataFrame],
    *,
    hashes: Mapping[str, str],
    kept: Set[str],
) -> None:
    """Replace the rows of every data set that is not kept, inside the caller's transaction.

    Parameters
    ----------
    connection
        Open warehouse.
    frames
        New rows by table.
    hashes
        Input hash of every data set that there is now.
    kept
        Data sets whose rows stay as they are.
    """
    connection.execute("create schema if not exists psychometrics")
    for name, table in PSYCHOMETRICS.items():
        if not kept:
            for statement in _create_statements(table):
                connection.execute(statement)
        connection.execute(f"delete from psychometrics.{name} where not list_contains(?, dataset)", [sorted(kept)])
        insert(connection, f"psychometrics.{name}", frames[name])
    _ensure_notes(connection)
    connection.execute("delete from meta.fits")
    rows = [[name, value, _declaration_hash()] for name, value in sorted(hashes.items())]
    if rows:
        connection.executemany("insert into meta.fits values (?, ?, ?)", rows)
    generations.record(connection, "psychometrics")


def refit(house: House, registry: Registry) -> dict[str, pl.DataFrame]:
    """Fit what has changed, or everything if the run is forced, and write it in one transaction.

    Returns
    -------
    dict
        New rows of every psychometrics table.
    """
    cells = read_cells(house)
    hashes = input_hashes(cells, registry)
    with connect(house.settings.warehouse) as connection:
        kept = set() if house.force else kept_fits(connection, hashes)
    frames = fit_all({name: frame for name, frame in cells.items() if name not in kept}, registry)
    with connect(house.settings.warehouse) as connection, transaction(connection):
        write_fits(connection, frames, hashes=hashes, kept=kept)
    return frames
