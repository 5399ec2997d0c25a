"""Where a command writes: the folder is there, or made; one line where it or a file in it cannot be written.

Imports nothing of the project. Leaves no file.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def make_home(home: Path) -> None:
    """Make the folder of the installation, where it is not there yet, and see that files can be written in it.

    Raises
    ------
    NotADirectoryError
        If it cannot be made, or nothing may be written there.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as problem:
        why = _in_the_way(home) or (problem.strerror or str(problem)).lower()
        raise NotADirectoryError(
            f"THETAHOUSE_HOME={home}: cannot be written ({why}); set THETAHOUSE_HOME to a folder where you may write"
        ) from problem


def _in_the_way(folder: Path) -> str:
    """Name the file that stands where a folder should be; nothing where there is none."""
    files = [part for part in (folder, *folder.parents) if part.exists() and not part.is_dir()]
    return f"{files[0]} is a file" if files else ""


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
        why = _in_the_way(folder) or (problem.strerror or str(problem)).lower()
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
