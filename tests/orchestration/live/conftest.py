"""A tiny installation for a control room."""

from pathlib import Path

import pytest

from orchestration.settings import Settings
from tests.orchestration.house.tiny import write_registry


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Installation of the test, nothing run yet."""
    return Settings(home=tmp_path / "home", data=None, shipped_registry=write_registry(tmp_path / "registry"))
