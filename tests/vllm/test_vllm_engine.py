"""The contract of the vLLM engine, held against a tiny random Llama."""

import json
import math
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import psutil
import pytest

from inference.asking import ask, models_to_ask
from inference.engines.vllm import EngineStoppedError, VllmEngine
from inference.landing import Journal, chunk_files
from inference.planning import plan_requests, to_ask
from inference.raters import resolve_raters

pytestmark = pytest.mark.vllm

NOTHING = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})


def _by_id(engine, requests):
    found = {completion.request_id: completion for completion in engine.complete(requests)}
    assert len(found) == len(requests)
    return found


def test_r14_three_requests_of_which_the_second_is_too_long_give_three_answers(engine, request_of):
    found = _by_id(
        engine,
        [request_of("a", "free", "Why?"), request_of("b", "free", "word " * 300), request_of("c", "free", "How?")],
    )
    assert found["b"].error_kind == "permanent"
    assert found["b"].error_type == "too_long"
    assert str(found["b"].prompt_tokens) in found["b"].error_message
    assert "256" in found["b"].error_message
    for name in "ac":
        assert found[name].error_kind is None
        assert found[name].text
        assert found[name].prompt_tokens > 0
        assert found[name].completion_tokens > 0
        assert found[name].latency_seconds > 0


def test_temperature_zero_repeats(engine, request_of):
    found = _by_id(engine, [request_of(f"r{i}", "free", "Why does air rise?") for i in range(4)])
    again = _by_id(engine, [request_of("r0", "free", "Why does air rise?")])
    assert len({completion.text for completion in (*found.values(), *again.values())}) == 1


