"""The demo, run once for all pages."""

from pathlib import Path
from typing import NamedTuple

import pytest
from filelock import FileLock

from tests.docs.pages import Place, copy_checkout


class Demo(NamedTuple):
    """A place where the demo has been run, and what the run printed."""

    place: Place
    printed: str


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Demo:
    """Run the demo as `make run` does; workers of one test run share it."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "demo"
    printed = folder.with_name("demo.printed")
    with FileLock(folder.with_name("demo.lock")):
        if not printed.exists():
            done = copy_checkout(folder).bash("thetahouse run")
            assert done.returncode == 0, done.stderr
            printed.write_text(done.stdout, encoding="utf-8")
    return Demo(Place(Path(folder)), printed.read_text(encoding="utf-8"))
