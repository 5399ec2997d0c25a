"""Killed at any instant, then run to the end: the same requests, attempts and texts, and nothing asked twice."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from inference.landing import chunk_files
from orchestration.house import House
from orchestration.settings import PROJECT_ROOT, Settings
from tests.orchestration.house.tiny import ask_all, raw

N_ITEMS = 400
ASK = """
import sys, time
from pathlib import Path
from inference.engines.recorded import RecordedEngine
from orchestration import house
from orchestration.settings import Settings

complete = RecordedEngine.complete

def slowly(self, requests):
    for completion in complete(self, requests):
        time.sleep(0.0005)
        with open(sys.argv[3], "a") as asked:
            asked.write(completion.request_id + "\\n")
        yield completion

RecordedEngine.complete = slowly
journal = house.Journal
house.Journal = lambda folder: journal(folder, rows_per_chunk=25)
it = house.House(Settings(home=Path(sys.argv[1]), data=None, shipped_registry=Path(sys.argv[2])))
raters = house.load_catalogue(it.settings).raters
print("ready", flush=True)
for ids in house.raters_by_model(house.requests_to_ask(it), raters).values():
    house.ask_raters(it, ids)
"""
ROWS = "select attempt_id, request_id, attempt, rater_id, item_id, text from raw.responses order by attempt_id"


def enlarge(registry: Path) -> None:
    """Give the registry enough items that a kill falls in the middle of the work."""
    ids = [f"{i:04d}" for i in range(N_ITEMS)]
    (registry / "banks/answers.csv").write_text(
        "id,question,split,answer,label\n" + "".join(f"{item},q1,test,answer {item},right\n" for item in ids)
    )
    (registry / "recorded/grades.csv").write_text(
        "id,m|a,m|b,n|a\n" + "".join(f"{item},right,Label: wrong {item},half\n" for item in ids)
    )


def asks(settings: Settings, log: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", ASK, str(settings.home), str(settings.shipped_registry), str(log)],
        cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def landed_requests(settings: Settings) -> set[str]:
    """Return the requests whose attempts lie in whole chunks."""
    return {r for file in chunk_files(settings.landing) for r in pl.read_parquet(file)["request_id"]}


def kill_and_finish(settings: Settings, log: Path, n_kills: int) -> int:
    """Kill the asking so many times; return how many kills hit it at work. Then let it end."""
    rng, hits = random.Random(20260401), 0
    for _ in range(n_kills):
        before = landed_requests(settings)
        log.write_text("")
        process = asks(settings, log)
        time.sleep(rng.uniform(0.0, 0.8))
        os.kill(process.pid, signal.SIGKILL)
        hits += process.wait() == -signal.SIGKILL
        assert not before & set(log.read_text().split()), "asked again what had landed"
    process = asks(settings, log)
    assert process.wait() == 0
    return hits


@pytest.mark.parametrize("n_kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_asking_ends_as_undisturbed_asking_does(
    settings: Settings, registry: Path, tmp_path: Path, n_kills: int
) -> None:
    enlarge(registry)
    undisturbed = Settings(home=tmp_path / "undisturbed", data=None, shipped_registry=registry)
    ask_all(House(undisturbed))
    hits = kill_and_finish(settings, tmp_path / "asked.log", n_kills)
    assert hits >= n_kills // 2
    assert raw(settings, ROWS).equals(raw(undisturbed, ROWS))
    assert raw(settings, "from raw.responses").height == 3 * N_ITEMS
    assert raw(settings, "select max(attempt) as n from raw.responses")["n"][0] == 1
