"""The tables that Python writes are declared twice, for Python and for dbt; here the declarations meet."""

from datetime import datetime

import polars as pl
import pytest

from analytics.schemas import PSYCHOMETRICS
from inference.rows import RAW_TABLES, columns

SQL_TYPES = {
    str: "varchar", int: "bigint", float: "double", bool: "boolean", datetime: "timestamp with time zone",
    pl.String: "varchar", pl.Int64: "bigint", pl.Float64: "double", pl.Boolean: "boolean",
}  # fmt: skip
DECLARED = {f"raw.{name}": [(c.name, SQL_TYPES[c.type]) for c in columns(row)] for name, row in RAW_TABLES.items()} | {
    f"psychometrics.{name}": [(c.name, SQL_TYPES[c.dtype]) for c in table.columns]
    for name, table in PSYCHOMETRICS.items()
}


def sources(manifest):
    return {f"{s['source_name']}.{s['name']}": s for s in manifest["sources"].values()}


def test_dbt_knows_every_table_that_python_writes_and_no_other(manifest):
    # `meta` is bookkeeping of the wires; tests/test_architecture.py holds its columns
    assert {table for table in sources(manifest) if not table.startswith("meta.")} == set(DECLARED)


@pytest.mark.parametrize("table", sorted(DECLARED))
def test_columns_and_types_are_the_same_on_both_sides(manifest, table):
    source = sources(manifest)[table]
    found = [(c["name"], c["data_type"]) for c in source["columns"].values()]
    assert found == DECLARED[table]
    assert all(c["description"] for c in source["columns"].values())
    assert source["config"]["meta"]["dagster"]["asset_key"] == table.split(".")


def test_every_model_has_a_primary_key_test_and_a_description_with_its_grain(manifest):
    models = {key: node for key, node in manifest["nodes"].items() if node["resource_type"] == "model"}
    keyed = {
        parent
        for node in manifest["nodes"].values()
        if node["resource_type"] == "test" and node["test_metadata"]["name"] == "primary_key"
        for parent in node["depends_on"]["nodes"]
    }
    assert set(models) <= keyed
    assert [node["name"] for node in models.values() if "One row per" not in node["description"]] == []


def test_core_and_marts_are_under_contract_and_columns_are_described(manifest):
    for node in manifest["nodes"].values():
        if node["resource_type"] != "model" or node["schema"] == "staging":
            continue
        if node["config"]["materialized"] == "ephemeral":
            continue
        assert node["contract"]["enforced"], node["name"]
        assert all(c["description"] for c in node["columns"].values()), node["name"]


def test_no_model_reads_past_its_layer(manifest):
    may_read = {"staging": {"raw"}, "core": {"staging", "core"}, "marts": {"core", "psychometrics", "marts", "meta"}}
    everything = manifest["nodes"] | manifest["sources"]
    for node in manifest["nodes"].values():
        if node["resource_type"] == "model":
            parents = {everything[parent]["schema"] for parent in node["depends_on"]["nodes"]}
            assert parents <= may_read[node["schema"]], node["name"]
