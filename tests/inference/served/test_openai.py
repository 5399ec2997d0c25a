"""The engine of servers: what is sent, what is read, how much is under way, and how it ends."""

import json
import time

import polars as pl
import pytest

from inference.engines.openai import OpenAIEngine
from tests.inference.served.server import quick, reply, requests_of

WARM = "Student answer:\nWarm air"


def test_answers_are_matched_by_id_and_carry_tokens_and_reasons(serve, asked):
    def script(body, n_before):
        text = body["messages"][-1]["content"]
        time.sleep(0.05 if WARM in text else 0)
        return reply("warm" if WARM in text else "cold", "length" if WARM in text else "stop")

    summary, rows = asked("openai", quick(serve(script)), condition="free")
    assert (summary.n_asked, summary.n_ok, summary.crash) == (3, 3, None)
    found = {row["item_id"]: row for row in rows.iter_rows(named=True)}
    assert (found["007"]["text"], found["007"]["finish_reason"]) == ("warm", "length")
    assert (found["7"]["text"], found["7"]["finish_reason"]) == ("cold", "stop")
    assert set(rows["prompt_tokens"]) == {11}
    assert set(rows["completion_tokens"]) == {2}
    assert rows["latency_seconds"].min() > 0
    assert set(rows["engine"]) == {"openai"}


def test_sampling_and_structured_outputs_are_sent_as_vllm_reads_them(serve, asked):
    server = serve(lambda *_: reply("right"))
    asked("openai", quick(server))
    held = [body for _, body, _ in server.seen if "structured_outputs" in body]
    free = [body for _, body, _ in server.seen if "structured_outputs" not in body]
    assert (len(held), len(free)) == (3, 3)
    assert held[0]["structured_outputs"]["choice"] == ["right", "half", "wrong"]
    assert (held[0]["logprobs"], held[0]["top_logprobs"], held[0]["seed"]) == (True, 20, None)
    assert {"extra_body", "guided_choice"}.isdisjoint(held[0])
    assert (free[0]["temperature"], free[0]["max_tokens"], free[0]["stop"]) == (0.5, 9, ["END"])
    assert len({body["seed"] for body in free}) == 3
    assert {path for path, _, _ in server.seen} == {"/v1/chat/completions"}


def test_option_logprobs_are_read_from_the_reply(serve, asked):
    top = [{"token": "right", "logprob": -0.5}, {"token": "half", "logprob": -1.5}, {"token": "wrong", "logprob": -1.7}]
    content = {"content": [{"token": "right", "logprob": -0.5, "top_logprobs": top}]}
    _, rows = asked("openai", quick(serve(lambda *_: reply("right", logprobs=content))), condition="held")
    # e^-0.5 + e^-1.5 + e^-1.7 = 0.607 + 0.223 + 0.183 = 1.012
    assert json.loads(rows["option_logprobs"][0])["half"] == pytest.approx(-1.5)


def test_plain_models_get_a_prompt_and_no_messages(serve, asked):
    answer = {"choices": [{"text": "right", "finish_reason": "stop"}]}
    server = serve(lambda *_: (200, {}, answer))
    _, rows = asked("openai", quick(server), chat_template="plain", condition="free")
    path, body, _ = server.seen[0]
    assert path == "/v1/completions"
    assert body["prompt"].startswith("Question:")
    assert "messages" not in body
    assert set(rows["text"]) == {"right"}


def test_one_bad_request_harms_no_other(serve, asked):
    """R14: the second of three is too long."""
    said = "This model's maximum context length is 256 tokens. However, your prompt contains 400 input tokens"

    def script(body, n_before):
        if "Cold air" in body["messages"][-1]["content"]:
            return 400, {}, {"error": {"message": said, "type": "BadRequestError"}}
        return reply("right")

    summary, rows = asked("openai", quick(serve(script)), condition="free")
    assert (summary.n_ok, summary.n_errors) == (2, 1)
    bad = rows.filter(pl.col("item_id") == "7").row(0, named=True)
    assert (bad["error_kind"], bad["error_type"], bad["prompt_tokens"]) == ("permanent", "too_long", 400)
    assert "256" in bad["error_message"]


def test_never_more_under_way_than_allowed(serve, prepare):
    def script(body, n_before):
        time.sleep(0.03)
        return reply("right")

    server = serve(script)
    registry, _, _ = prepare("openai", quick(server, max_in_flight=2))
    engine = OpenAIEngine(registry.models["served"])
    drawn = []

    def requests():
        for request in requests_of(registry, 12):
            drawn.append((request.request_id, server.n_open))
            yield request

    assert len({completion.request_id for completion in engine.complete(requests())}) == 12
    assert server.most_open == 2


def test_cancelling_stops_what_is_under_way(serve, prepare):
    server = serve(lambda *_: reply("right"))
    registry, _, _ = prepare("openai", quick(server, max_in_flight=2))
    completions = OpenAIEngine(registry.models["served"]).complete(requests_of(registry, 10_000))
    assert next(completions).text == "right"
    completions.close()
    n_sent = len(server.seen)
    assert n_sent < 1000
    time.sleep(0.2)
    # the two that were on their way may still arrive; nothing new is sent
    assert len(server.seen) <= n_sent + 2


def test_an_error_while_requests_are_drawn_is_raised(serve, prepare):
    registry, _, _ = prepare("openai", quick(serve(lambda *_: reply("right"))))

    def broken():
        yield from requests_of(registry, 2)
        raise RuntimeError("the bank is gone")

    with pytest.raises(RuntimeError, match="the bank is gone"):
        list(OpenAIEngine(registry.models["served"]).complete(broken()))
