"""A small warehouse for the tests of the SQL: raw tables from their declarations, rows by hand, dbt as it is run."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from analytics.schemas import PSYCHOMETRICS
from inference.identity import attempt_id_of, hash_of, request_id_of
from inference.rows import RAW_TABLES, columns, schema_of
from orchestration.previous import PreviousRow

DBT_PROJECT = Path(__file__).resolve().parents[2] / "dbt_project"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class SmallWarehouse:
    """Raw rows in a fresh DuckDB file, and dbt over it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "warehouse.duckdb"
        self.folder = folder
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in RAW_TABLES}
        self.removed: list[dict[str, Any]] = []

    def add(self, table: str, **values: Any) -> None:
        self.rows[table].append({column.name: None for column in columns(RAW_TABLES[table])} | values)

    def label_set(self, name: str, labels: Mapping[str, Sequence[str]]) -> None:
        for position, (label, synonyms) in enumerate(labels.items()):
            for synonym in synonyms:
                self.add("labels", label_set=name, label=label, position=position, synonym=synonym)

    def dataset(self, dataset: str, kind: str, items: Sequence[Mapping[str, Any]], *, label_set: str = "") -> None:
        """Add a data set of its own bank; items are mappings of the columns that matter."""
        load_id = f"bank:{dataset}:{len(self.rows['loads'])}"
        now = {"loaded_at": NOW, "n_rows": len(items), "is_current": True, "fingerprint": "f"}
        self.add("loads", load_id=load_id, kind="bank", name=dataset, **now)
        named = {"bank": dataset, "benchmark": dataset, "title": dataset, "licence": "none", "gold_version": "g"}
        public = {"is_text_public": True, "is_gold_public": True, "source": "test"}
        paradigm = {"label": "asag", "score": "aes", "choice": "mcq"}[kind]
        scheme = {"response_kind": kind, "label_set": label_set or None, "paradigm": paradigm}
        self.add("datasets", load_id=load_id, dataset=dataset, **named, **public, **scheme)
        for item in items:
            options = item.get("options", "")
            scale = [kind, label_set, options, item.get("min_score"), item.get("max_score")]
            common = {"load_id": load_id, "dataset": dataset, "item_hash": "h", "scheme_hash": hash_of(scale)}
            default = {"testlet_id": "t", "split": "test"}
            self.add("items", **common, **default | {k: v for k, v in item.items() if k != "options"})
            for option in options:
                key = {"load_id": load_id, "dataset": dataset, "item_id": item["item_id"]}
                self.add("item_options", **key, option=option, option_text=f"option {option}")

    def rater(self, rater_id: str, *, task: str = "grade", is_active: bool = True, **values: Any) -> None:
        known = {"settings_hash": hash_of(rater_id), "settings": "{}", "engine": "recorded", "is_active": is_active}
        named = {"model": rater_id, "family": rater_id, "condition": "plain", "strategy": "plain"}
        self.add("raters", rater_id=rater_id, task=task, **named | known | values)

    def say(
        self, dataset: str, rater_id: str, item_id: str, *texts: str | None, replicate: int = 0, **values: Any
    ) -> None:
        """Plan a request and land one attempt per text."""
        key = {"rater_id": rater_id, "dataset": dataset, "item_id": item_id, "replicate": replicate}
        request_id = request_id_of(rater_id, dataset, item_id, replicate, "c")
        self.add("requests", request_id=request_id, content_hash="c", studies="test", **key)
        for attempt, text in enumerate(texts, start=1):
            made = {"settings_hash": hash_of(rater_id), "content_hash": "c", "engine": "recorded"}
            told = {"engine_version": "1", "finished_at": NOW, "chunk_id": "k", "finish_reason": "stop"}
            ids = {"attempt_id": attempt_id_of(request_id, attempt), "request_id": request_id, "attempt": attempt}
            self.add("responses", **ids, **key, text=text, **made | told | values)

    def write(self) -> None:
        """Replace the raw tables by the rows given so far."""
        with duckdb.connect(str(self.path)) as connection:
            for schema in ("raw", "psychometrics", "meta"):
                connection.execute(f"create schema if not exists {schema}")
            for name, row in RAW_TABLES.items():
                self._table(connection, f"raw.{name}", pl.DataFrame(self.rows[name], schema=schema_of(row)))
            for name, table in PSYCHOMETRICS.items():
                self._table(connection, f"psychometrics.{name}", pl.DataFrame(schema=table.schema))
            self._table(connection, "meta.previous_leaderboard", pl.DataFrame(schema=schema_of(PreviousRow)))

    def _table(self, connection: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
        connection.register("_frame", frame.to_arrow())
        connection.execute(f"create or replace table {name} as select * from _frame")
        connection.unregister("_frame")

    def replace(self, table: str, frame: pl.DataFrame) -> None:
        """Replace one table that Python writes."""
        with duckdb.connect(str(self.path)) as connection:
            self._table(connection, table, frame)

    def dbt(self, *arguments: str, ok: bool = True) -> str:
        """Run dbt and return its output."""
        environment = os.environ | {
            "THETAHOUSE_WAREHOUSE": str(self.path),
            "DBT_PROFILES_DIR": str(DBT_PROJECT),
            "DBT_TARGET_PATH": str(self.folder / "target"),
            "DBT_LOG_PATH": str(self.folder / "logs"),
            "DO_NOT_TRACK": "1",
        }
        command = [str(Path(sys.executable).with_name("dbt")), *arguments, "--project-dir", str(DBT_PROJECT)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        assert (done.returncode == 0) is ok, output[-6000:]
        return output

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.path), read_only=True) as connection:
            return connection.execute(sql).fetchall()

    def records(self, sql: str) -> list[dict[str, Any]]:
        with duckdb.connect(str(self.path), read_only=True) as connection:
            return connection.execute(sql).pl().to_dicts()
