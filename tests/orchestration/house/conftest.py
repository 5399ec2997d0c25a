"""Fixtures around the tiny installation."""

from pathlib import Path

import pytest

from orchestration.house import House
from orchestration.settings import Settings
from tests.orchestration.house.tiny import Cli, command_line, write_registry


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
