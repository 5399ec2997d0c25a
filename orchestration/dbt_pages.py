"""dbt's own page about every table and column, as one file.

Holds when it is made and where it lies. Does not hold the site (``docs/``), which shows the page among others.
"""

import os
import subprocess
from pathlib import Path

from orchestration.dbt import DbtError, dbt_executable, environment, project_hash
from orchestration.settings import DBT_PROJECT_DIR, Settings


def pages_file(settings: Settings) -> Path:
    """Return where the page lies."""
    return settings.home / "dbt_pages" / "static_index.html"


def prepared_pages(settings: Settings) -> Path:
    """Return dbt's page, made anew only where the project has changed since.

    The page shows what the project declares, so it needs no rows: dbt gets an empty file beside the page, and the
    warehouse stays free for whoever is writing it.

    Raises
    ------
    DbtError
        If dbt cannot make the page.
    """
    page = pages_file(settings)
    target, stamp = page.parent, page.with_name("page.hash")
    current = project_hash()
    if page.exists() and stamp.exists() and stamp.read_text() == current:
        return page
    target.mkdir(parents=True, exist_ok=True)
    apart = {
        "DBT_TARGET_PATH": str(target),
        "DBT_LOG_PATH": str(target / "logs"),
        "THETAHOUSE_WAREHOUSE": str(target / settings.warehouse.name),
    }
    command = [dbt_executable(), "docs", "generate", "--static", "--quiet", "--project-dir", str(DBT_PROJECT_DIR)]
    done = subprocess.run(
        command, env=os.environ | environment(settings) | apart, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DbtError(f"dbt docs generate failed:\n{(done.stdout + done.stderr)[-2000:]}")
    stamp.write_text(current)
    return page
