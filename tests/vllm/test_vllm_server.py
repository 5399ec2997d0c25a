"""The engine for servers against a real vLLM server on loopback, serving the tiny random Llama."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from inference.engines.openai import OpenAIEngine
from inference.prompts import Message
from inference.raters import resolve_raters
from inference.registry import ModelSpec, load_registry

pytestmark = pytest.mark.vllm

SECONDS_TO_START = 300
SERVING = ["--served-model-name", "tiny", "--dtype", "float32", "--max-model-len", "256", "--enforce-eager", "--model"]
MODEL = """
tiny:
  title: Tiny behind a server
  family: tiny
  engine: openai
  task: grade
  revision: "1"
  template: grade@1
  settings: {{weights: tiny, chat_template: model, max_tokens: 12}}
  runtime: {{base_url: "{url}/v1", max_in_flight: 8, timeout_seconds: 120}}
  conditions:
    free: {{temperature: 0}}
    held: {{temperature: 1, settings: {{structured_outputs: choice, option_logprobs: true}}}}
    digits: {{temperature: 0, settings: {{structured_outputs: {{regex: "[0-9]{{3}}"}}}}}}
"""


@pytest.fixture(scope="module")
def address(chat_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listening = ["--host", "127.0.0.1", "--port", str(port), "--logprobs-mode", "processed_logprobs"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *SERVING, str(chat_model), *listening],
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5)
        except OSError:
            time.sleep(1)
        else:
            return
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def served(address: str, tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    folder = tmp_path_factory.mktemp("served")
    (folder / "models").mkdir()
    (folder / "models" / "tiny.yml").write_text(MODEL.format(url=address))
    registry = load_registry([folder], None)
    return registry.models["tiny"]


def test_a_real_server_keeps_the_contract(served, request_of):
    """Matched by id, too long harms no other, choice inside the set with its distribution, pattern, stop and length."""
    raters = resolve_raters(load_registry([served.yaml.parent.parent], None))

    def of(request_id, condition, text):
        return request_of(request_id, "free", text, rater=raters[f"tiny|{condition}"])

    requests = [of("long", "free", "word " * 300), of("free", "free", "Why does air rise?")]
    requests += [of("again", "free", "Why does air rise?"), of("digits", "digits", "Number?")]
    requests += [of(f"held{i}", "held", f"Number {i}?") for i in range(10)]
    completions = list(OpenAIEngine(served).complete(requests))
    found = {completion.request_id: completion for completion in completions}
    assert len(completions) == len(found) == len(requests)

    assert (found["long"].error_kind, found["long"].error_type) == ("permanent", "too_long")
    assert "256" in found["long"].error_message
    assert found["long"].prompt_tokens > 256
    assert found["free"].text == found["again"].text
    assert (found["free"].finish_reason, found["free"].completion_tokens) == ("length", 12)
    assert found["digits"].text.isdigit()
    assert len(found["digits"].text) == 3
    held = [found[f"held{i}"] for i in range(10)]
    assert {completion.text for completion in held} <= {"right", "half", "wrong"}
    assert {completion.finish_reason for completion in held} == {"stop"}
    for completion in held:
        assert set(completion.option_logprobs) == {"right", "half", "wrong"}
        assert sum(map(math.exp, completion.option_logprobs.values())) == pytest.approx(1, abs=1e-3)


def test_run_batch_answers_the_files_that_the_batch_engine_writes(chat_model, request_of, tmp_path):
    """The JSONL is what vLLM's own run-batch reads; results come back by custom_id."""
    from inference.engines.batch import BatchEngine

    command = [sys.executable, "-m", "vllm.entrypoints.openai.run_batch", *SERVING, str(chat_model)]
    command += ["-i", "{input}", "-o", "{output}"]
    text = MODEL.format(url="http://unused").replace("engine: openai", "engine: batch")
    lines = [line for line in text.splitlines() if "runtime:" not in line]
    lines.insert(8, f"  runtime: {{command: {json.dumps(command)}}}")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.yml").write_text("\n".join(lines))
    registry = load_registry([tmp_path], None)
    raters = resolve_raters(registry)
    requests = [
        request_of(f"b{i}", "free", "", rater=raters["tiny|held"], messages=(Message("user", f"Number {i}?"),))
        for i in range(5)
    ]
    engine = BatchEngine(registry.models["tiny"], tmp_path / "batches")
    found = {completion.request_id: completion for completion in engine.complete(requests)}
    assert set(found) == {f"b{i}" for i in range(5)}
    assert {completion.text for completion in found.values()} <= {"right", "half", "wrong"}
