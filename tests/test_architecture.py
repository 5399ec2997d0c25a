"""The laws of the house: who may import whom, which layer reads which, one declaration per table."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
import yaml

from analytics.schemas import PSYCHOMETRICS
from inference.landing import CHUNK_SCHEMA
from inference.rows import RAW_TABLES, ResponseRow, columns, schema_of
from orchestration.previous import PreviousRow
from orchestration.settings import DBT_PROJECT_DIR, PROJECT_ROOT
from orchestration.warehouse import SQL_TYPES

ROOMS = ("inference", "analytics", "orchestration")
FORBIDDEN = {
    "inference": {"dagster", "dagster_dbt", "duckdb", "dbt", "analytics", "orchestration", "portal"},
    "analytics": {"dagster", "dagster_dbt", "duckdb", "dbt", "inference", "orchestration", "portal"},
    "orchestration": {"portal", "tests"},
}
LEAF = "orchestration.settings"
HEAVY = {"vllm", "torch", "sentence_transformers", "transformers", "ray"}
MAY_READ = {"staging": {"raw"}, "core": {"staging", "core"}, "marts": {"core", "psychometrics", "meta", "marts"}}
READS = re.compile(r"\{\{\s*(ref|source)\(\s*['\"](\w+)['\"](?:\s*,\s*['\"](\w+)['\"])?\s*\)")


def modules(room: str) -> list[Path]:
    return sorted((PROJECT_ROOT / room).rglob("*.py"))


def imports(nodes: list[ast.stmt] | Iterator[ast.AST]) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_table_of_rooms_allows(room: str) -> None:
    for file in modules(room):
        for name in imports(ast.walk(ast.parse(file.read_text(encoding="utf-8")))):
            if name.split(".")[0] in FORBIDDEN[room] and not f"{name}.".startswith(f"{LEAF}."):
                assert name == "orchestration", f"{file.relative_to(PROJECT_ROOT)} imports {name}"


def test_the_leaf_imports_nothing_of_the_project() -> None:
    tree = ast.parse((PROJECT_ROOT / "orchestration/settings.py").read_text(encoding="utf-8"))
    assert not {name.split(".")[0] for name in imports(ast.walk(tree))} & set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_heavy_libraries_are_imported_inside_functions(room: str) -> None:
    for file in modules(room):
        top = ast.parse(file.read_text(encoding="utf-8")).body
        assert not {name.split(".")[0] for name in imports(top)} & HEAVY, file.relative_to(PROJECT_ROOT)


def test_help_answers_quickly_because_it_loads_little() -> None:
    heavy = "{'dagster', 'dbt', 'torch', 'duckdb', 'polars'}"
    program = f"import sys, orchestration.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def models() -> list[tuple[str, Path]]:
    folder = DBT_PROJECT_DIR / "models"
    return [(file.relative_to(folder).parts[0], file) for file in sorted(folder.rglob("*.sql"))]


def test_no_model_reads_past_its_layer() -> None:
    layer_of = {file.stem: layer for layer, file in models()}
    assert set(layer_of.values()) == set(MAY_READ)
    for layer, file in models():
        for kind, first, second in READS.findall(file.read_text(encoding="utf-8")):
            read = first if kind == "source" else layer_of[first]
            assert read in MAY_READ[layer], f"{file.name} ({layer}) reads {first}.{second} ({read})"


def test_no_model_names_a_table_without_ref_or_source() -> None:
    direct = re.compile(r"\b(?:from|join)\s+(raw|staging|core|psychometrics|marts)\.\w+", re.IGNORECASE)
    for _, file in models():
        assert not direct.search(file.read_text(encoding="utf-8")), file.name


def described(kind: str) -> Iterator[dict[str, object]]:
    for file in sorted((DBT_PROJECT_DIR / "models").rglob("*.yml")):
        yield from (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).get(kind, [])


def test_contracts_are_enforced_on_core_and_marts() -> None:
    project = yaml.safe_load((DBT_PROJECT_DIR / "dbt_project.yml").read_text(encoding="utf-8"))
    for layer in ("core", "marts"):
        assert project["models"]["thetahouse"][layer]["+contract"] == {"enforced": True}
    for model in described("models"):
        assert "contract" not in model.get("config", {}), f"{model['name']} sets its own contract"
    names = {model["name"] for model in described("models")}
    assert {file.stem for _, file in models()} <= names, "every model is described"


def test_dbt_sources_declare_the_same_columns_as_python() -> None:
    declared = {
        "raw": {table: [column.name for column in columns(row)] for table, row in RAW_TABLES.items()},
        "psychometrics": {name: [column.name for column in table.columns] for name, table in PSYCHOMETRICS.items()},
        "meta": {"previous_leaderboard": [column.name for column in columns(PreviousRow)]},
    }
    for source in described("sources"):
        tables = {t["name"]: [c["name"] for c in t["columns"]] for t in source["tables"]}
        assert tables == declared[str(source["name"])]


def test_one_dataclass_declares_the_raw_response_row() -> None:
    chunk = pl.Schema({name: kind for name, kind in CHUNK_SCHEMA.items() if name != "messages"})
    assert chunk == schema_of(ResponseRow)
    assert {column.type for row in RAW_TABLES.values() for column in columns(row)} <= set(SQL_TYPES)


@pytest.mark.parametrize("room", ["inference", "analytics", "orchestration", "dbt_project"])
def test_outside_data_is_known_by_its_variables_only(room: str) -> None:
    words = re.compile(r"\.\./shared|/shared/data|THETAHOUSE_REFERENCE")
    for file in (PROJECT_ROOT / room).rglob("*"):
        if file.suffix in {".py", ".sql", ".yml"} and "target" not in file.parts:
            assert not words.search(file.read_text(encoding="utf-8")), file.relative_to(PROJECT_ROOT)
