"""Keys of servers: named before anything is asked, and never in a row or a log."""

import json
import logging

import pytest

from inference.engines.openai import OpenAIEngine, ServerRefusesError
from tests.inference.served.server import quick, reply

KEY = "sk-very-secret-0123456789"


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
