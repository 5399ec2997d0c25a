"""Fixtures around the tiny installation."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from orchestration.cli import app, main
from orchestration.house import House
from orchestration.settings import Settings
from tests.orchestration.house.tiny import Cli, Refused, command_line, write_registry


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """Folder with the registry, to be edited by a test."""
    return write_registry(tmp_path / "registry")


@pytest.fixture
def settings(tmp_path: Path, registry: Path) -> Settings:
    """Installation of the test."""
    return Settings(home=tmp_path / "home", data=None, shipped_registry=registry)


@pytest.fixture
def house(settings: Settings) -> House:
    """House of the test."""
    return House(settings)


@pytest.fixture
def cli(tmp_path: Path, registry: Path) -> Cli:
    """Command line of the test's installation."""
    return command_line(tmp_path / "home", registry)


@pytest.fixture
def here(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the test's installation the one that commands in this process mean."""
    monkeypatch.setenv("THETAHOUSE_HOME", str(settings.home))
    monkeypatch.setenv("THETAHOUSE_REGISTRY", str(settings.shipped_registry))
    monkeypatch.delenv("THETAHOUSE_DATA", raising=False)


@pytest.fixture
def command(here: None) -> Callable[..., Result]:
    """Return a function that gives arguments to ``thetahouse import-responses``."""
    return lambda *arguments: CliRunner().invoke(app, ["import-responses", *map(str, arguments)])


@pytest.fixture
def refused(here: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run a command that must be refused, and return what a person reads."""

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["thetahouse", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        assert stopped.value.code == 2, printed
        assert printed.err.startswith("error: ")
        assert printed.err.count("\n") == 1, "one line"
        return printed.err

    return run
