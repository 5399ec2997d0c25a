"""The commands parse, parse-diff and prompt, as typed."""

import json
import os
import shutil
import subprocess
import sys

import duckdb
import polars as pl
import pytest
from typer.testing import CliRunner

from inference.asking import ask
from inference.engines import Completion
from inference.landing import Journal, chunk_files
from inference.planning import plan_requests, to_ask
from inference.raters import resolve_raters
from inference.sources import read_bank
from orchestration.cli import app
from orchestration.house import read_registry
from orchestration.parser_changes import parser_changes
from orchestration.parsing import parser_sql
from orchestration.settings import PROJECT_ROOT, Settings

MAIN = "from orchestration.cli import main; main()"
LABEL = ("--kind", "label", "--labels", "correct,partially_correct_incomplete,contradictory,irrelevant,non_domain")


def parse(said, *arguments, fails=False):
    done = CliRunner().invoke(app, ["parse", *arguments], input=said)
    assert done.exit_code == (2 if fails else 0), done.output
    return done.output


@pytest.mark.parametrize(
    ("said", "arguments", "status", "answer"),
    [
        ("ANSWER: **B**", ("--kind", "choice"), "ok", "B"),
        ("(e)", ("--kind", "choice", "--options", "a,b,c,d,e"), "ok", "E"),
        ("Answer: E", ("--kind", "choice"), "invalid", None),
        ("correct or incorrect", LABEL, "invalid", None),
        ("partially_corect_incomplete", LABEL, "invalid", None),
        ("Label: partially correct (incomplete)", LABEL, "ok", "partially_correct_incomplete"),
        ("incorrect", ("--kind", "label", "--labels", "three_way"), "ok", "incorrect"),
        ("yes", ("--kind", "label", "--labels", "yes,no"), "ok", "yes"),
        ("yes, it is correct", ("--kind", "label", "--labels", "yes,no"), "invalid", None),
        ("I rate this an 8 out of 10.", ("--kind", "score", "--range", "0:10"), "ok", 8.0),
        ("Score: 11", ("--kind", "score", "--range", "0:10"), "invalid", None),
        ("Discrimination: -0.2", ("--kind", "discrimination"), "ok", -0.2),
        ("1.2", ("--kind", "discrimination"), "invalid", None),
        ("My estimate is -2.4.", ("--kind", "difficulty"), "ok", -2.4),
        ("<think>A</think>Answer: C", ("--kind", "choice"), "ok", "C"),
        ("The student says the", (*LABEL, "--finish-reason", "length"), "truncated", None),
        (" \n", LABEL, "empty", None),
        ("I'm sorry, I can't grade this.", LABEL, "refused", None),
    ],
)
def test_parse_says_status_answer_rule_and_version(said, arguments, status, answer):
    row = json.loads(parse(said, *arguments, "--format", "json"))
    assert (row["status"], row["answer"], row["parser_version"]) == (status, answer, parser_sql().version)
    assert (row["parser_rule"] is not None) == (status == "ok")


def test_parse_prints_for_people_too():
    shown = parse("Score: 7", "--kind", "score", "--range", "0:10")
    assert shown == f"status: ok\nanswer: 7\nrule: statement\nparser: {parser_sql().version}\n"
    assert "reason: out_of_range\n" in parse("Score: 70", "--kind", "score", "--range", "0:10")


def test_parse_reads_one_response_a_line_whatever_is_in_it():
    texts = ["Answer: B", 'a "quoted"\nline; it\'s\u0000 B?', "", {"text": "Answer: C", "finish_reason": "length"}]
    lines = "\n".join(json.dumps(text) for text in texts) + "\n"
    rows = [json.loads(line) for line in parse(lines, "--kind", "choice", "--jsonl", "--format", "json").splitlines()]
    assert [row["status"] for row in rows] == ["ok", "invalid", "empty", "ok"]
    assert [row["is_truncated"] for row in rows] == [False, False, False, True]
    assert parse('"B"\n', "--kind", "choice", "--jsonl") == f"ok\tB\twhole_text\t{parser_sql().version}\n"


