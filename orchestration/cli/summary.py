"""What a person reads after a command: counts, statuses, the top of the leaderboard, where to look next."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from inference.landing import chunk_files
from inference.registry import Registry
from orchestration import freshness, reading
from orchestration.cli import show
from orchestration.house import House, load_catalogue, requests_to_ask
from orchestration.locks import held_locks
from orchestration.settings import Settings

if TYPE_CHECKING:
    from orchestration.local import LocalRun


def nothing_new(settings: Settings, seconds: float) -> None:
    """Say that a run had nothing to do."""
    last = freshness.last_refresh(settings)
    assert last is not None
    show.say(f"nothing new: asked 0; refresh {last.generation} of {last.published_at} stands ({seconds:.1f} s)")
    show.say(f"look: {settings.analyst}")


def made_anew(settings: Settings) -> None:
    """Say that a warehouse that is not there is made anew from the journal, where that holds anything."""
    n_chunks = len(chunk_files(settings.landing))
    if n_chunks and not settings.warehouse.exists():
        chunks = show.count(n_chunks, "chunk")
        show.say(f"{settings.warehouse} is not there: it is made anew from {chunks} of the journal")


def _where_to_look(settings: Settings) -> None:
    show.say("where to look next:")
    show.say('  thetahouse sql "from marts.leaderboard order by dataset, rank"')
    show.say("  thetahouse status")
    show.say(f"  read-only in any tool: {settings.analyst}")
    show.say(f"  for everybody: {settings.public}")


def _unavailable(registry: Registry) -> None:
    names: dict[str, list[str]] = {}
    for entry in registry.unavailable:
        names.setdefault(entry.reason, []).append(entry.name)
    for reason, lacking in names.items():
        each = "each" if len(lacking) > 1 else "it"
        show.say(f"not run, as {each} {reason}: {', '.join(lacking)}")


def after_run(settings: Settings, registry: Registry, done: "LocalRun", seconds: float) -> None:
    """Print what a run asked, read, landed, parsed and found, and what failed."""
    read = f", read {show.count(done.n_read, 'recorded response')}" if done.n_read else ""
    show.say(f"asked {show.count(done.n_asked, 'request')}{read}; the whole run took {seconds:.1f} s")
    show.steps(done.seconds)
    _unavailable(registry)
    show.failures(done.failures)
    for warning in done.warnings:
        show.say(f"check: {warning}")
    if settings.analyst.exists():
        show.table(reading.asked_landed_parsed(settings), title="\nresponses")
        top = reading.leaderboard_top(settings)
        if not top.is_empty():
            show.table(top, title="\nleaderboard, by theta")
        for dataset, reason in reading.unranked(settings).iter_rows():
            show.say(f"no ranks for {dataset}: {reason}")
        show.say()
        _where_to_look(settings)


def planned(house: House) -> None:
    """Print what a run would ask, by rater and data set."""
    with show.waiting("reading registry and banks"):
        requests = requests_to_ask(house)
    catalogue = load_catalogue(house.settings)
    _unavailable(catalogue.registry)
    if requests.is_empty():
        show.say(f"nothing to ask: all {catalogue.plan.height:,} requests of the plan have landed")
        return
    counts = requests.group_by("rater_id", "dataset").agg(pl.len().alias("to_ask")).sort("rater_id", "dataset")
    show.table(counts)
    show.say(f"\n{requests.height:,} of {catalogue.plan.height:,} requests still to be asked")


def _facts(settings: Settings) -> Mapping[str, str]:
    files = (settings.analyst, settings.public)
    held = [freshness.refresh_of(file) for file in files]
    said = [f"refresh {one.generation} of {one.published_at}" if one else "nothing yet" for one in held]
    facts = {"home": str(settings.home), "published": said[0]}
    if len({one and one.generation for one in held}) > 1:
        # a kill between the two, or a file that was removed or put back
        facts["published"] = "two files that are not of one refresh; run: thetahouse run"
        facts |= {str(file): what for file, what in zip(files, said, strict=True)}
    elif not any(held):
        facts["published"] += "; run: thetahouse run"
    return facts


def status(settings: Settings) -> None:
    """Print what is published, how complete it is, and who holds a lock."""
    for name, value in _facts(settings).items():
        show.say(f"{name}: {value}")
    for name, holder in held_locks(settings.locks).items():
        show.say(f"locked: {name} by {holder}")
    if settings.analyst.exists():
        show.table(reading.asked_landed_parsed(settings), title="\nresponses")
        show.table(reading.statuses(settings), title="\nstatuses")
