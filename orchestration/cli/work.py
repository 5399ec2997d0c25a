"""Commands that do the work: ``run``, ``plan``, ``publish``."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

Studies = Annotated[list[str] | None, typer.Option("--study", help="Ask only what this study wants (repeatable).")]
Raters = Annotated[list[str] | None, typer.Option("--rater", help="Ask only this rater (repeatable).")]


class Place(StrEnum):
    """Where a model runs; see ``inference.engines.Place``."""

    here = "here"
    ray = "ray"


def run(
    study: Studies = None,
    rater: Raters = None,
    force: Annotated[bool, typer.Option(help="Rebuild all tables even if nothing has changed.")] = False,
    supersede: Annotated[bool, typer.Option(help="Let a rater id stand for new settings from now on.")] = False,
    on: Annotated[
        Place, typer.Option(help="Where models in vLLM run: in a process here, or on the actors of a Ray cluster.")
    ] = Place.here,
) -> None:
    """Ask what has not been asked yet, rebuild the tables and publish them."""
    from orchestration import freshness
    from orchestration.cli import show, summary
    from orchestration.house import House, check_names, read_registry, requests_to_ask
    from orchestration.output_folder import make_home
    from orchestration.settings import load_settings

    settings, watch = load_settings(), show.Stopwatch()
    registry = read_registry(settings)
    check_names(registry, studies=study or (), raters=rater or ())
    if not (force or supersede) and freshness.is_current(settings, registry):
        summary.nothing_new(settings, watch.seconds)
        return
    make_home(settings.home)
    summary.made_anew(settings)
    with show.progress_bars() as progress:
        house = House(settings, progress, supersede, force, frozenset(study or ()), frozenset(rater or ()), on.value)
        progress("read registry and banks", 0, 1)
        requests = requests_to_ask(house)  # bad input is refused here, before Dagster is loaded
        progress("read registry and banks", 1, 1)
        from orchestration.local import run_local

        try:
            done = run_local(house, requests)
        except KeyboardInterrupt:
            sys.stderr.write("stopped; what was answered is kept, and the next thetahouse run goes on from there\n")
            sys.exit(130)
    summary.after_run(settings, registry, done, watch.seconds)
    sys.exit(1 if done.failures else 0)


def plan(study: Studies = None, rater: Raters = None) -> None:
    """Show what a run would ask, before it is asked."""
    from orchestration.cli import summary
    from orchestration.house import House, check_names, read_registry
    from orchestration.output_folder import make_home
    from orchestration.settings import load_settings

    settings = load_settings()
    check_names(read_registry(settings), studies=study or (), raters=rater or ())
    make_home(settings.home)  # what the journal holds lands first
    summary.planned(House(settings, studies=frozenset(study or ()), raters=frozenset(rater or ())))


def publish() -> None:
    """Write both published files again from the tables as they are."""
    from orchestration.cli import show
    from orchestration.dbt import prepared_manifest
    from orchestration.locks import REFRESH, hold
    from orchestration.output_folder import make_home
    from orchestration.publish import publish_analyst, publish_public
    from orchestration.settings import load_settings

    settings = load_settings()
    make_home(settings.home)
    with hold(settings.locks, REFRESH):
        public = publish_public(settings.warehouse, settings.public, prepared_manifest(settings))
        analyst = publish_analyst(settings.warehouse, settings.analyst)
    for path, file in ((settings.analyst, analyst), (settings.public, public)):
        show.say(f"{path}: refresh {file.generation}, {file.n_tables} tables, {file.n_bytes / 1e6:.1f} MB")
