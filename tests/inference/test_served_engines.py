"""Engines that ask through a server or through files, against a server that speaks the protocol on loopback."""

import json
import logging
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from inference.asking import ask, models_to_ask
from inference.engines import Deferred
from inference.engines.batch import BatchCommandError, BatchEngine
from inference.engines.openai import OpenAIEngine, ServerRefusesError, _retry_after
from inference.landing import Journal, chunk_files
from inference.planning import plan_requests, to_ask
from inference.registry import load_registry
from inference.sources import read_bank

WARM = "Student answer:\nWarm air"
KEY = "sk-very-secret-0123456789"
MODEL = """
served:
  title: Served
  family: served
  engine: {engine}
  task: grade
  revision: "1"
  template: grade@1
  settings: {{weights: org/model-a, chat_template: {chat_template}, max_tokens: 9}}
  runtime: {runtime}
  conditions:
    free: {{temperature: 0.5, settings: {{seed: 3, stop: ["END"]}}}}
    held: {{temperature: 0, settings: {{structured_outputs: choice, option_logprobs: true}}}}
"""
NOTHING = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})


class Server(ThreadingHTTPServer):
    """Answers chat completions as its script says; keeps what it was sent."""

    daemon_threads = True

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.seen, self.lock = script, [], threading.Lock()
        self.n_open = self.most_open = 0
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.seen.append((self.path, body, self.headers["authorization"]))
            n_before = sum(1 for _, other, _ in self.server.seen[:-1] if other == body)
            self.server.n_open += 1
            self.server.most_open = max(self.server.most_open, self.server.n_open)
        status, headers, content = self.server.script(body, n_before)
        with self.server.lock:
            self.server.n_open -= 1
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(sent))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)


def reply(text, finish_reason="stop", **more):
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish_reason, **more}
    return 200, {}, {"choices": [choice], "usage": {"prompt_tokens": 11, "completion_tokens": 2}}


@pytest.fixture
def serve():
    servers = []

    def start(script):
        server = Server(script)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def prepare(folder, tmp_path):
    """Return registry, banks, model and requests of the served model's two raters."""

    def build(engine, runtime, chat_template="model", condition=None):
        (folder / "models" / "overlap.yml").unlink(missing_ok=True)
        text = MODEL.format(engine=engine, chat_template=chat_template, runtime=json.dumps(runtime))
        (folder / "models" / "served.yml").write_text(text)
        study = f"grading: {{title: G, task: grade, datasets: [tiny_labels], engines: [{engine}]}}\n"
        (folder / "studies" / "grading.yml").write_text(study)
        registry = load_registry([folder], None)
        banks = {bank.name: read_bank(bank, registry) for bank in registry.banks.values()}
        plan = plan_requests(registry, banks)
        if condition:
            plan = plan.filter(pl.col("rater_id") == f"served|{condition}")
        return registry, banks, plan

    return build


@pytest.fixture
def asked(prepare, tmp_path):
    """Ask through an engine and return summary and landed rows."""

    def run(engine, runtime, chat_template="model", condition=None, known=NOTHING):
        registry, banks, plan = prepare(engine, runtime, chat_template, condition)
        [(model, todo)] = models_to_ask(to_ask(plan, known), registry)
        options = {"cache": tmp_path / "home" / "cache", "progress": lambda _: None}
        summary = ask(model, todo, registry, banks, Journal(tmp_path / "landing"), **options)
        parts = [pl.read_parquet(path) for path in chunk_files(tmp_path / "landing")]
        return summary, pl.concat(parts) if parts else pl.DataFrame()

    return run


def quick(server, **more):
    return {"base_url": server.url, "first_wait_seconds": 0.01, **more}


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


def test_a_busy_server_is_asked_again_within_one_attempt(serve, asked):
    trouble = [(429, {"retry-after": "0"}, {"error": {"message": "slow down"}}), (503, {}, b"<html>busy</html>")]
    server = serve(lambda _, n: trouble[n] if n < 2 else reply("right"))
    summary, rows = asked("openai", quick(server), condition="free")
    assert (summary.n_ok, summary.n_errors) == (3, 0)
    assert set(rows["attempt"]) == {1}
    assert len(server.seen) == 9


