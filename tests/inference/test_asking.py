"""The engine contract: n attempts for n requests, matched by id; one failure harms nobody else."""

import json
from collections.abc import Callable, Iterable, Iterator

import polars as pl
import pytest

from inference.asking import AskSummary, ask, models_to_ask
from inference.engines import Completion, Deferred, RenderedRequest, failed
from inference.identity import attempt_id_of, hash_of
from inference.landing import Journal, chunk_files
from inference.planning import plan_requests, to_ask
from inference.raters import resolve_raters

NOTHING = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})


class Scripted:
    """An engine that does with its requests what the test says."""

    kind = "scripted"
    version = "9"

    def __init__(self, script: Callable[[Iterable[RenderedRequest]], Iterator[Completion]]) -> None:
        self.complete = script
        self.flags = {"place": "here"}
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def asked(load, tmp_path):
    """Ask the local model's six label requests through a scripted engine; returns summary, rows and engine."""

    def run(script, requests=None) -> tuple[AskSummary, pl.DataFrame, Scripted]:
        registry, banks = load()
        raters = resolve_raters(registry)
        plan = plan_requests(registry, banks).filter(pl.col("dataset") == "tiny_labels")
        todo = to_ask(plan, NOTHING) if requests is None else requests
        model, mine = next(pair for pair in models_to_ask(todo, raters) if pair[0].name == "overlap")
        engine, folder = Scripted(script), tmp_path / "landing"
        options = {"progress": _ignore, "cache": tmp_path / "cache", "engine": engine}
        summary = ask(model, mine, registry, raters, banks, Journal(folder), **options)
        parts = [pl.read_parquet(path) for path in chunk_files(folder)]
        return summary, pl.concat(parts) if parts else pl.DataFrame(), engine

    return run


def _ignore(n: int) -> None:
    """Take progress and do nothing with it."""


def _say(request: RenderedRequest) -> Completion:
    return Completion(request.request_id, f"Label: {request.item_id}", "stop", completion_tokens=3)


def test_answers_are_matched_by_id_and_not_by_position(asked):
    summary, rows, engine = asked(lambda requests: (_say(request) for request in reversed(list(requests))))
    assert (summary.n_asked, summary.n_ok, summary.n_errors, summary.crash) == (6, 6, 0, None)
    assert engine.is_closed
    assert rows.select((pl.col("text") == "Label: " + pl.col("item_id")).all()).item()
    assert rows["request_id"].n_unique() == 6


def test_an_attempt_carries_all_that_was_asked(asked):
    _, rows, _ = asked(lambda requests: (_say(request) for request in requests))
    for row in rows.iter_rows(named=True):
        assert row["attempt_id"] == attempt_id_of(row["request_id"], 1)
        assert row["prompt_hash"] == hash_of(row["messages"])
        assert (row["engine"], row["engine_version"], json.loads(row["engine_flags"])) == (
            "scripted",
            "9",
            {"place": "here"},
        )
        assert row["completion_tokens"] == 3


def test_requests_come_with_choices_and_with_shared_beginnings_together(asked):
    seen: list[RenderedRequest] = []

    def script(requests):
        for request in requests:
            seen.append(request)
            yield _say(request)

    asked(script)
    assert {request.choices for request in seen} == {("right", "half", "wrong")}
    assert [(r.rater.row.rater_id, r.item_id) for r in seen] == [
        (rater, item) for rater in ("overlap|nearest", "overlap|recall") for item in ("007", "7", "52779E469111")
    ]


def test_r14_one_bad_request_is_an_error_row_and_the_others_are_unharmed(asked):
    def script(requests):
        for request in requests:
            is_bad = request.item_id == "7"
            yield failed(request.request_id, "permanent", "too_long", "9 tokens > 8") if is_bad else _say(request)

    summary, rows, _ = asked(script)
    assert (summary.n_asked, summary.n_ok, summary.n_errors) == (6, 4, 2)
    bad = rows.filter(pl.col("item_id") == "7")
    columns = ["text", "finish_reason", "error_kind", "error_type", "error_message"]
    assert bad.select(columns).unique().rows() == [(None, "error", "permanent", "too_long", "9 tokens > 8")]
    assert rows.filter(pl.col("item_id") != "7")["error_kind"].null_count() == 4


