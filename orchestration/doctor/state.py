"""Examinations of an installation: disk, locks, warehouse, journal, published files, registry, and what is stale.

Everything is opened read-only and briefly; nothing is landed, asked or repaired.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import polars as pl

from inference.landing import ChunkError, chunk_files, validate_chunk
from inference.planning import to_ask
from inference.registry import Registry, Unavailable
from orchestration import freshness, intake
from orchestration.doctor.findings import Finding, count
from orchestration.house import load_catalogue, read_registry
from orchestration.locks import held_locks
from orchestration.settings import Settings
from orchestration.warehouse import WarehouseBusyError, connect

LOW_GB, VERY_LOW_GB = 5.0, 1.0
RUN = "thetahouse run"
WITHOUT_DATA = "set THETAHOUSE_DATA to the folder with outside data, or leave it: the demo needs none"
KINDS = {"banks": ("bank", "banks"), "recorded": ("recorded file", "recorded files"), "studies": ("study", "studies")}
"""Kinds of registry entries in words: one, several."""


def disk(settings: Settings, free_bytes: int | None = None) -> Finding:
    """Look whether the installation's folder can be written, and at the free space there."""
    place = next(folder for folder in (settings.home, *settings.home.parents) if folder.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        return Finding(
            "disk", "wrong", f"{place} cannot be written", "set THETAHOUSE_HOME to a folder where you may write"
        )
    free = (shutil.disk_usage(place).free if free_bytes is None else free_bytes) / 1e9
    message = f"{free:,.1f} GB free at {place}"
    remedy = "free some space, or move the installation with THETAHOUSE_HOME"
    if free < VERY_LOW_GB:
        return Finding("disk", "wrong", message, remedy)
    return Finding("disk", "note", message, remedy) if free < LOW_GB else Finding("disk", "ok", message)


def locks(settings: Settings) -> list[Finding]:
    """Name every lock that is held, and its holder."""
    if settings.locks.exists() and not settings.locks.is_dir():
        said = f"{settings.locks} is a file where a folder should be"
        return [Finding("locks", "wrong", said, "move it away")]
    held = held_locks(settings.locks)
    if not held:
        return [Finding("locks", "ok", "none is held")]
    remedy = "wait for the process to end, or end it; its lock goes with it"
    return [Finding("locks", "note", f"{name} is held by {holder}", remedy) for name, holder in held.items()]


def warehouse_holder(settings: Settings) -> Finding:
    """Try to open the working database, and name who holds it."""
    if not settings.warehouse.exists():
        return Finding("warehouse", "ok", "not there yet; the first run makes it")
    try:
        with connect(settings.warehouse, read_only=True, wait_seconds=2.0):
            return Finding("warehouse", "ok", f"{settings.warehouse.stat().st_size / 1e6:,.1f} MB, not held")
    except WarehouseBusyError as busy:
        return Finding("warehouse", "note", str(busy), "wait for that process to end, or end it")
    except duckdb.Error as problem:
        return Finding(
            "warehouse", "wrong", f"{settings.warehouse} cannot be read: {_line(problem)}",
            f"move it away and {RUN}: the journal in {settings.landing} holds every response",
        )  # fmt: skip


def publication(settings: Settings) -> Finding:
    """Compare the two published files, which must be of one refresh."""
    files = (settings.analyst, settings.public)
    missing = [file.name for file in files if not file.exists()]
    if len(missing) == len(files):
        return Finding("published", "note", "nothing yet", RUN)
    if missing:
        return Finding("published", "wrong", f"{missing[0]} is missing", "thetahouse publish")
    try:
        held = [freshness.refresh_of(file) for file in files]
        analyst, public = (one and one.generation for one in held)
    except duckdb.Error as problem:
        return Finding("published", "wrong", f"a file cannot be read: {_line(problem)}", "thetahouse publish")
    if analyst != public:
        return Finding(
            "published", "wrong", f"the analysts' file is of refresh {analyst}, the public one of {public}",
            "thetahouse publish",
        )  # fmt: skip
    return Finding("published", "ok", f"refresh {analyst}, both files")


def registry_and_staleness(settings: Settings) -> Iterator[Finding]:
    """Read the registry, and compare plan, journal, warehouse and published file with each other."""
    try:
        registry = read_registry(settings)
        plan = load_catalogue(settings).plan
    except ValueError as problem:  # each names file, entry and remedy
        yield Finding("registry", "wrong", _line(problem), "correct what the message names")
        return
    held = f"{count(len(registry.models), 'model')}, {count(len(registry.recorded), 'recorded file')}"
    yield Finding("registry", "ok", held)
    if registry.unavailable:
        yield Finding("registry", "note", _without_data(registry.unavailable), WITHOUT_DATA)
    try:
        yield from _journal(settings, plan)
    except WarehouseBusyError as busy:
        yield Finding("plan", "note", f"cannot be compared now: {busy}", "ask again when that process has ended")
    yield _staleness(settings, registry)


def _without_data(entries: Sequence[Unavailable]) -> str:
    """Name the entries that cannot be used as they need outside data, by kind."""
    named: dict[str, list[str]] = {}
    for entry in entries:
        named.setdefault(entry.kind, []).append(entry.name)
    listed = "; ".join(f"{KINDS[kind][len(names) > 1]} {', '.join(names)}" for kind, names in named.items())
    return f"not used without THETAHOUSE_DATA, the folder with outside data: {listed}"


def _journal(settings: Settings, plan: pl.DataFrame) -> Iterator[Finding]:
    """Compare the plan and the journal with what has landed."""
    landed_chunks, landed = _landed(settings)
    n_waiting = n_damaged = 0
    for file in chunk_files(settings.landing):
        has_landed = file.stem in landed_chunks
        damage = _damage(file, has_landed)
        n_waiting += damage is None and not has_landed
        if damage is not None:
            n_damaged += 1
            yield damage
    if n_waiting:
        wait = f"{count(n_waiting, 'chunk')} wait{'s' if n_waiting == 1 else ''} to be landed"
        yield Finding("journal", "note", wait, RUN)
    elif not n_damaged:
        yield Finding("journal", "ok", f"all {len(landed_chunks):,} chunks have landed")
    n = to_ask(plan, landed).height
    if n:
        what = "have not landed; what the waiting chunks answer is not asked" if n_waiting else "still to be asked"
        yield Finding("plan", "note", f"{n:,} of {plan.height:,} requests {what}", f"thetahouse plan, then {RUN}")
    else:
        yield Finding("plan", "ok", f"all {plan.height:,} requests have landed")


def _damage(chunk: Path, has_landed: bool) -> Finding | None:
    """Say what is wrong with a chunk, and what that means; None where it is whole."""
    try:
        validate_chunk(chunk)
    except ChunkError as problem:
        if not has_landed:
            return Finding("journal", "wrong", _line(problem), f"move {chunk} away; its requests are asked again")
        message = (
            f"{chunk} was damaged after it had landed: its rows are in the warehouse, and one that is made anew from "
            "the journal would lack them"
        )
        return Finding("journal", "wrong", message, f"restore {chunk.name} from a backup of {chunk.parent.parent}")
    return None


def _landed(settings: Settings) -> tuple[set[str], pl.DataFrame]:
    """Return the chunks that have landed, and the requests that have an attempt."""
    nothing = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})
    if not settings.warehouse.exists():
        return set(), nothing
    with connect(settings.warehouse, read_only=True, wait_seconds=2.0) as connection:
        known = connection.execute("select 1 from duckdb_tables() where schema_name = 'raw' and table_name = 'chunks'")
        if known.fetchone() is None:
            return set(), nothing
        chunks = {str(row[0]) for row in connection.execute("select chunk_id from raw.chunks").fetchall()}
        return chunks, intake.landed_requests(connection)


def _staleness(settings: Settings, registry: Registry) -> Finding:
    """Compare what is published with what a run would compute now."""
    try:
        last = freshness.last_refresh(settings)
    except duckdb.Error:
        last = None
    if last is None:
        return Finding("stale", "note", "nothing is published to compare with", RUN)
    if last.fingerprint != freshness.journal_fingerprint(registry, settings):
        message = (
            f"registry, banks, code or responses have changed since refresh {last.generation} of {last.published_at}"
        )
        return Finding("stale", "note", message, RUN)
    return Finding("stale", "ok", f"refresh {last.generation} of {last.published_at} is what a run would compute")


def _line(problem: Exception) -> str:
    return " ".join(str(problem).split())
