"""The engine of batch files: a command that runs them, results that come later, and a command that fails."""

import json
import sys

import polars as pl
import pytest

from inference.engines import Deferred
from inference.engines.batch import BatchCommandError, BatchEngine
from tests.inference.served.server import requests_of

RUNNER = r"""
import json, sys
with open(sys.argv[1]) as source, open(sys.argv[2], "w") as target:
    for line in reversed(source.readlines()):
        asked = json.loads(line)
        text = "right" if "answer:\nWarm" in asked["body"]["messages"][-1]["content"] else "wrong"
        body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5}}
        reply = {"custom_id": asked["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}
        target.write(json.dumps(reply) + chr(10))
"""


def test_batch_command_runs_the_file_and_results_are_matched_by_custom_id(asked, tmp_path):
    (tmp_path / "runner.py").write_text(RUNNER)
    command = [sys.executable, str(tmp_path / "runner.py"), "{input}", "{output}"]
    summary, rows = asked("batch", {"command": command}, condition="free")
    assert (summary.n_ok, summary.n_errors, summary.n_deferred) == (3, 0, 0)
    assert {row["item_id"]: row["text"] for row in rows.iter_rows(named=True)} == {
        "007": "right",
        "7": "wrong",
        "52779E469111": "wrong",
    }
    [lines] = [path.read_text().splitlines() for path in (tmp_path / "home" / "batches").rglob("*.requests.jsonl")]
    first = json.loads(lines[0])
    assert (first["method"], first["url"], first["body"]["model"]) == ("POST", "/v1/chat/completions", "org/model-a")


def test_batch_without_results_leaves_everything_unasked_and_takes_them_in_later(asked, tmp_path):
    summary, rows = asked("batch", {}, condition="free")
    assert (summary.n_asked, summary.n_deferred, summary.crash) == (0, 3, None)
    assert rows.is_empty()
    summary, rows = asked("batch", {}, condition="free")
    [written] = (tmp_path / "home" / "batches").rglob("*.requests.jsonl")
    results = written.with_name(written.name.replace("requests", "results"))
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    good = {"choices": [{"message": {"content": "right"}, "finish_reason": "stop"}]}
    said = {"error": {"message": "maximum context length is 256 tokens; your prompt contains 300 input tokens"}}
    outcomes = [(200, good), (400, said), (500, {"error": {"message": "worker lost"}})]
    results.write_text(
        "".join(
            json.dumps({"custom_id": line["custom_id"], "response": {"status_code": status, "body": body}}) + "\n"
            for line, (status, body) in zip(lines, outcomes, strict=True)
        )
    )
    summary, rows = asked("batch", {}, condition="free")
    assert (summary.n_ok, summary.n_errors, summary.n_deferred) == (1, 2, 0)
    assert sorted(rows["error_type"].drop_nulls()) == ["http_500", "too_long"]
    lost = rows.filter(pl.col("error_kind") == "retryable")
    known = rows.select("request_id", n_attempts=pl.lit(1, pl.Int64), is_done=pl.col("error_kind") != "retryable")
    summary, _ = asked("batch", {}, condition="free", known=known.with_columns(pl.col("is_done").fill_null(True)))
    assert (lost.height, summary.n_deferred) == (1, 1)
    assert len(list((tmp_path / "home" / "batches").rglob("*.requests.jsonl"))) == 2


def test_a_batch_command_that_fails_says_so_and_keeps_the_file(prepare, tmp_path):
    command = [sys.executable, "-c", "import sys; sys.exit('no GPU here')"]
    registry, _, _ = prepare("batch", {"command": command})
    engine = BatchEngine(registry.models["served"], tmp_path)
    with pytest.raises(BatchCommandError, match="no GPU here"):
        list(engine.complete(requests_of(registry, 2)))
    waiting = BatchEngine(prepare("batch", {})[0].models["served"], tmp_path)
    with pytest.raises(Deferred):
        list(waiting.complete(requests_of(registry, 2)))
    assert len(list(tmp_path.rglob("*.requests.jsonl"))) == 1
