"""Two runs begun at the same time: the second waits, and leaves alone what the first has done meanwhile."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestration.settings import Settings
from tests.orchestration.house.tiny import command_line, raw, write_registry

RUNS = 2


@pytest.mark.slow
def test_a_run_beside_a_running_one_asks_and_computes_nothing_twice(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", data=None, shipped_registry=write_registry(tmp_path / "registry"))
    run = command_line(settings.home, settings.shipped_registry)
    with ThreadPoolExecutor(RUNS) as at_once:
        done = list(at_once.map(run, ["run"] * RUNS))
    assert [one.returncode for one in done] == [0] * RUNS, done
    n_read = [int(n or 0) for one in done for n in re.findall(r"^asked 0 requests(?:, read (\d+))?", one.stdout)]
    assert len(n_read) == RUNS
    requests, attempts = raw(settings, "select count(distinct request_id), count(*) from raw.responses").row(0)
    assert sum(n_read) == requests == attempts > 0
    assert raw(settings, "select count(*) from meta.refreshes").row(0) == (1,)