def test_sampling_depends_on_item_and_replicate_and_repeats(engine, request_of):
    def draw():
        requests = [request_of(f"d{i}", "drawn", "Why?", item_id=f"i{i % 3}", replicate=i // 3) for i in range(6)]
        return {name: completion.text for name, completion in _by_id(engine, requests).items()}

    first = draw()
    assert len(set(first.values())) == 6
    assert draw() == first


def test_choice_stays_inside_the_set_and_tells_its_distribution(engine, request_of):
    found = _by_id(engine, [request_of(f"h{i}", "held", f"Number {i}?") for i in range(20)])
    texts = {completion.text for completion in found.values()}
    assert texts <= {"right", "half", "wrong"}
    assert len(texts) > 1
    for completion in found.values():
        assert completion.finish_reason == "stop"
        assert set(completion.option_logprobs) == {"right", "half", "wrong"}
        assert sum(map(math.exp, completion.option_logprobs.values())) == pytest.approx(1, abs=1e-3)


def test_labels_that_begin_alike_have_a_distribution_too(engine, request_of):
    """The tiny model spells: "co" and "in" begin two labels each, and whole words are one token or many."""
    labels = ("correct", "contradictory", "incorrect", "incomplete", "partially correct")
    found = _by_id(engine, [request_of(f"k{i}", "held", f"Which, {i}?", choices=labels) for i in range(8)])
    for completion in found.values():
        assert completion.text in labels
        assert set(completion.option_logprobs) == set(labels)
        assert sum(map(math.exp, completion.option_logprobs.values())) == pytest.approx(1, abs=1e-3)


def test_choice_without_choices_is_a_permanent_error_of_that_request_only(engine, request_of):
    found = _by_id(engine, [request_of("n", "held", "Why?", choices=()), request_of("o", "held", "Why?")])
    assert (found["n"].error_kind, found["n"].error_type) == ("permanent", "no_choices")
    assert found["o"].text in {"right", "half", "wrong"}


def test_pattern_and_schema_hold_the_response(engine, request_of):
    found = _by_id(engine, [request_of("p", "digits", "Number?"), request_of("q", "object", "Object?")])
    assert found["p"].text.isdigit()
    assert len(found["p"].text) == 3
    value = json.loads(found["q"].text)
    assert value["label"] in {"right", "wrong"}
    assert isinstance(value["sure"], bool)
    assert " " not in found["q"].text


def test_stop_and_length_are_told_apart(engine, request_of):
    found = _by_id(engine, [request_of("s", "held", "Why?"), request_of("l", "short", "Why?")])
    assert found["s"].finish_reason == "stop"
    assert found["l"].finish_reason == "length"
    assert found["l"].completion_tokens == 3


def test_what_is_recorded_and_not_hashed_is_told(engine):
    assert engine.version[0].isdigit()
    assert engine.flags["tensor_parallel_size"] == 1
    assert engine.flags["enable_prefix_caching"] is True
    assert engine.flags["chat_template_policy"] == "model"
    assert len(engine.flags["chat_template_hash"]) == 64
    assert {"device", "host", "torch", "batch_invariant", "max_num_seqs"} <= set(engine.flags)


def test_base_model_without_a_template_follows_the_declared_policy(registry_of, base_model, request_of, tmp_path):
    """R14, C1: no silent default; `model` is an error where the model has no template, `plain` shows the bare texts."""
    asked = [request_of(f"b{i}", "free", f"Air {i}") for i in range(3)]
    strict = VllmEngine(registry_of(base_model).models["tiny"], tmp_path)
    assert {(c.error_kind, c.error_type) for c in strict.complete(asked)} == {("permanent", "no_template")}
    assert strict.flags["chat_template_hash"] is None
    strict.close()
    plain = VllmEngine(registry_of(base_model, "plain").models["tiny"], tmp_path)
    answers = _by_id(plain, asked)
    assert all(answer.error_kind is None and answer.text for answer in answers.values())
    # every byte and merge of "Air 0" and nothing around it
    assert answers["b0"].prompt_tokens < 6
    assert plain.flags["chat_template_policy"] == "plain"
    plain.close()


def _landed(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in chunk_files(folder)])


def _known(rows: pl.DataFrame) -> pl.DataFrame:
    is_done = pl.col("error_kind").ne_missing("retryable").any()
    return rows.group_by("request_id").agg(n_attempts=pl.len().cast(pl.Int64), is_done=is_done)


def test_r13_r15_three_raters_share_a_process_and_a_killed_one_is_resumed(chat_registry, read_banks, tmp_path):
    # more than an engine takes in at once, so that it is killed with work before it
    often = chat_registry.studies["tiny"].model_copy(update={"replicates": 6})
    chat_registry = replace(chat_registry, studies={"tiny": often})
    banks = read_banks(chat_registry)
    plan = plan_requests(chat_registry, banks).filter(
        pl.col("rater_id").is_in(["tiny|free", "tiny|drawn", "tiny|held"])
    )
    raters = resolve_raters(chat_registry)
    [(model, todo)] = models_to_ask(to_ask(plan, NOTHING), raters)
    engine, folder = VllmEngine(model, tmp_path / "cache"), tmp_path / "landing"
    n_seen = 0

    def kill_at_ten(n: int) -> None:
        nonlocal n_seen
        n_seen += n
        if n_seen == 10:
            os.kill(engine.pid, signal.SIGKILL)

    options = {"cache": tmp_path / "cache", "engine": engine, "progress": kill_at_ten}
    summary = ask(model, todo, chat_registry, raters, banks, Journal(folder, rows_per_chunk=2), **options)
    assert summary.crash.startswith("EngineStoppedError")
    first = _landed(folder)
    kept = first.filter(pl.col("error_kind").ne_missing("retryable"))
    assert kept.height >= 10
    assert set(first.filter(pl.col("error_kind") == "retryable")["error_type"]) == {"engine_stopped"}
    before = {path: path.read_bytes() for path in chunk_files(folder)}

    [(model, todo)] = models_to_ask(to_ask(plan, _known(first)), raters)
    assert todo.height == plan.height - kept.height
    options = {"cache": tmp_path / "cache", "progress": lambda _: None}
    summary = ask(model, todo, chat_registry, raters, banks, Journal(folder), **options)
    assert (summary.crash, summary.n_asked) == (None, todo.height)
    rows = _landed(folder)
    assert all(path.read_bytes() == content for path, content in before.items())
    done = rows.filter(pl.col("error_kind").ne_missing("retryable"))
    assert sorted(done["request_id"]) == sorted(plan["request_id"])
    assert set(done.filter(pl.col("error_kind") == "permanent")["item_id"]) == {"w4"}
    assert rows["engine_version"].n_unique() == 1
    assert to_ask(plan, _known(rows)).height == 0


def test_a_cancelled_run_ends_the_process(chat_registry, request_of, tmp_path):
    engine = VllmEngine(chat_registry.models["tiny"], tmp_path)
    process = psutil.Process(engine.pid)
    completions = engine.complete(request_of(f"c{i}", "free", f"Air {i}") for i in range(10_000))
    assert next(completions).error_kind is None
    completions.close()
    engine.close()
    deadline = time.monotonic() + 10
    while process.is_running() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not process.is_running()


def test_a_model_that_cannot_be_loaded_says_why(registry_of, tmp_path):
    with pytest.raises(EngineStoppedError, match=r"process of tiny ended \(1\).*LocalEntryNotFoundError"):
        VllmEngine(registry_of(Path("nowhere")).models["tiny"], tmp_path)
