"""How dbt is called: its project, its environment and its prepared manifest.

Everything that dbt writes goes below the installation's folder, so that two installations never meet. Does not hold
models (``dbt_project``) or assets (:mod:`orchestration.assets.dbt`).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from inference.identity import hash_of
from orchestration.locks import hold
from orchestration.settings import DBT_PROJECT_DIR, Settings

PARSE_WAIT_SECONDS = 300.0
SUFFIXES = (".sql", ".yml", ".yaml", ".csv", ".md")


class DbtError(RuntimeError):
    """dbt could not do what it was asked; the message holds the end of its output."""


def dbt_executable() -> str:
    """Return the dbt of this environment."""
    beside = Path(sys.executable).with_name("dbt")
    found = str(beside) if beside.exists() else shutil.which("dbt")
    if found is None:
        raise DbtError("dbt: not found in this environment; run make setup")
    return found


def target_path(settings: Settings) -> Path:
    """Return the folder that dbt writes to."""
    return settings.home / "dbt"


def environment(settings: Settings) -> dict[str, str]:
    """Return the variables that dbt reads."""
    return {
        "THETAHOUSE_WAREHOUSE": str(settings.warehouse),
        "DBT_PROFILES_DIR": str(DBT_PROJECT_DIR),
        "DBT_TARGET_PATH": str(target_path(settings)),
        "DBT_LOG_PATH": str(target_path(settings) / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DO_NOT_TRACK": "1",
    }


def project_hash() -> str:
    """Return the hash of every file that dbt reads."""
    files = sorted(
        file for file in DBT_PROJECT_DIR.rglob("*") if file.suffix in SUFFIXES and "target" not in file.parts
    )
    return hash_of([[file.relative_to(DBT_PROJECT_DIR).as_posix(), file.read_text(encoding="utf-8")] for file in files])


def prepared_manifest(settings: Settings) -> Path:
    """Return dbt's manifest, made anew only where the project has changed since.

    Raises
    ------
    DbtError
        If dbt cannot parse the project.
    LockHeldError
        If another process is at it for minutes.
    """
    target = target_path(settings)
    manifest, stamp = target / "manifest.json", target / "manifest.hash"
    current = project_hash()
    # two processes that wrote it at once would leave a mixture
    with hold(settings.locks, "dbt parse", wait_seconds=PARSE_WAIT_SECONDS):
        if manifest.exists() and stamp.exists() and stamp.read_text() == current:
            return manifest
        target.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        _parse(settings)
        stamp.write_text(current)
    return manifest


def _parse(settings: Settings) -> None:
    """Have dbt read its project and write the manifest."""
    command = [dbt_executable(), "parse", "--project-dir", str(DBT_PROJECT_DIR), "--quiet"]
    done = subprocess.run(command, env=os.environ | environment(settings), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DbtError(f"dbt parse failed:\n{(done.stdout + done.stderr)[-2000:]}")
