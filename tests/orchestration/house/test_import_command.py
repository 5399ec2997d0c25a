"""What a person meets who takes a prediction file in: composite ids, notes, and refusals that name the file."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import Result

from orchestration.house import House
from orchestration.settings import Settings
from tests.orchestration.house.tiny import ITEMS, Refused, ask_all, edit, raw

Command = Callable[..., Result]
LABELS = ("--dataset", "tiny_labels")
ESSAYS = "question_id,ID,mine|v1\nq1,3,right\nq2,3,half\nq1,4,wrong\n"


@pytest.fixture
def composite(registry: Path) -> None:
    """Give the bank ids of two columns, of which one repeats itself."""
    edit(registry / "banks/tiny.yml", "item_id: id", "item_id: [question_id, ID]")
    edit(registry / "banks/tiny.yml", "testlet_id: question, item", "testlet_id: question_id, item")
    (registry / "banks/answers.csv").write_text(
        "question_id,ID,split,answer,label\nq1,3,test,a,right\nq2,3,test,b,half\nq1,4,test,c,wrong\n"
    )
    (registry / "recorded/old.yml").unlink()


@pytest.fixture
def essays(tmp_path: Path) -> Path:
    return written(tmp_path, ESSAYS)


def written(folder: Path, content: str | bytes, name: str = "mine.csv") -> Path:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def entry_of(settings: Settings) -> dict[str, object]:
    (file,) = (settings.own_registry / "recorded").glob("*.yml")
    (entry,) = yaml.safe_load(file.read_text()).values()
    assert isinstance(entry, dict)
    return entry


def test_r11_ids_of_several_columns_are_found_by_the_banks_own_names(
    command: Command, composite: None, essays: Path, settings: Settings
) -> None:
    assert "1 rater with 3 requests" in command(essays, *LABELS).stdout
    assert entry_of(settings)["item_id"] == ["question_id", "ID"]
    ask_all(House(settings))
    landed = raw(settings, "select item_id, text from raw.responses order by 1").rows()
    assert landed == [("q1|3", "right"), ("q1|4", "wrong"), ("q2|3", "half")]


@pytest.mark.parametrize("long", [False, True])
def test_r11_columns_of_other_names_are_given_one_by_one(
    command: Command, composite: None, tmp_path: Path, settings: Settings, long: bool
) -> None:
    content = ESSAYS.replace("question_id,ID", "nr,prompt")
    rows = [line.split(",") for line in content.splitlines()[1:]]
    if long:
        content = "prompt,nr,who,said\n" + "".join(f"{q},{nr},mine|v1,{said}\n" for q, nr, said in rows)
    else:
        content = "nr,prompt,mine|v1\n" + "".join(f"{nr},{q},{said}\n" for q, nr, said in rows)
    more = ("--rater-column", "who", "--response-column", "said") if long else ()
    file = written(tmp_path, content)
    done = command(file, *LABELS, "--id-column", "prompt", "--id-column", "nr", *more)
    assert "1 rater with 3 requests" in done.stdout, done.exception
    assert entry_of(settings)["item_id"] == ["prompt", "nr"]


def test_r11_a_duplicate_of_the_whole_key_is_named_with_its_lines(
    refused: Refused, composite: None, tmp_path: Path
) -> None:
    file = written(tmp_path, ESSAYS + "q2,3,right\n")
    line = refused("import-responses", str(file), *LABELS)
    assert f"{file}: question_id, ID 'q2|3' stands on lines 3, 5" in line


@pytest.mark.parametrize(
    ("header", "options", "seen"),
    [
        ("question_id,ID", ("--id-column", "ID"), "'ID', where '3' stands on lines 2, 3, holds '3', '3', '4'"),
        ("question_id,ID", ("--id-column", "ID", "--id-column", "question_id"), "'ID' and 'question_id' holds '3|q1'"),
    ],
)
def test_r11_half_of_a_key_is_refused_with_the_other_half(
    refused: Refused,
    composite: None,
    tmp_path: Path,
    settings: Settings,
    header: str,
    options: tuple[str, ...],
    seen: str,
) -> None:
    file = written(tmp_path, ESSAYS.replace("question_id,ID", header))
    line = refused("import-responses", str(file), *LABELS, *options)
    assert seen in line
    assert "named by question_id and ID together" in line
    assert "--id-column question_id --id-column ID" in line
    assert not list(settings.own_registry.rglob("*.yml"))


@pytest.mark.parametrize(
    ("header", "options", "remedy"),
    [
        (
            "question,ID",
            (),
            "the file has no column 'question_id' (did you mean 'question'?); it has 'question', 'ID', 'mine|v1'; "
            "add what is lacking, or name the column of each in order (--id-column question --id-column ID)",
        ),
        (
            "topic,ID",
            ("--id-column", "ID"),
            "the file has no column 'question_id'; it has 'topic', 'ID', 'mine|v1'; add what is lacking, or name the "
            "column of each in order (--id-column COLUMN_OF_question_id --id-column ID)",
        ),
    ],
)
def test_the_part_of_a_key_that_the_file_lacks_is_named(
    refused: Refused, composite: None, tmp_path: Path, header: str, options: tuple[str, ...], remedy: str
) -> None:
    file = written(tmp_path, ESSAYS.replace("question_id,ID", header))
    line = refused("import-responses", str(file), *LABELS, *options)
    assert f"named by question_id and ID together, and {remedy}" in line


def test_every_id_column_that_is_not_there_is_named(refused: Refused, composite: None, essays: Path) -> None:
    typed = ("--id-column", "question", "--id-column", "nr")
    line = refused("import-responses", str(essays), *LABELS, *typed)
    assert line == (
        f"error: {essays}: no column 'question' (did you mean 'question_id'?) and no column 'nr'; "
        "it has 'question_id', 'ID', 'mine|v1'; correct --id-column\n"
    )


def test_an_unknown_data_set_is_said_before_a_name_that_is_taken(refused: Refused, essays: Path) -> None:
    line = refused("import-responses", str(essays), "--dataset", "tiny_label", "--name", "old_grades")
    assert "unknown data set 'tiny_label' (did you mean 'tiny_labels'?); expected one of ['tiny_labels']" in line


def test_the_one_unknown_id_of_two_is_named_with_its_line(refused: Refused, tmp_path: Path) -> None:
    file = written(tmp_path, "id,mine|v1\n007,right\n07,right\n")
    line = refused("import-responses", str(file), *LABELS)
    assert f"{file} (mine): 1 id is not in data set tiny_labels: '07', on line 3" in line


def test_rows_that_no_study_asks_are_counted(command: Command, registry: Path, tmp_path: Path) -> None:
    edit(registry / "banks/answers.csv", '"x1",q1,test', '"x1",q1,train')
    file = written(tmp_path, "id,mine|v1\n007,right\nx1,right\n7,half\n")
    done = command(file, *LABELS)
    assert "note: 1 of 3 items are asked by no study (e.g. 'x1'); their rows are kept" in done.stdout


@pytest.mark.parametrize(
    ("dataset", "cells", "note"),
    [
        (
            "tiny_labels",
            ("Right", "good", "partly right", ""),
            "1 of 3 cells are not a label of {} as written ('good')",
        ),
        ("tiny_scores", ("0", "2.5", "7", "two"), "2 of 4 cells are not a score of {} as written ('7', 'two')"),
        ("tiny_choices", ("A", "b", "C", "A."), "2 of 4 cells are not a choice of {} as written ('C', 'A.')"),
    ],
)
def test_cells_that_are_no_answer_as_written_are_counted(
    command: Command, registry: Path, tmp_path: Path, dataset: str, cells: tuple[str, ...], note: str
) -> None:
    bank = registry / "banks/tiny.yml"
    edit(bank, "item_text: answer,", "item_text: answer, options: {A: question, B: answer},")
    with bank.open("a") as entry:
        entry.write("    tiny_scores: {title: Scores, response_kind: score, min_score: 0, max_score: 3}\n")
        entry.write("    tiny_choices: {title: Choices, response_kind: choice}\n")
    rows = "".join(f'"{item}",{cell}\n' for item, cell in zip(ITEMS, cells, strict=False))
    done = command(written(tmp_path, f"id,mine|v1\n{rows}"), "--dataset", dataset)
    assert f"note: {note.format(dataset)}; the parser decides" in done.stdout, done.exception


def test_a_file_of_bare_answers_has_no_note(command: Command, tmp_path: Path) -> None:
    assert "note:" not in command(written(tmp_path, "id,mine|v1\n007,right\n7,half\n"), *LABELS).stdout


def test_a_rater_that_is_known_already_is_said_of_the_file_that_was_given(refused: Refused, registry: Path) -> None:
    file = written(registry, "id,m|a\n007,right\n", "again.csv")
    line = refused("import-responses", str(file), *LABELS)
    assert line.startswith(f"error: {file}: rater 'm|a' is already described in {registry / 'recorded/old.yml'}")


@pytest.mark.parametrize("name", ["before", "zafter"])
def test_a_file_that_is_registered_already_is_the_newcomer_whatever_its_name(
    command: Command, refused: Refused, tmp_path: Path, settings: Settings, name: str
) -> None:
    file = written(tmp_path, "id,mine|v1\n007,right\n")
    assert "registered: 1 rater" in command(file, *LABELS).stdout
    line = refused("import-responses", str(file), *LABELS, "--name", name)
    known = settings.own_registry / "recorded/mine.yml"
    assert line.startswith(f"error: {file}: rater 'mine|v1' is already described in {known}, with ")
    assert [path.name for path in (settings.own_registry / "recorded").iterdir()] == ["mine.yml"]
    assert [path.name for path in settings.inbox.iterdir()] == ["mine.csv"]


def test_a_name_that_is_taken_is_said_of_the_file_that_was_given(
    refused: Refused, registry: Path, tmp_path: Path, settings: Settings
) -> None:
    far = (registry / "recorded/old.yml").read_text().replace("old_grades:", "far:")
    (registry / "recorded/far.yml").write_text(far.replace("dataset:", "root: data\n  dataset:"))
    own = settings.own_registry / "recorded"
    own.mkdir(parents=True)
    (own / "hers.yml").write_text("{}\n")
    file = written(tmp_path, "id,mine|v1\n007,right\n")
    for name in ("old_grades", "far", "hers"):
        line = refused("import-responses", str(file), *LABELS, "--name", name)
        assert line == f"error: {file}: recorded responses {name!r} are registered already; give another --name\n"
    assert [path.name for path in own.iterdir()] == ["hers.yml"]


def test_a_folder_is_called_a_folder(refused: Refused, tmp_path: Path) -> None:
    assert f"{tmp_path}: a folder; name a file in it" in refused("import-responses", str(tmp_path), *LABELS)


def test_a_file_that_is_not_utf8_is_said_once_and_its_entry_says_so_ever_after(
    command: Command, tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path, "id,mine|v1\n007,right – naïve\n".encode("cp1252"))
    done = command(file, *LABELS)
    assert done.stdout.count("cp1252") == 1
    assert entry_of(settings)["table"] == {"file": "../../inbox/mine.csv", "encoding": "cp1252"}
    ask_all(House(settings))
    assert raw(settings, "select text from raw.responses where rater_id = 'mine|v1' and item_id = '007'").item() == (
        "right – naïve"
    )
    assert "cp1252" not in caplog.text


def test_what_is_not_declared_is_said_with_the_path_where_the_file_lies(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture, registry: Path
) -> None:
    file = written(tmp_path, "id,mine|v1\n007,right – “naïve”\n".encode("cp1252"))
    text = (
        (registry / "recorded/old.yml")
        .read_text()
        .replace("old_grades", "mine")
        .replace("grades.csv", "../../mine.csv")
    )
    (registry / "recorded/mine.yml").write_text(text)
    ask_all(House(settings))
    assert f"{file}: not UTF-8, read as cp1252" in caplog.text
    assert "state encoding: cp1252" in caplog.text
