"""An installation of a few lines: one bank, two recorded models, one study, in a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl

from orchestration.house import Asked, House, ask_raters, load_catalogue, raters_by_model, requests_to_ask
from orchestration.settings import PROJECT_ROOT, Settings

ITEMS = ("007", "7", "00070", "52779E469111", "a,b", "a|b", "x1", "x2")
LABELS = ("right", "half", "wrong")
FILES = {
    "label_sets.yml": "three:\n  title: Three\n  labels: {right: [correct], half: [partly right], wrong: []}\n",
    "banks/tiny.yml": (
        "tiny:\n  title: Tiny\n  source: written for the tests\n  licence: Apache-2.0\n  paradigm: asag\n"
        "  is_text_public: true\n  is_gold_public: true\n"
        "  items: {file: answers.csv, item_id: id, testlet_id: question, item_text: answer, split: split}\n"
        "  testlets: {file: questions.csv, testlet_id: question, stimulus: text}\n"
        "  datasets:\n    tiny_labels: {title: Labels, response_kind: label, label_set: three, gold: label}\n"
    ),
    "banks/questions.csv": "question,text\nq1,What does warm air do?\nq2,What do plants need?\n",
    "banks/answers.csv": "id,question,split,answer,label\n"
    + "".join(f'"{item}",q{i % 2 + 1},test,answer {i},{LABELS[i % 3]}\n' for i, item in enumerate(ITEMS)),
    "recorded/old.yml": (
        "old_grades:\n  title: Old grades\n  dataset: tiny_labels\n  collection: old\n  table: {file: grades.csv}\n"
        "  item_id: id\n  blank: not_recorded\n"
    ),
    "recorded/grades.csv": "id,m|a,m|b,n|a,n|b\n"
    + "".join(
        f'"{item}",{LABELS[i % 3]},{LABELS[i % 2]},Label: {LABELS[(i + i // 3) % 3]},{"" if i == 5 else LABELS[0]}\n'
        for i, item in enumerate(ITEMS)
    ),
    "studies/grading.yml": "grading: {title: Grading, task: grade, datasets: [tiny_labels]}\n",
}

Refused = Callable[..., str]
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def write_registry(folder: Path) -> Path:
    """Write the registry into a folder."""
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text that must be there."""
    content = file.read_text(encoding="utf-8")
    assert old in content
    file.write_text(content.replace(old, new), encoding="utf-8")


def ask_all(house: House) -> list[Asked]:
    """Ask every model what its raters lack, as a run does."""
    raters = load_catalogue(house.settings).raters
    return [ask_raters(house, ids) for ids in raters_by_model(requests_to_ask(house), raters).values()]


def raw(settings: Settings, query: str) -> pl.DataFrame:
    """Query the working database."""
    with duckdb.connect(str(settings.warehouse), read_only=True) as connection:
        return connection.execute(query).pl()


def command_line(home: Path, registry: Path, data: Path | None = None) -> Cli:
    """Return a function that runs ``thetahouse`` with arguments in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("THETAHOUSE_", "DAGSTER_", "DBT_"))}
    environment |= {"THETAHOUSE_HOME": str(home), "THETAHOUSE_REGISTRY": str(registry), "OMP_NUM_THREADS": "1"}
    if data is not None:
        environment["THETAHOUSE_DATA"] = str(data)

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", "from orchestration.cli import main; main()", *arguments]
        return subprocess.run(
            command, env=environment, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=600, check=False
        )

    return run
