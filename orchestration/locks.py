"""Locks between processes: one per rater while it is asked, one for a refresh.

The operating system drops a lock when its holder dies, so no lock is ever stale. A small file beside the lock says who
holds it, for messages only. Does not hold the lock of DuckDB itself (:mod:`orchestration.warehouse`).
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from inference.identity import decode_file_name, encode_file_name
from orchestration.warehouse import command_of

REFRESH = "refresh"
REFRESH_WAIT_SECONDS = 600.0
"""How long one refresh waits for another."""
FILES_OF_A_PROCESS = 1024
"""Files that a process may have open besides its locks."""


class LockHeldError(RuntimeError):
    """Another process holds a lock that this one needs."""


def _holder_file(lock_file: Path) -> Path:
    return lock_file.with_suffix(".holder")


def _describe(lock_file: Path) -> str:
    try:
        holder = json.loads(_holder_file(lock_file).read_text())
    except (OSError, ValueError):
        return "another process"
    return f"PID {holder['pid']} ({command_of(holder['pid'])}) since {holder['since']}"


@contextmanager
def hold(folder: Path, name: str, *, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold the lock `name` for the length of the block.

    Raises
    ------
    LockHeldError
        If another process holds it for longer than `wait_seconds`; the message names that process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock_file = folder / f"{encode_file_name(name)}.lock"
    try:
        lock = FileLock(lock_file, timeout=wait_seconds)
        lock.acquire()
    except Timeout:
        raise LockHeldError(
            f"{name}: locked by {_describe(lock_file)}; wait for it to end, or end it, and run again"
        ) from None
    try:
        holder = {"pid": os.getpid(), "since": datetime.now(UTC).isoformat(timespec="seconds")}
        _holder_file(lock_file).write_text(json.dumps(holder))
        yield
    finally:
        _holder_file(lock_file).unlink(missing_ok=True)
        lock.release()


def _allow_open_files(n: int) -> None:
    """Let this process open so many files beside those that it needs anyway, as far as the system lets it."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n + FILES_OF_A_PROCESS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )


@contextmanager
def hold_raters(folder: Path, rater_ids: Iterable[str]) -> Iterator[None]:
    """Hold the locks of several raters, taken in one order so that two processes cannot wait for each other."""
    wanted = sorted(rater_ids)
    _allow_open_files(len(wanted))
    with ExitStack() as stack:
        for rater_id in wanted:
            stack.enter_context(hold(folder, f"rater {rater_id}"))
        yield


def held_locks(folder: Path) -> dict[str, str]:
    """Return every lock that a process holds now, and who that is."""
    held = {}
    for lock_file in sorted(folder.glob("*.lock")):
        lock = FileLock(lock_file, timeout=0)
        try:
            lock.acquire()
            lock.release()
        except Timeout:
            held[decode_file_name(lock_file.stem)] = _describe(lock_file)
    return held
