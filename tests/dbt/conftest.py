"""A small warehouse for the tests of the SQL: raw tables from their declarations, rows by hand, dbt as it is run."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from analytics.schemas import PSYCHOMETRICS
from inference.identity import attempt_id_of, hash_of, request_id_of
from inference.rows import RAW_TABLES, columns, schema_of
from orchestration.parsing import parser_sql
from orchestration.previous import PreviousRow

DBT_PROJECT = Path(__file__).resolve().parents[2] / "dbt_project"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIVE_LABELS = {
    "correct": ["correct"],
    "contradictory": ["contradictory"],
    "partially_correct_incomplete": ["partially correct incomplete", "partially correct", "incomplete"],
    "irrelevant": ["irrelevant"],
    "non_domain": ["non domain", "nondomain"],
}
THREE_LABELS = {name: [name] for name in ("contradictory", "correct", "incorrect")}


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


@pytest.fixture(scope="session")
def new_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], SmallWarehouse]:
    """Return a maker of empty warehouses with the label sets of the demo."""

    def make() -> SmallWarehouse:
        warehouse = SmallWarehouse(tmp_path_factory.mktemp("house"))
        warehouse.label_set("five", FIVE_LABELS)
        warehouse.label_set("three", THREE_LABELS)
        return warehouse

    return make


def _scores(warehouse: SmallWarehouse, dataset: str, sets: Mapping[str, tuple[float, float, str, str]]) -> None:
    """Add a scored data set with one rater; golds and answers are written in a row, `-` for a blank."""
    items, answers = [], []
    for testlet, (low, high, golds, said) in sets.items():
        for place, (gold, text) in enumerate(zip(golds.split(), said.split(), strict=True)):
            item_id = f"{testlet}{place:03}"
            scale = {"min_score": low, "max_score": high}
            items.append({"item_id": item_id, "testlet_id": testlet, "gold_score": float(gold), **scale})
            answers.append((item_id, "" if text == "-" else f"Score: {text}"))
    warehouse.dataset(dataset, "score", items)
    for item_id, text in answers:
        warehouse.say(dataset, "reader", item_id, text)


def _labels(warehouse: SmallWarehouse, dataset: str, n_items: int) -> None:
    """Add a label data set whose three raters err, leave blanks and miss a class, each in its own way."""
    labels, random = list(THREE_LABELS), np.random.default_rng(7)
    parts = ["unseen_answers", "unseen_questions"]
    golds = [labels[int(k)] for k in random.integers(0, 3, n_items)]
    rows = [
        {"item_id": f"{k:03}", "testlet_id": f"q{k % 4}", "gold_label": gold, "test_part": parts[k % 2]}
        for k, gold in enumerate(golds)
    ]
    warehouse.dataset(dataset, "label", rows, label_set="three")
    habits = {"reader": (0.7, 0.0, 3), "sleeper": (0.5, 0.3, 3), "mono": (0.3, 0.1, 1)}
    for rater, (right, blank, known) in habits.items():
        for row in rows:
            kind = random.random()
            said = row["gold_label"] if random.random() < right else labels[int(random.integers(0, 3))]
            said = said if known == 3 else "correct"
            warehouse.say(dataset, rater, row["item_id"], "" if kind < blank else f"Label: {said}")


@pytest.fixture(scope="session")
def built(new_warehouse: Callable[[], SmallWarehouse]) -> SmallWarehouse:
    """Make a warehouse with data sets of every kind, built and tested by dbt once."""
    warehouse = new_warehouse()
    for rater_id in ("reader", "sleeper", "mono"):
        warehouse.rater(rater_id)
    warehouse.rater("solver", task="answer")
    warehouse.rater("former", is_active=False)
    _scores(warehouse, "gaps", {"t": (0, 4, "0 0 3 3 4", "0 3 3 4 4")})
    _scores(warehouse, "one_class", {"t": (0, 3, "2 2 2", "2 2 2")})
    _scores(warehouse, "constant_gold", {"t": (0, 3, "1 1 1", "0 1 2")})
    _scores(warehouse, "one_row", {"t": (0, 3, "1", "2")})
    _scores(warehouse, "blank", {"t": (0, 4, "0 0 3 3 4 1", "0 3 3 4 4 -")})
    _scores(warehouse, "silent", {"t": (0, 4, "0 1", "- -")})
    two = {"a": (0, 3, "0 1 2 3 1 2", "1 0 2 1 3 2"), "b": (0, 60, "20 30 40 50 35 45", "30 20 40 45 50 35")}
    _scores(warehouse, "two_scales", two)
    random = np.random.default_rng(3)
    halves = [" ".join(f"{v / 2:g}" for v in random.integers(2, 19, 80)) for _ in range(2)]
    _scores(warehouse, "halves", {"t": (1, 9, *halves)})
    _labels(warehouse, "labels", 80)
    keys = [{"item_id": f"0{k}", "answer_key": "ABCD"[k % 4], "options": "ABCD"} for k in range(8)]
    warehouse.dataset("choices", "choice", keys)
    for k in range(8):
        warehouse.say("choices", "solver", f"0{k}", *([] if k == 7 else ["Answer: B"]))
    warehouse.write()
    warehouse.dbt("build", "--quiet")
    return warehouse


@pytest.fixture(scope="session")
def manifest(built: SmallWarehouse) -> dict[str, Any]:
    """Return what dbt knows of the project."""
    found: dict[str, Any] = json.loads((built.folder / "target" / "manifest.json").read_text())
    return found


class Parser:
    """The parser of the dbt project over texts in memory, as the command ``parse`` runs it."""

    def __init__(self) -> None:
        self.sql, self.version = parser_sql().query, parser_sql().version
        self.connection = duckdb.connect()

    def __call__(
        self,
        kind: str,
        texts: Sequence[str],
        *,
        labels: Mapping[str, Sequence[str]] | None = None,
        others: Sequence[str] = (),
        options: str = "ABCD",
        scale: tuple[float, float] | None = None,
        finish_reasons: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Parse texts of one scheme, `others` being labels of other sets; one row per text, in order."""
        cut = [reason == "length" for reason in finish_reasons or ["stop"] * len(texts)]
        rows = {"id": range(len(texts)), "said": texts, "is_cut": cut, "options": [list(options)] * len(texts)}
        given = pl.DataFrame(rows, schema_overrides={"said": pl.String, "options": pl.List(pl.String)})
        own = [(label, spelling) for label, all_of in (labels or {}).items() for spelling in (label, *all_of)]
        spellings = [*own, *((None, spelling) for spelling in others)]
        low, high = scale or (None, None)
        given = given.with_columns(
            kind=pl.lit(kind), lowest=pl.lit(low, pl.Float64), highest=pl.lit(high, pl.Float64)
        )
        self.connection.register("given", given.to_arrow())
        known = pl.DataFrame(spellings, schema={"label": pl.String, "spelling": pl.String}, orient="row")
        self.connection.register("given_labels", known.to_arrow())
        return self.connection.execute(f"from ({self.sql}) order by id").pl().to_dicts()


@pytest.fixture(scope="session")
def parse() -> Parser:
    """Return the parser, ready to call."""
    return Parser()
