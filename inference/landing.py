"""The journal: attempts in immutable Parquet files, written so that a kill at any instant leaves whole files only.

Each rater has a folder; a chunk is written under a temporary name, synced, renamed, and its folder synced. Knows no
warehouse.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from inference.identity import encode_file_name, hash_of
from inference.rows import ResponseRow, columns, frame_of, schema_of

CHUNK_SCHEMA = pl.Schema({**schema_of(ResponseRow), "messages": pl.String()})
"""Columns of a chunk: a response row and the messages that were sent (JSON, null where none were)."""

_UNFINISHED = ".part"


class ChunkError(ValueError):
    """A journal file that cannot be taken in; one line that names file, reason and remedy."""


class Journal:
    """Collects attempts and writes a rater's chunk when it is full or old."""

    def __init__(self, folder: Path, rows_per_chunk: int = 5000, seconds_per_chunk: float = 30.0) -> None:
        if rows_per_chunk < 1:
            raise ValueError(f"rows_per_chunk is {rows_per_chunk}; expected at least 1")
        self.folder = folder
        self.rows_per_chunk = rows_per_chunk
        self.seconds_per_chunk = seconds_per_chunk
        self._waiting: dict[str, list[tuple[ResponseRow, str | None]]] = {}
        self._oldest = time.monotonic()

    def append(self, rows: Sequence[tuple[ResponseRow, str | None]]) -> None:
        """Take attempts with their messages; write chunks that are full, and all where the oldest row has waited long.

        ``chunk_id`` of the rows is filled in when they are written.
        """
        if not any(self._waiting.values()):
            self._oldest = time.monotonic()
        for row in rows:
            waiting = self._waiting.setdefault(row[0].rater_id, [])
            waiting.append(row)
            if len(waiting) >= self.rows_per_chunk:
                self._write(row[0].rater_id)
        if time.monotonic() - self._oldest >= self.seconds_per_chunk:
            self.flush()

    def flush(self) -> None:
        """Write every attempt that waits."""
        for rater_id in list(self._waiting):
            self._write(rater_id)
        self._oldest = time.monotonic()

    def _write(self, rater_id: str) -> None:
        waiting = self._waiting.pop(rater_id, [])
        if not waiting:
            return
        # named by content: the same attempts written twice are the same chunk
        chunk_id = hash_of(sorted(row.attempt_id for row, _ in waiting))[:32]
        frame = frame_of(ResponseRow, (row for row, _ in waiting)).with_columns(chunk_id=pl.lit(chunk_id))
        messages = pl.Series("messages", [text for _, text in waiting], dtype=pl.String)
        folder = self.folder / encode_file_name(rater_id)
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{chunk_id}.parquet"
        unfinished = target.with_name(f".{target.name}.{os.getpid()}{_UNFINISHED}")
        frame.with_columns(messages).write_parquet(unfinished, compression="zstd")
        with unfinished.open("rb+") as stream:
            os.fsync(stream.fileno())
        unfinished.replace(target)
        _sync_folder(folder)


def chunk_files(folder: Path) -> list[Path]:
    """Return every finished chunk of a journal, in name order; unfinished files are left out."""
    return sorted(folder.glob("*/*.parquet"))


def validate_chunk(path: Path) -> None:
    """Check that a journal file is whole and has the declared columns and types.

    Raises
    ------
    ChunkError
        The file is cut off, or its columns differ from the declaration.
    """
    try:
        found = pl.read_parquet_schema(path)
    except (pl.exceptions.ComputeError, OSError) as problem:
        reason = str(problem).splitlines()[0]
        raise ChunkError(
            f"{path}: not a whole Parquet file ({reason}); move it out of the journal, its requests will be asked again"
        ) from problem
    for column in columns(ResponseRow):
        if found.get(column.name) != CHUNK_SCHEMA[column.name]:
            raise ChunkError(
                f"{path}: column {column.name!r} is {found.get(column.name)}, expected {CHUNK_SCHEMA[column.name]}; "
                "the file was written by another version, move it out of the journal"
            )
    unexpected = sorted(set(found) - set(CHUNK_SCHEMA))
    if unexpected or "messages" not in found:
        raise ChunkError(f"{path}: columns {unexpected or ['messages']} do not fit; move it out of the journal")


def _sync_folder(folder: Path) -> None:
    """Make a rename last; not every system lets a folder be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
