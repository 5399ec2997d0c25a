"""Where a command writes: the folder is there, or made; one line where it or a file in it cannot be written.

Imports nothing of the project. Writes no file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def make_output_folder(folder: Path) -> None:
    """Make the folder that ``--out`` names, where it is not there yet.

    Raises
    ------
    NotADirectoryError
        If it cannot be made: a file stands in the way, or nothing may be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        files = [part for part in (folder, *folder.parents) if part.exists() and not part.is_dir()]
        why = f"{files[0]} is a file" if files else (problem.strerror or str(problem)).lower()
        raise NotADirectoryError(f"--out {folder}: {why}; name a folder, new or old") from problem


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Say of a file below ``--out`` that it cannot be written, and why.

    Raises
    ------
    NotADirectoryError
        If a folder has its name, or nothing may be written there.
    """
    try:
        yield
    except OSError as problem:
        why = "is a folder" if file.is_dir() else (problem.strerror or str(problem)).lower()
        raise NotADirectoryError(f"--out: {file} cannot be written: {why}; name another place") from problem
