"""Commands that open something to look at: ``ui`` (Dagster) and ``docs`` (dbt's pages)."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

HOST = "127.0.0.1"


def ui(port: Annotated[int, typer.Option(help="Port on this machine.")] = 3000) -> None:
    """Open the control room: every asset, run, check and schedule, on this machine only."""
    from orchestration.cli import show
    from orchestration.local import prepare_dagster_home
    from orchestration.settings import load_settings

    prepare_dagster_home(load_settings())
    show.say(f"Dagster: http://{HOST}:{port} (end with Ctrl-C)")
    sys.stdout.flush()
    dagster = str(Path(sys.executable).with_name("dagster"))
    os.execv(dagster, [dagster, "dev", "-m", "orchestration.definitions", "-h", HOST, "-p", str(port)])


def docs() -> None:
    """Build dbt's pages about every table and column into one file."""
    from orchestration.cli import show
    from orchestration.dbt import dbt_executable, environment, target_path
    from orchestration.settings import DBT_PROJECT_DIR, load_settings

    settings = load_settings()
    command = [dbt_executable(), "docs", "generate", "--static", "--quiet", "--project-dir", str(DBT_PROJECT_DIR)]
    subprocess.run(command, env=os.environ | environment(settings), check=True)
    show.say(f"tables and columns: {target_path(settings) / 'static_index.html'}")