def test_r15_a_crash_keeps_what_was_answered_and_marks_what_was_taken(asked):
    def script(requests):
        taken = iter(requests)
        yield _say(next(taken))
        next(taken)
        raise MemoryError("out of GPU memory")

    summary, rows, engine = asked(script)
    assert (summary.n_asked, summary.n_ok, summary.n_errors) == (2, 1, 1)
    assert summary.crash == "MemoryError: out of GPU memory"
    assert engine.is_closed
    lost = rows.filter(pl.col("error_kind") == "retryable")
    assert lost["error_message"].to_list() == ["MemoryError: out of GPU memory"]
    assert rows.height == 2


def test_r14_fewer_answers_than_requests_are_noticed(asked):
    summary, rows, _ = asked(lambda requests: (_say(request) for request in list(requests)[:-1]))
    assert (summary.n_ok, summary.n_errors, summary.crash) == (5, 1, None)
    assert rows.filter(pl.col("error_kind").is_not_null())["error_message"].to_list() == [
        "the engine ended without an answer"
    ]


@pytest.mark.parametrize("twice", [True, False])
def test_an_answer_that_nobody_asked_for_stops_the_engine(asked, twice):
    def script(requests):
        first = next(iter(requests))
        yield _say(first)
        yield _say(first) if twice else Completion("never asked", "x", "stop")

    summary, rows, _ = asked(script)
    assert "which is not open" in str(summary.crash)
    assert rows.height == 1


def test_stopping_by_hand_keeps_what_was_answered(asked, tmp_path):
    def script(requests):
        yield _say(next(iter(requests)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked(script)
    assert sum(pl.read_parquet(path).height for path in chunk_files(tmp_path / "landing")) == 1


def test_a_request_without_a_prompt_is_a_permanent_error_and_never_reaches_the_engine(change, asked):
    change("models/overlap.yml", "template: fields@1", "template: strategies@1")
    change("models/overlap.yml", "recall: {settings", "recall: {strategy: abductive, settings")
    change("models/overlap.yml", "nearest: {settings", "nearest: {strategy: lucky, settings")
    seen: list[str] = []

    def script(requests):
        for request in requests:
            seen.append(request.rater.row.rater_id)
            yield _say(request)

    summary, rows, _ = asked(script)
    assert set(seen) == {"overlap|recall"}
    assert (summary.n_asked, summary.n_ok, summary.n_errors) == (6, 3, 3)
    refused = rows.filter(pl.col("rater_id") == "overlap|nearest").select("error_kind", "error_type").unique()
    assert refused.rows() == [("permanent", "no_prompt")]


def test_deferred_requests_stay_unasked(asked):
    def script(requests):
        taken = list(requests)
        yield _say(taken[0])
        raise Deferred

    summary, rows, _ = asked(script)
    assert (summary.n_asked, summary.n_ok, summary.n_errors, summary.n_deferred) == (1, 1, 0, 5)
    assert (summary.crash, rows.height) == (None, 1)


def test_a_recorded_cell_is_kept_verbatim_and_a_blank_is_what_its_entry_says(change, load, tmp_path):
    def answers() -> dict[tuple[str, str], tuple[str | None, str]]:
        registry, banks = load()
        raters, plan = resolve_raters(registry), plan_requests(registry, banks)
        (model, mine), *_ = (p for p in models_to_ask(to_ask(plan, NOTHING), raters) if p[0].name == "old_grades")
        folder = tmp_path / registry.fingerprint
        ask(model, mine, registry, raters, banks, Journal(folder), progress=_ignore, cache=tmp_path)
        rows = pl.concat([pl.read_parquet(path) for path in chunk_files(folder)])
        assert rows["messages"].null_count() == rows.height
        return {(r["rater_id"], r["item_id"]): (r["text"], r["finish_reason"]) for r in rows.iter_rows(named=True)}

    found = answers()
    assert found["m|b", "007"] == ("Label: wrong", "stop")
    assert found["m|a", "7"] == (None, "not_recorded")
    assert found["m|a", "52779E469111"] == (None, "not_recorded")  # no row in the file
    change("recorded/old.yml", "blank: not_recorded", "blank: empty")
    assert answers()["m|a", "7"] == ("", "stop")
    assert answers()["m|a", "52779E469111"] == (None, "not_recorded")