@pytest.mark.parametrize(
    ("arguments", "said", "message"),
    [
        (("--kind", "letter"), "", "'letter' is not one of"),
        (("--kind", "score", "--range", "3:0"), "7", "the lowest value comes first"),
        (("--kind", "score"), "7", "--kind score needs --range lowest:highest, e.g. --range 0:3"),
        (("--kind", "choice", "--range", "0:3"), "B", "--range does not go with --kind choice"),
        (("--kind", "choice", "--options", "A,BB"), "B", "expected single letters"),
        (("--kind", "label", "--labels", "six_way"), "B", "unknown label set 'six_way'"),
        (("--kind", "label", "--labels", "yes,,no"), "B", "expected different names"),
        (("--kind", "choice", "--jsonl"), '"B"\nB\n', "line 2 is not JSON"),
        (("--kind", "choice", "--jsonl"), "[1]\n", "line 1: expected a JSON string"),
        (("--kind", "choice"), b"\xff", "not UTF-8"),
    ],
)
def test_parse_refuses_bad_input_by_name(arguments, said, message):
    assert message in " ".join(parse(said, *arguments, fails=True).split())


def test_parse_answers_within_a_second_of_processor_time():
    started = os.times()
    subprocess.run(
        [sys.executable, "-c", MAIN, "parse", *LABEL], input="correct", text=True, check=True, cwd=PROJECT_ROOT,
        capture_output=True,
    )  # fmt: skip
    ended = os.times()
    assert ended.children_user + ended.children_system - started.children_user - started.children_system < 1


VERSIONS = """
create schema core; create schema raw;
create table core.parsed_answers (
    attempt_id varchar, parser_version varchar, scheme_hash varchar, status varchar, status_reason varchar,
    answer varchar, parser_rule varchar
);
create table raw.texts as select * from (values
    ('a1', 'm|x', 'd', '007', 0, 1, 'correct or incorrect'), ('a2', 'm|x', 'd', '7', 0, 1, 'correct'),
    ('a3', 'm|y', 'd', '7', 0, 1, 'irrelevant'), ('a4', 'm|y', 'd', '8', 0, 1, 'hm')
) as texts (attempt_id, rater_id, dataset, item_id, replicate, attempt, text);
"""


@pytest.fixture
def versions(tmp_path):
    """Two attempts read by three versions, one by the last two, one by the last alone."""
    settings = Settings(home=tmp_path, data=None)
    settings.published.mkdir()
    rows = [
        ("a1", "zz", "s", "ok", None, "correct", "single_mention"),
        ("a2", "zz", "s", "ok", None, "correct", "whole_text"),
        ("a1", "mm", "s", "ok", None, "correct", "single_mention"),
        ("a2", "mm", "s", "ok", None, "correct", "whole_text"),
        ("a3", "mm", "s", "invalid", "no_answer", None, None),
        ("a1", "aa", "t", "invalid", "several_answers", None, None),
        ("a2", "aa", "t", "ok", None, "correct", "statement"),
        ("a3", "aa", "s", "invalid", "no_answer", None, None),
        ("a3", "aa", "t", "ok", None, "irrelevant", "whole_text"),
        ("a4", "aa", "t", "invalid", "no_answer", None, None),
    ]
    with duckdb.connect(str(settings.analyst)) as connection:
        connection.execute(VERSIONS)
        connection.executemany("insert into core.parsed_answers values (?, ?, ?, ?, ?, ?, ?)", rows)
    return settings


