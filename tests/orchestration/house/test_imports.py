"""Long files and logs are taken in like wide ones: checked whole, registered, landed verbatim, or refused whole."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from inference.sources import SourceError
from inference.sources.eval_logs import LogFields
from inference.sources.predictions import LongColumns
from orchestration.house import House
from orchestration.imports import import_responses
from orchestration.settings import Settings
from tests.orchestration.house.tiny import Refused, ask_all, raw

LOGS = Path(__file__).parents[2] / "inference" / "eval_logs"
LONG = 'said,who,id\nright,new|x,007\n"Label: half, ""so""",new|x,7\n,new|x,"a,b"\nwrong,new|y,7\n'


def landed(settings: Settings, model: str) -> dict[tuple[str, str], tuple[str | None, str]]:
    query = f"select rater_id, item_id, text, finish_reason from raw.responses where rater_id like '{model}%'"
    return {(rater, item): (text, finish) for rater, item, text, finish in raw(settings, query).rows()}


def nothing_was_written(settings: Settings) -> bool:
    return not list(settings.own_registry.rglob("*.yml")) and not list(settings.inbox.glob("*"))


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    path = tmp_path / "long.csv"
    path.write_text(LONG)
    return path


@pytest.fixture
def items_of_the_logs(registry: Path) -> None:
    with (registry / "banks/answers.csv").open("a") as answers:
        answers.writelines(f"{item},q1,test,an answer,right\n" for item in ("a|b/c", "12", "long"))


def test_a_long_file_lands_verbatim_and_a_row_that_is_not_there_was_not_recorded(
    settings: Settings, house: House, long_file: Path
) -> None:
    imported = import_responses(
        settings, long_file, "tiny_labels", long=LongColumns("who", "said"), is_blank_empty=True
    )
    assert (imported.n_raters, imported.n_requests) == (2, 16)
    ask_all(house)
    responses = landed(settings, "new")
    assert responses["new|x", "007"] == ("right", "stop")
    assert responses["new|x", "7"] == ('Label: half, "so"', "stop")
    assert responses["new|x", "a,b"] == ("", "stop")
    assert responses["new|y", "007"] == (None, "not_recorded")


def test_an_inspect_log_lands_with_what_it_says_of_its_end(
    settings: Settings, house: House, items_of_the_logs: None
) -> None:
    imported = import_responses(settings, LOGS / "inspect.eval", "tiny_labels", name="run 1")
    assert imported.n_raters == 1
    assert imported.notes == ("5 responses of later epochs or repeats were not taken",)
    assert imported.file.read_text().startswith('"item_id","rater","response","finish_reason"')
    ask_all(house)
    rater = "mockllm/model|grading(persona=kind)"
    responses = landed(settings, "mockllm")
    assert responses[rater, "7"] == ("Label: incor", "length")
    assert responses[rater, "a|b/c"] == ("", "stop")
    assert responses[rater, "x1"] == (None, "not_recorded")
    # the same run in the other format is the same rater: refused, and nothing of it stays
    with pytest.raises(ValueError, match="is already described"):
        import_responses(settings, LOGS / "inspect.json", "tiny_labels", name="run 2")
    assert [file.name for file in settings.inbox.iterdir()] == [imported.file.name]


def test_a_log_of_other_items_is_refused_with_ids_of_both_sides(settings: Settings) -> None:
    unknown = r"inspect\.eval, written as a table \(inspect\): 3 ids are not in .*: '12', 'a\|b/c', 'long', on lines \d"
    with pytest.raises(SourceError, match=unknown):
        import_responses(settings, LOGS / "inspect.eval", "tiny_labels")
    assert nothing_was_written(settings)


def test_the_command_takes_a_log_of_lm_evaluation_harness(
    command: Callable[..., Result], items_of_the_logs: None
) -> None:
    (log,) = LOGS.glob("samples_grade_demo_*.jsonl")
    done = command(log, "--dataset", "tiny_labels", "--name", "harness", "--item-field", "doc.answer_id")
    assert done.exit_code == 0, done.output
    assert "registered: 1 rater with 11 requests, in " in done.stdout
    assert "note: 3 responses of later epochs or repeats were not taken" in done.stdout


def test_the_command_takes_a_long_file_and_refuses_half_a_description(
    command: Callable[..., Result], long_file: Path
) -> None:
    start = (long_file, "--dataset", "tiny_labels", "--response-column", "said")
    refused = command(*start)
    assert refused.exit_code == 2
    assert "needs one --rater-column" in " ".join(refused.output.split())
    assert "no column 'wo'" in str(command(*start, "--rater-column", "wo").exception)
    line = str(command(*start[:-2], "--rater-column", "who").exception)
    assert line.endswith(
        "long.csv: id '7' stands on lines 3, 5; for a file with a row per item and rater --response-column is missing, "
        "the column with the responses: one of 'said'; otherwise, keep one row per item"
    )
    line = str(command(*start[:-2]).exception)
    assert "--rater-column and --response-column are missing, the columns with the raters and the responses: " in line
    assert "two of 'said', 'who'; otherwise" in line
    done = command(*start, "--rater-column", "who")
    assert "2 raters with 16 requests" in done.stdout


def test_a_long_file_of_one_rater_is_not_taken_for_a_wide_one(
    refused: Refused, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "one.csv"
    file.write_text("id,who,said\n007,mine|v1,right\n7,mine|v1,half\n")
    line = refused("import-responses", str(file), "--dataset", "tiny_labels", "--rater-column", "who")
    assert f"{file}: column 'who' holds 'mine|v1' on every line; for a file with a row per item and rater" in line
    assert "--response-column is missing, the column with the responses: one of 'said'" in line
    assert nothing_was_written(settings)


def test_names_given_stand_for_those_of_the_log(settings: Settings, items_of_the_logs: None) -> None:
    fields = LogFields(model="my-model", condition="kind")
    import_responses(settings, LOGS / "inspect.json", "tiny_labels", log_fields=fields)
    (entry,) = (settings.own_registry / "recorded").glob("*.yml")
    assert "my-model|kind" in entry.read_text()