def test_what_is_given_up_is_a_retryable_attempt_and_the_next_has_the_next_number(serve, asked):
    server = serve(lambda *_: (503, {}, {"error": "busy"}))
    summary, rows = asked("openai", quick(server, max_tries=3), condition="free")
    assert summary.n_errors == 3
    assert set(rows["error_kind"]) == {"retryable"}
    assert set(rows["error_type"]) == {"http_503"}
    assert rows["error_message"].str.contains(r"busy \(sent 3 times\)").all()
    assert Counter(len(group) for group in _by_body(server).values()) == {3: 3}
    known = rows.select("request_id", n_attempts=pl.lit(1, pl.Int64), is_done=pl.lit(False))
    server.script = lambda *_: reply("right")
    _, rows = asked("openai", quick(server, max_tries=3), condition="free", known=known)
    assert sorted(rows["attempt"]) == [1, 1, 1, 2, 2, 2]


def _by_body(server):
    groups = {}
    for _, body, _ in server.seen:
        groups.setdefault(json.dumps(body, sort_keys=True), []).append(body)
    return groups


def test_time_outs_and_closed_doors_are_retryable(serve, asked):
    slow = serve(lambda *_: (time.sleep(0.5), reply("late"))[1])
    _, rows = asked("openai", quick(slow, timeout_seconds=0.1, max_tries=1), condition="free")
    assert set(rows["error_type"]) == {"timeout"}
    nobody = {"base_url": "http://127.0.0.1:9/v1", "max_tries": 1}
    _, rows = asked("openai", nobody, condition="free")
    assert set(rows.tail(3)["error_type"]) == {"connection"}
    assert set(rows["error_kind"]) == {"retryable"}


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
        for request in _requests(registry, 12):
            drawn.append((request.request_id, server.n_open))
            yield request

    assert len({completion.request_id for completion in engine.complete(requests())}) == 12
    assert server.most_open == 2


def _requests(registry, n):
    from inference.engines import RenderedRequest
    from inference.prompts import Message
    from inference.raters import resolve_raters

    rater = resolve_raters(registry)["served|free"]
    for i in range(n):
        message = Message("user", f"number {i}")
        yield RenderedRequest(f"r{i}", rater, "tiny_labels", f"i{i}", 0, 1, (message,), ("right",))


def test_a_server_that_refuses_everything_stops_the_run_and_no_key_leaks(serve, asked, monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("SERVED_KEY", KEY)
    server = serve(lambda *_: (401, {}, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    caplog.set_level(logging.DEBUG)
    summary, rows = asked("openai", quick(server, api_key_env="SERVED_KEY"), condition="free")
    assert {key for _, _, key in server.seen} == {f"Bearer {KEY}"}
    assert summary.crash.startswith(ServerRefusesError.__name__)
    assert "401" in summary.crash
    assert set(rows["error_kind"]) == {"retryable"}
    assert KEY not in summary.crash + caplog.text + json.dumps(rows.to_dicts(), default=str)


def test_no_key_in_rows_of_answers_and_of_errors(serve, asked, monkeypatch, caplog):
    monkeypatch.setenv("SERVED_KEY", KEY)

    def script(body, n_before):
        return reply("right") if "Cold" in body["messages"][-1]["content"] else (500, {}, f"trace {KEY}".encode())

    caplog.set_level(logging.DEBUG)
    server = serve(script)
    summary, rows = asked("openai", quick(server, api_key_env="SERVED_KEY", max_tries=2), condition="free")
    assert summary.n_errors == 2
    assert KEY not in caplog.text + json.dumps(rows.to_dicts(), default=str)
    assert rows["error_message"].str.contains("trace [key]", literal=True).sum() == 2


def test_a_missing_key_is_named_before_anything_is_asked(serve, prepare, monkeypatch):
    monkeypatch.delenv("SERVED_KEY", raising=False)
    registry, _, _ = prepare("openai", quick(serve(lambda *_: reply("right")), api_key_env="SERVED_KEY"))
    with pytest.raises(ValueError, match="SERVED_KEY is not set"):
        OpenAIEngine(registry.models["served"])


def test_cancelling_stops_what_is_under_way(serve, prepare):
    server = serve(lambda *_: reply("right"))
    registry, _, _ = prepare("openai", quick(server, max_in_flight=2))
    completions = OpenAIEngine(registry.models["served"]).complete(_requests(registry, 10_000))
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
        yield from _requests(registry, 2)
        raise RuntimeError("the bank is gone")

    with pytest.raises(RuntimeError, match="the bank is gone"):
        list(OpenAIEngine(registry.models["served"]).complete(broken()))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("2", 2), ("-1", 0), ("soon", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
def test_retry_after_is_read_in_both_forms(header, seconds):
    assert _retry_after(header) == seconds


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
        list(engine.complete(_requests(registry, 2)))
    waiting = BatchEngine(prepare("batch", {})[0].models["served"], tmp_path)
    with pytest.raises(Deferred):
        list(waiting.complete(_requests(registry, 2)))
    assert len(list(tmp_path.rglob("*.requests.jsonl"))) == 1
