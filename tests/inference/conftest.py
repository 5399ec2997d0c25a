"""A registry of a few lines, so that a test can say what it changes and see what follows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inference.registry import Registry, load_registry
from inference.sources import BankFrames, read_bank

LABEL_SETS = """
three:
  title: Three labels
  labels: {right: [correct], half: [partly right], wrong: []}
"""
BANK = """
tiny:
  title: Tiny
  source: written for the tests
  licence: Apache-2.0
  paradigm: asag
  items:
    file: answers.csv
    item_id: id
    testlet_id: question
    item_text: answer
    split: split
    extra: [note]
  testlets: {file: questions.csv, testlet_id: question, stimulus: text, max_score: top}
  references: {file: references.csv, testlet_id: question, reference_id: ref, reference_text: text}
  datasets:
    tiny_labels: {title: Labels, response_kind: label, label_set: three, gold: label}
    tiny_scores: {title: Scores, response_kind: score, gold: score, min_score: 0}
"""
MODEL = """
overlap:
  title: Overlap
  family: lexical
  engine: baseline
  task: grade
  revision: "1"
  template: fields@1
  settings: {head: thresholds}
  conditions:
    recall: {settings: {measures: [recall]}}
    nearest: {settings: {head: neighbours, vector: word}}
"""
RECORDED = """
old_grades:
  title: Grades collected before
  dataset: tiny_labels
  collection: old
  table: {file: grades.csv}
  item_id: id
  blank: not_recorded
"""
STUDY = """
grading: {title: Grading, task: grade, datasets: [tiny_labels, tiny_scores]}
"""
FILES = {
    "label_sets.yml": LABEL_SETS,
    "banks/tiny.yml": BANK,
    "models/overlap.yml": MODEL,
    "recorded/old.yml": RECORDED,
    "studies/grading.yml": STUDY,
    "banks/answers.csv": (
        "id,question,split,answer,label,score,note\n"
        "007,q1,test,Warm air rises,right,2,a\n"
        "7,q1,test,Cold air rises,wrong,0,b\n"
        "52779E469111,q2,test,,wrong,0,c\n"
        "t1,q1,train,Air that is warm rises up,right,2,d\n"
        "t2,q1,train,Air sinks,wrong,0,e\n"
        "t3,q2,train,Plants need light,half,1,f\n"
    ),
    "banks/questions.csv": "question,text,top\nq1,What does warm air do?,2\nq2,What do plants need?,2\n",
    "banks/references.csv": "question,ref,text\nq1,r1,Warm air rises.\nq2,r1,Plants need light and water.\n",
    "recorded/grades.csv": "id,m|a,m|b\n007,right,Label: wrong\n7,,right\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a registry folder with one bank, two local raters, two recorded raters and a study."""
    for name, content in FILES.items():
        path = tmp_path / "registry" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return tmp_path / "registry"


@pytest.fixture
def change(folder: Path) -> Callable[[str, str, str], None]:
    """Replace a text in a file of the registry; the text must be there."""

    def replace(name: str, old: str, new: str) -> None:
        path = folder / name
        content = path.read_text(encoding="utf-8")
        assert old in content
        path.write_text(content.replace(old, new), encoding="utf-8")

    return replace


@pytest.fixture
def load(folder: Path) -> Callable[[], tuple[Registry, dict[str, BankFrames]]]:
    """Read the registry and its banks as they are now."""

    def read() -> tuple[Registry, dict[str, BankFrames]]:
        registry = load_registry([folder], None)
        return registry, {bank.name: read_bank(bank, registry) for bank in registry.banks.values()}

    return read
