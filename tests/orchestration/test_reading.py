"""Typed queries: an answer, or one line that says what is wrong and what to do."""

import json
import sys
from datetime import UTC, datetime

import polars as pl
import pytest

from orchestration.cli import main
from orchestration.cli.show import as_csv, trace
from orchestration.house import UnknownNameError
from orchestration.reading import QueryError, Trace, answer_typed, read_trace
from orchestration.settings import Settings


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("", "the query is empty"),
        (" ; -- nothing", "the query is empty"),
        ("selec 1", 'syntax error at or near "selec"'),
        ("from nowhere", "nowhere does not exist"),
        ("select nope from core.items", "nope"),
        ("select 'a'::int", "Could not convert string 'a' to INT32"),
        ("from 'none.csv'", "none.csv"),
        ("delete from core.items", "read-only"),
        ("select 1; drop table core.items", "read-only"),
        ("select interval 3 days as pause", "cast that column to varchar"),
    ],
)
def test_a_query_that_cannot_be_answered_is_one_line_and_exit_code_2(
    published: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    query: str,
    complaint: str,
) -> None:
    with pytest.raises(QueryError):
        answer_typed(published, query)
    monkeypatch.setenv("THETAHOUSE_HOME", str(published.home))
    monkeypatch.setattr(sys, "argv", ["thetahouse", "sql", query])
    with pytest.raises(SystemExit) as stopped:
        main()
    line = capsys.readouterr().err
    assert stopped.value.code == 2
    assert line.startswith("error: ")
    assert line.count("\n") == 1
    assert complaint in line


def test_csv_holds_lists_and_structs_as_json() -> None:
    frame = pl.DataFrame({"id": ["007", "8"], "labels": [["a", "ä"], None], "range": [{"low": 0}, {"low": None}]})
    assert as_csv(frame) == 'id,labels,range\n007,"[""a"", ""ä""]","{""low"": 0}"\n8,,"{""low"": null}"\n'


def test_a_data_set_that_a_rater_has_not_answered_is_named(published: Settings) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown data set 'nosuch' of rater 'alpha\|0'; did you mean"):
        read_trace(published, rater_id="alpha|0", item_id="007", dataset="nosuch")


NOTHING = dict.fromkeys(
    ("answer_label", "answer_choice", "answer_score", "answer_value", "status_reason", "parser_rule", "parser_version")
)


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"status": "refused", "parser_version": "p1"}, "no answer: refused (parser p1); gold: right"),
        (
            {"status": "invalid", "status_reason": "negated_answer", "parser_version": "p1"},
            "no answer: invalid (reason negated_answer, parser p1); gold: right",
        ),
        ({"status": "not_asked"}, "no answer: not_asked; gold: right"),
        (
            {"status": "ok", "answer_value": 0.5, "parser_rule": "statement", "parser_version": "p1"},
            "answer: 0.500 (rule statement, parser p1); gold: right",
        ),
    ],
)
def test_a_trace_says_what_there_is_to_say(
    capsys: pytest.CaptureFixture[str], row: dict[str, object], line: str
) -> None:
    response = NOTHING | {"dataset": "labels", "item_id": "007", "rater_id": "alpha|0"} | row
    item = {"item_text": "Warm air rises", "gold_label": "right", "answer_key": None, "gold_score": None}
    trace(Trace("recorded", response, pl.DataFrame(), item, pl.DataFrame({"irt_model": []})))
    printed = capsys.readouterr().out.splitlines()
    assert line in printed
    assert not [text for text in printed if "–" in text]


LOCAL = {"item": {"text": "Warm air rises", "rubric": None, "options": []}, "labels": ["right", "wrong"]}
SHOWN = """{
  "item": {
    "text": "Warm air rises"
  },
  "labels": [
    "right",
    "wrong"
  ]
}"""


@pytest.mark.parametrize(
    ("engine", "content", "error", "expected"),
    [
        (
            "baseline",
            json.dumps(LOCAL),
            None,
            "a local rater: it reads the fields below, no prompt, and counts no tokens\n"
            f"  [user] {SHOWN}\n  → Label: right\n",
        ),
        ("recorded", None, None, "recorded elsewhere: what was asked there is not known here\n  → Label: right\n"),
        ("openai", '{"a": null}', None, '[user] {"a": null}\n  → Label: right\n'),
        ("openai", None, "permanent", "no prompt was kept\n  → – too long\n"),
    ],
)
def test_a_trace_says_what_a_rater_of_each_engine_was_given(
    capsys: pytest.CaptureFixture[str], engine: str, content: str | None, error: str | None, expected: str
) -> None:
    attempt = {
        "attempt": 1, "finish_reason": None if error else "stop", "error_kind": error,
        "error_message": "too long" if error else None, "finished_at": datetime(2026, 1, 1, tzinfo=UTC),
        "messages": content and json.dumps([{"role": "user", "content": content}]),
        "text": None if error else "Label: right",
    }  # fmt: skip
    response = NOTHING | {"dataset": "labels", "item_id": "007", "rater_id": "alpha|0", "status": "ok"}
    item = {"item_text": "Warm air rises", "gold_label": "right", "answer_key": None, "gold_score": None}
    trace(Trace(engine, response, pl.DataFrame([attempt]), item, pl.DataFrame({"irt_model": []})))
    assert f"attempt 1 ({error or 'stop'}, 2026-01-01 00:00:00)\n  {expected}" in capsys.readouterr().out
