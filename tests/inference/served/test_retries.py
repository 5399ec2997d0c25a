"""What happens where a server is busy, late or not there."""

import json
import time
from collections import Counter

import polars as pl
import pytest

from inference.engines.openai import _retry_after
from tests.inference.served.server import quick, reply


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


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("2", 2), ("-1", 0), ("soon", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
def test_retry_after_is_read_in_both_forms(header, seconds):
    assert _retry_after(header) == seconds
