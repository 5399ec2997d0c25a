"""Takes the response matrix to the statisticians and their tables back to the warehouse.

Holds the query and the writing. Does not hold statistics (:mod:`analytics`).
"""

from collections.abc import Mapping

import duckdb
import polars as pl

from analytics.schemas import PSYCHOMETRICS, Table
from analytics.tables import fit_dataset
from inference.registry import Registry
from orchestration import generations
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


def fit_all(cells: Mapping[str, pl.DataFrame], registry: Registry) -> dict[str, pl.DataFrame]:
    """Fit every data set and return the rows of every psychometrics table."""
    fitted = [fit_dataset(frame, dataset=name, study=study_of(registry, name)).frames() for name, frame in cells.items()]
    return {
        name: pl.concat([frames[name] for frames in fitted]) if fitted else pl.DataFrame(schema=table.schema)
        for name, table in PSYCHOMETRICS.items()
    }


def create_table(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Make a psychometrics table anew from its declaration, comments included."""
    name = f"psychometrics.{table.name}"
    body = ", ".join(
        f"{quote(c.name)} {SQL_TYPES[c.dtype]}{' not null' if c.name in table.key else ''}" for c in table.columns
    )
    connection.execute(f"create or replace table {name} ({body})")
    connection.execute(f"comment on table {name} is {literal(table.description)}")
    for column in table.columns:
        connection.execute(f"comment on column {name}.{quote(column.name)} is {literal(column.description)}")


def write_fits(house: House, frames: Mapping[str, pl.DataFrame]) -> None:
    """Replace all psychometrics tables in one transaction."""
    with connect(house.settings.warehouse) as connection, transaction(connection):
        connection.execute("create schema if not exists psychometrics")
        for name, table in PSYCHOMETRICS.items():
            create_table(connection, table)
            insert(connection, f"psychometrics.{name}", frames[name])
        generations.record(connection, "psychometrics")
