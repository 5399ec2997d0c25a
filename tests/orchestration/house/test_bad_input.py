"""Faults of the input: one plain line that names the thing and the remedy, exit code 2, nothing landed by halves.

The commands run in this process: a person sees the same line and code (:func:`orchestration.cli.main`).
"""

import errno
import tempfile
from pathlib import Path

import pytest

from inference.landing import chunk_files
from orchestration.house import House
from orchestration.settings import Settings
from tests.orchestration.house.tiny import ITEMS, Refused, ask_all, edit, raw
from tests.orchestration.test_warehouse import held_by_another_process


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("banks/answers.csv", "id,question,split", "id,quest,split", ["answers.csv", "question"]),
        ("banks/answers.csv", '"7",', '"007",', ["answers.csv", "007", "lines 2, 3"]),
        ("banks/answers.csv", "answer 0,right", "answer 0,rigth", ["answers.csv", "line 2", "007", "rigth", "right"]),
        ("banks/answers.csv", "q1,test,answer 0", "q1,tset,answer 0", ["line 2", "tset", "train"]),
        ("banks/answers.csv", '"007",q1', '"007",q9', ["line 2", "007", "q9"]),
        ("banks/tiny.yml", "licence:", "license:", ["tiny.yml", "license", "licence"]),
        ("banks/tiny.yml", "paradigm: asag", "paradigm: asga", ["tiny.yml", "paradigm", "asga"]),
        ("recorded/old.yml", "grades.csv", "grade.csv", ["old.yml", "grade.csv"]),
        ("recorded/old.yml", "dataset: tiny_labels", "dataset: tiny_label", ["old.yml", "tiny_label"]),
        ("recorded/grades.csv", '"52779E469111"', "5.2779E+115", ["grades.csv", "5.2779E+115"]),
        ("studies/grading.yml", "[tiny_labels]", "[tiny_labels", ["grading.yml"]),
    ],
)
def test_a_fault_in_registry_or_files_is_named(
    refused: Refused, registry: Path, settings: Settings, file: str, old: str, new: str, complaint: list[str]
) -> None:
    edit(registry / file, old, new)
    line = refused("run")
    assert all(part in line for part in complaint), line
    assert not settings.analyst.exists()
    assert chunk_files(settings.landing) == []
    if settings.warehouse.exists():
        assert raw(settings, "from raw.loads").is_empty()
        assert raw(settings, "from raw.responses").is_empty()


def test_a_truncated_chunk_is_named(refused: Refused, house: House) -> None:
    ask_all(house)
    chunk = chunk_files(house.settings.landing)[0]
    chunk.write_bytes(chunk.read_bytes()[:100])
    house.settings.warehouse.unlink()
    assert str(chunk) in (line := refused("run"))
    assert "asked again" in line
    assert raw(house.settings, "from raw.responses").is_empty()


def test_a_chunk_with_damaged_pages_is_named(refused: Refused, house: House) -> None:
    ask_all(house)
    chunk = chunk_files(house.settings.landing)[0]
    content = bytearray(chunk.read_bytes())
    content[4:400] = bytes(396)  # the footer, which says what the columns are, stays whole
    chunk.write_bytes(content)
    house.settings.warehouse.unlink()
    assert chunk.name in (line := refused("run"))
    assert "asked again" in line
    assert raw(house.settings, "from raw.responses").is_empty()


def test_a_damaged_warehouse_is_named(refused: Refused, settings: Settings) -> None:
    settings.home.mkdir()
    settings.warehouse.write_bytes(b"no database" * 1000)
    line = refused("run")
    assert str(settings.warehouse) in line
    assert "move it away" in line


def test_a_locked_warehouse_names_its_holder(
    refused: Refused, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "orchestration.warehouse.connect.__wrapped__.__kwdefaults__", {"read_only": False, "wait_seconds": 0.2}
    )
    settings.home.mkdir()
    with held_by_another_process(settings.warehouse, 60) as holder:
        line = refused("run")
    assert f"held by PID {holder.pid}" in line
    assert "run again" in line


@pytest.mark.parametrize(
    "typed",
    [
        "run",
        "plan",
        "publish",
        "docs",
        "ui",
        "import-responses {file} --dataset tiny_labels",
        "add-model m --engine baseline --revision 1 --family f --task grade",
    ],
)
def test_a_home_that_cannot_be_written_is_named_by_every_command_that_writes(
    refused: Refused, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    line = refused(*typed.format(file=predictions(tmp_path, ITEMS)).split())
    assert f"THETAHOUSE_HOME={settings.home}: cannot be written (permission denied); set THETAHOUSE_HOME to" in line
    assert list(settings.home.iterdir()) == []


def test_a_query_before_the_first_run_says_what_to_do(refused: Refused) -> None:
    assert "thetahouse run" in refused("sql", "select 1")


def predictions(folder: Path, ids: tuple[str, ...], header: str = "id,mine|v1") -> Path:
    file = folder / "mine.csv"
    file.write_text(header + "\n" + "".join(f'"{item}",right\n' for item in ids))
    return file


@pytest.mark.parametrize(
    ("ids", "header", "dataset", "complaint"),
    [
        (("nope", "neither"), "id,mine|v1", "tiny_labels", ["mine.csv", "no column holds ids", "nope"]),
        ((*ITEMS, "07"), "id,mine|v1", "tiny_labels", ["mine.csv", "'07'"]),
        ((*ITEMS, "007"), "id,mine|v1", "tiny_labels", ["mine.csv", "007"]),
        (ITEMS, "id,mine|v1", "tiny_label", ["tiny_label", "tiny_labels"]),
        (ITEMS, "id,m|a", "tiny_labels", ["m|a"]),
    ],
)
def test_a_prediction_file_that_does_not_fit_leaves_nothing(
    refused: Refused,
    settings: Settings,
    tmp_path: Path,
    ids: tuple[str, ...],
    header: str,
    dataset: str,
    complaint: list[str],
) -> None:
    line = refused("import-responses", str(predictions(tmp_path, ids, header)), "--dataset", dataset)
    assert all(part in line for part in complaint), line
    assert not list(settings.own_registry.rglob("*.yml"))
    assert not list(settings.inbox.glob("*"))


def test_a_prediction_file_that_is_not_there(refused: Refused, tmp_path: Path) -> None:
    assert "no such file" in refused("import-responses", str(tmp_path / "none.csv"), "--dataset", "tiny_labels")
