"""What the tests of the SQL share: warehouses with label sets, one with data sets of every kind, and the parser."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tests.dbt.parser import Parser
from tests.dbt.small_warehouse import SmallWarehouse

FIVE_LABELS = {
    "correct": ["correct"],
    "contradictory": ["contradictory"],
    "partially_correct_incomplete": ["partially correct incomplete", "partially correct", "incomplete"],
    "irrelevant": ["irrelevant"],
    "non_domain": ["non domain", "nondomain"],
}
THREE_LABELS = {name: [name] for name in ("contradictory", "correct", "incorrect")}


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


@pytest.fixture(scope="session")
def parse() -> Parser:
    """Return the parser, ready to call."""
    return Parser()
