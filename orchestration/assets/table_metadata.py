"""What the page of a table shows beside its description: its number of rows, and for marts the first of them.

Read from the warehouse once the step that wrote the tables has given it back. Does not hold assets.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb
from dagster import AssetExecutionContext, AssetKey, MetadataValue, Output
from dagster_dbt.errors import DagsterDbtCliRuntimeError

from orchestration.house import House
from orchestration.warehouse import connect, quote

SHOWN_ROWS = 8
LONGEST_CELL = 40
SCHEMAS_WITH_ROWS = ("marts",)
"""Schemas whose rows are made to be looked at."""


def with_table_metadata(context: AssetExecutionContext, house: House, events: Iterable[Any]) -> Iterator[Any]:
    """Keep what dbt reports of tables until it has given the warehouse back; then pass it on with what they hold.

    Raises
    ------
    DagsterDbtCliRuntimeError
        If dbt failed; what it had done by then is passed on first.
    """
    kept: list[Output[Any]] = []
    failure = None
    try:
        for event in events:
            if isinstance(event, Output):
                kept.append(event)
            else:
                yield event  # tests are written down while dbt goes on
    except DagsterDbtCliRuntimeError as error:
        failure = error
    keys = {output.output_name: context.asset_key_for_output(output.output_name) for output in kept}
    shown = table_metadata(house, keys.values())
    for output in kept:
        found = shown.get(keys[output.output_name])
        yield output if found is None else output.with_metadata({**output.metadata, **found})
    if failure is not None:
        raise failure


def table_metadata(house: House, keys: Iterable[AssetKey]) -> dict[AssetKey, dict[str, Any]]:
    """Return Dagster's metadata of the tables named; views, whose rows would have to be computed, get none.

    Parameters
    ----------
    house
        Installation.
    keys
        Assets, each ``[schema, table]``.
    """
    with connect(house.settings.warehouse, read_only=True) as connection:
        found = connection.execute("select schema_name, table_name, estimated_size from duckdb_tables()").fetchall()
        sizes = {f"{schema}.{table}": int(n) for schema, table, n in found}
        named = {key: ".".join(key.path) for key in keys}
        return {key: _metadata(connection, key, sizes[name]) for key, name in named.items() if name in sizes}


def _metadata(connection: duckdb.DuckDBPyConnection, key: AssetKey, n_rows: int) -> dict[str, Any]:
    schema, table = key.path
    shown = {"dagster/row_count": n_rows}
    if schema not in SCHEMAS_WITH_ROWS or not n_rows:
        return shown
    rows = connection.execute(f"from {schema}.{quote(table)} limit {SHOWN_ROWS}")
    names = [column[0] for column in rows.description]
    return {**shown, "first rows": MetadataValue.md(markdown_table(names, rows.fetchall()))}


def markdown_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as a Markdown table; null is a dash, and what is long is cut."""
    lines = [names, ["---"] * len(names), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    text = f"{value:.3f}" if isinstance(value, float) else " ".join(str(value).split())
    text = text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
    return text.replace("|", "\\|")
