"""Seconds and peak memory of a refresh as raters are added: 10, 100 and 1,000 raters by 1,000 items, then one more.

Run it with ``python benchmarks/growth.py`` (other numbers of raters as arguments). Grades are drawn from a Rasch model
and take the real way: recorded grades in a file, journal, raw, dbt, fits, published file. State lies in a folder of its
own that is removed at the end. Processor seconds count every process; memory is that of the largest one.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

COMMAND = [sys.executable, "-c", "from orchestration.cli import main; main()"]
N_ITEMS, N_TESTLETS = 1000, 20
LABELS = ("right", "half", "wrong")
FILES = {
    "label_sets.yml": "three:\n  title: Three\n  labels: {right: [], half: [], wrong: []}\n",
    "banks/grown.yml": (
        "grown:\n  title: Grown\n  source: drawn from a Rasch model\n  licence: Apache-2.0\n  paradigm: asag\n"
        "  is_text_public: true\n  is_gold_public: true\n"
        "  items: {file: answers.csv, item_id: id, testlet_id: question, item_text: answer, split: split}\n"
        "  testlets: {file: questions.csv, testlet_id: question, stimulus: text}\n"
        "  datasets:\n    grown: {title: Grown, response_kind: label, label_set: three, gold: label}\n"
    ),
    "studies/grading.yml": "grading: {title: Grading, task: grade, datasets: [grown]}\n",
}
RECORDED = (
    "{name}:\n  title: {name}\n  dataset: grown\n  collection: {name}\n  table: {{file: {name}.csv}}\n  item_id: id\n"
    "  blank: not_recorded\n"
)


def write_bank(registry: Path, rng: np.random.Generator) -> pl.DataFrame:
    """Write the bank; return its items with their golds."""
    for name, content in FILES.items():
        (registry / name).parent.mkdir(parents=True, exist_ok=True)
        (registry / name).write_text(content, encoding="utf-8")
    questions = [f"q{i:02d}" for i in range(N_TESTLETS)]
    pl.DataFrame({"question": questions, "text": questions}).write_csv(registry / "banks/questions.csv")
    number = np.arange(N_ITEMS)
    items = pl.DataFrame(
        {
            "id": [f"i{i:04d}" for i in number],
            "question": [questions[i % N_TESTLETS] for i in number],
            "split": "test",
            "answer": [f"answer {i}" for i in number],
            "label": rng.choice(LABELS, N_ITEMS),
        }
    )
    items.write_csv(registry / "banks/answers.csv")
    return items


def write_raters(registry: Path, name: str, n: int, items: pl.DataFrame, rng: np.random.Generator) -> None:
    """Write recorded grades of n raters: right by ability and difficulty, else one of the two other labels."""
    theta, b = rng.normal(0.5, 1, n), np.linspace(-2, 2, N_ITEMS)
    is_right = rng.random((N_ITEMS, n)) < 1 / (1 + np.exp(b[:, None] - theta[None, :]))
    gold = np.array([LABELS.index(label) for label in items["label"]])
    answer = np.where(is_right, gold[:, None], (gold[:, None] + rng.integers(1, 3, (N_ITEMS, n))) % 3)
    graded = {f"{name}{i // 4:03d}|c{i % 4}": np.array(LABELS)[answer[:, i]] for i in range(n)}
    (registry / "recorded").mkdir(exist_ok=True)
    pl.DataFrame({"id": items["id"], **graded}).write_csv(registry / f"recorded/{name}.csv")
    (registry / f"recorded/{name}.yml").write_text(RECORDED.format(name=name), encoding="utf-8")


def measured(what: str, environment: dict[str, str]) -> None:
    """Run once and print what it took."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, "run"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    printed, complaints = process.communicate()
    seconds, used = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    outcome = re.search(r"^(asked|error).*$", printed + complaints, re.MULTILINE)
    print(
        f"{what:<24} {seconds:7.1f} s  cpu {cpu:7.1f} s  largest process so far {used.ru_maxrss / 1024:6.0f} MiB  "
        f"exit {process.returncode}  {outcome[0] if outcome else printed + complaints}",
        flush=True,
    )


def grow(n_raters: int) -> None:
    """Measure the first run with so many raters, and the run that adds one."""
    rng = np.random.default_rng(20260401)
    with tempfile.TemporaryDirectory() as folder:
        registry = Path(folder) / "registry"
        environment = os.environ | {"THETAHOUSE_HOME": f"{folder}/home", "THETAHOUSE_REGISTRY": str(registry)}
        environment.pop("THETAHOUSE_DATA", None)
        items = write_bank(registry, rng)
        write_raters(registry, "old", n_raters, items, rng)
        measured(f"{n_raters:,} raters", environment)
        write_raters(registry, "new", 1, items, rng)
        measured(f"{n_raters:,} raters and one new", environment)


def main() -> None:
    """Measure every size, smallest first, so that the largest process belongs to the line that prints it."""
    for argument in sys.argv[1:] or ("10", "100", "1000"):
        grow(int(argument))


if __name__ == "__main__":
    main()
