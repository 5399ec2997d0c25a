"""The folder that a command writes into: there, or made; one line where it cannot be.

Imports nothing of the project. Writes no file.
"""

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
