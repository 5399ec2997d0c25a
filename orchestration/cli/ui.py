"""Commands that open something to look at: ``ui`` (Dagster and dbt's page) and ``docs`` (dbt's page as a file)."""

import signal
import sys
from typing import Annotated

import typer


def ui(
    port: Annotated[int, typer.Option(help="Port of Dagster on this machine.")] = 3000,
    docs_port: Annotated[int, typer.Option(help="Port of dbt's page on this machine.")] = 3001,
) -> None:
    """Open the control room: every asset, run, check and schedule, and dbt's page, on this machine only."""
    from orchestration.cli import show
    from orchestration.control_room import ControlRoomError, check_ports, keep_open
    from orchestration.dbt import DbtError
    from orchestration.local import prepare_dagster_home
    from orchestration.output_folder import make_home
    from orchestration.settings import load_settings

    def say(line: str) -> None:
        show.say(line)
        sys.stdout.flush()

    settings = load_settings()
    check_ports(port, docs_port)
    make_home(settings.home)
    prepare_dagster_home(settings)
    for ending in (signal.SIGINT, signal.SIGTERM):  # also where a shell has started this in the background
        signal.signal(ending, signal.default_int_handler)
    try:
        keep_open(settings, port, docs_port, say)
    except KeyboardInterrupt:
        say("stopped")
    except (ControlRoomError, DbtError) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)


def docs() -> None:
    """Build dbt's page about every table and column into one file."""
    from orchestration.cli import show
    from orchestration.dbt_pages import prepared_pages
    from orchestration.output_folder import make_home
    from orchestration.settings import load_settings

    settings = load_settings()
    make_home(settings.home)
    show.say(f"tables and columns: {prepared_pages(settings)}")