def test_parse_diff_shows_the_answers_that_the_last_version_changed(versions, monkeypatch):
    found = parser_changes(versions)
    assert (found.old, found.new, found.n_both) == ("mm", "aa", 3)
    columns = ["item_id", "status_before", "answer_before", "status_after", "answer_after", "reason_after"]
    assert found.changed.select(columns).rows() == [
        ("007", "ok", "correct", "invalid", None, "several_answers"),
        ("7", "invalid", None, "ok", "irrelevant", None),
    ]
    assert parser_changes(versions, old="zz").changed["item_id"].to_list() == ["007"]
    assert parser_changes(versions, old="zz", new="mm").changed.is_empty()
    monkeypatch.setenv("THETAHOUSE_HOME", str(versions.home))
    shown = CliRunner().invoke(app, ["parse-diff"]).output
    assert shown.startswith("parser mm → aa: 2 of 3 answers differ\n")
    assert "correct or incorrect" in shown
    listed = json.loads(CliRunner().invoke(app, ["parse-diff", "--format", "json"]).output)
    assert [row["item_id"] for row in listed] == ["007", "7"]


def test_parse_diff_names_what_it_cannot_compare(versions):
    with pytest.raises(ValueError, match=r"unknown parser version 'x'; expected one of \['zz', 'mm', 'aa'\]"):
        parser_changes(versions, old="x")
    with duckdb.connect(str(versions.analyst)) as connection:
        connection.execute("delete from core.parsed_answers where parser_version <> 'aa'")
    with pytest.raises(ValueError, match="only parser version aa has read"):
        parser_changes(versions)


class Listener:
    """An engine that hears everything and says one thing."""

    kind, version, flags = "vllm", "0", {}

    def complete(self, requests):
        for request in requests:
            yield Completion(request.request_id, "correct", "stop")

    def close(self):
        pass


@pytest.fixture
def smollm2(tmp_path, monkeypatch):
    """Make an installation with the small LLM of the examples."""
    shutil.copytree(PROJECT_ROOT / "examples" / "smollm2", tmp_path / "registry")
    monkeypatch.setenv("THETAHOUSE_HOME", str(tmp_path))
    monkeypatch.delenv("THETAHOUSE_DATA", raising=False)
    return Settings(home=tmp_path, data=None)


def test_prompt_shows_what_is_sent(smollm2, tmp_path):
    registry = read_registry(smollm2)
    banks = {name: read_bank(bank, registry) for name, bank in registry.banks.items()}
    nothing = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})
    plan = to_ask(plan_requests(registry, banks), nothing).filter(pl.col("rater_id").str.starts_with("smollm2-135m|"))
    firsts = plan.unique(["rater_id", "dataset"], keep="first", maintain_order=True)
    assert firsts.height == 2
    options = {"progress": lambda _: None, "cache": tmp_path, "engine": Listener()}
    raters = resolve_raters(registry)
    ask(registry.models["smollm2-135m"], firsts, registry, raters, banks, Journal(tmp_path / "landing"), **options)
    landed = pl.concat([pl.read_parquet(path) for path in chunk_files(tmp_path / "landing")])
    assert landed.height == firsts.height
    for row in landed.iter_rows(named=True):
        asked = ["prompt", "--rater", row["rater_id"], "--item", row["item_id"], "--dataset", row["dataset"]]
        shown = json.loads(CliRunner().invoke(app, [*asked, "--format", "json"]).output)
        assert (shown["messages"], shown["prompt_hash"]) == (json.loads(row["messages"]), row["prompt_hash"])
        assert shown["sampling"]["temperature"] == 0
        text = CliRunner().invoke(app, asked).output
        assert all(message["content"] in text for message in shown["messages"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smollm2-135m|nobody", "q01-a14"), "unknown rater"),
        (("word-overlap|jaccard", "q01-a14"), "is in ['demo_labels', 'demo_scores']; name one with --dataset"),
        (("word-overlap|jaccard", "q01-a99"), "demo_labels or demo_scores or demo_mcq; did you mean one of ['q01-a"),
        (("word-overlap|jaccard", "q01-a14", "--dataset", "naep"), "cannot be asked about 'naep'"),
    ],
)
def test_prompt_names_what_it_does_not_find(smollm2, arguments, message):
    rater, item, *more = arguments
    done = CliRunner().invoke(app, ["prompt", "--rater", rater, "--item", item, *more])
    assert isinstance(done.exception, ValueError)
    assert message in str(done.exception)
