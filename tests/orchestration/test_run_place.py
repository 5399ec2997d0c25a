"""Where models run: what ``run --on`` tells the house, and what it says where Ray is missing."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from inference.engines import open_engine
from inference.registry import load_registry
from orchestration import house, local
from orchestration.cli import app
from orchestration.settings import PROJECT_ROOT, SHIPPED_REGISTRY


@pytest.mark.parametrize(("typed", "place"), [((), "here"), (("--on", "here"), "here"), (("--on", "ray"), "ray")])
def test_run_tells_the_house_where_models_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: tuple[str, ...], place: str
) -> None:
    told: list[str] = []

    def run_local(known: house.House, _requests: object) -> local.LocalRun:
        told.append(known.place)
        return local.LocalRun(0, 0, (), (), {})

    monkeypatch.setenv("THETAHOUSE_HOME", str(tmp_path))
    monkeypatch.setattr(house, "requests_to_ask", lambda _house: None)
    monkeypatch.setattr(local, "run_local", run_local)
    assert CliRunner().invoke(app, ["run", *typed]).exit_code == 0
    assert told == [place]


@pytest.mark.parametrize(
    ("n_asked", "n_read", "printed"),
    [
        (1, 0, "asked 1 request; the whole"),
        (1_200, 0, "asked 1,200 requests; the whole"),
        (0, 1, "asked 0 requests, read 1 recorded response; the whole"),
        (8, 24, "asked 8 requests, read 24 recorded responses; the whole"),
        (0, 0, "asked 0 requests; the whole"),
    ],
)
def test_what_was_recorded_is_read_and_not_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, n_asked: int, n_read: int, printed: str
) -> None:
    monkeypatch.setenv("THETAHOUSE_HOME", str(tmp_path))
    monkeypatch.setattr(house, "requests_to_ask", lambda _house: None)
    monkeypatch.setattr(local, "run_local", lambda *_: local.LocalRun(n_asked, n_read, (), (), {}))
    assert CliRunner().invoke(app, ["run"]).output.startswith(printed)


def test_another_place_is_bad_input() -> None:
    done = CliRunner().invoke(app, ["run", "--on", "mars"])
    assert done.exit_code == 2
    assert "'mars' is not one of 'here', 'ray'" in done.output


def test_without_ray_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    registry = load_registry([SHIPPED_REGISTRY, PROJECT_ROOT / "examples" / "smollm2"], None)
    with pytest.raises(ValueError, match="Ray is not installed; install the extra ray"):
        open_engine(registry.models["smollm2-135m"], registry, {}, tmp_path, place="ray")
