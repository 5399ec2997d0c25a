"""Fixtures that every room shares: where outside data is, and seeded random numbers.

Outside data is known only as ``THETAHOUSE_DATA`` and ``THETAHOUSE_REFERENCE``. Where a variable is not set, the
tests that need it are skipped and say so; ``THETAHOUSE_REQUIRE_DATA=1`` turns such a skip into a failure.
"""

import os
from pathlib import Path

import numpy as np
import pytest


def _outside_folder(variable: str) -> Path:
    folder = os.environ.get(variable)
    if folder and Path(folder).is_dir():
        return Path(folder)
    reason = f"{variable} is not set to a folder; this test needs the data described in README.md"
    if os.environ.get("THETAHOUSE_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    return _outside_folder("THETAHOUSE_DATA")


@pytest.fixture(scope="session")
def reference_dir() -> Path:
    return _outside_folder("THETAHOUSE_REFERENCE")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260401)
