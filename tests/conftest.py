"""Fixtures that every room shares: where outside data is, and seeded random numbers.

Outside data is known only as ``THETAHOUSE_DATA`` and ``THETAHOUSE_REFERENCE``. Where a variable is not set, the
tests that need it are skipped and say so; ``THETAHOUSE_REQUIRE_DATA=1`` turns such a skip into a failure.
"""

import os
from pathlib import Path

import numpy as np
import pytest

OUTSIDE = {
    "THETAHOUSE_DATA": "the data sets of others: SemEval-2013 Task 7, published grades by LLMs, data of R packages",
    "THETAHOUSE_REFERENCE": "reference values: what the R packages ltm, mirt, eRm and psych print for their own data",
}
"""What the folder holds that a variable names; the project ships neither."""


def outside_folder(variable: str) -> Path:
    """Return the folder that a variable names; skip the test, or fail it, where there is none."""
    folder = os.environ.get(variable)
    if folder and Path(folder).is_dir():
        return Path(folder)
    what = f"{variable}={folder}: no such folder" if folder else f"{variable} is not set"
    reason = f"{what}; this test needs the folder with {OUTSIDE[variable]} (not part of the project)"
    if os.environ.get("THETAHOUSE_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    return outside_folder("THETAHOUSE_DATA")


@pytest.fixture(scope="session")
def reference_dir() -> Path:
    return outside_folder("THETAHOUSE_REFERENCE")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260401)
