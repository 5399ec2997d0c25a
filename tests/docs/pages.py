"""The pages as a test reads them: their blocks, what is typed in them, and a place where it can be typed.

How a block is marked says what happens to it: `bash` is typed, `sql` and `python` are run, a block of any language with
a file as its title is that file, `text` titled `prints` must be printed by the block before it, any other `text` is not
run. Holds no claims (``test_docs``).
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestration.settings import PROJECT_ROOT

PAGES = tuple(sorted(file.relative_to(PROJECT_ROOT / "docs").as_posix() for file in PROJECT_ROOT.glob("docs/**/*.md")))
LANGUAGES = {"bash", "sql", "python", "text", "csv", "json", "yaml", "jinja"}
PRINTS = "prints"
CHECKOUT = ("analytics", "dbt_project", "inference", "orchestration", "constraints.txt", "pyproject.toml")
"""What of the checkout a typed command needs."""
_FENCE = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?[^\n]*\n(?P<text>.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^(?:thetahouse|make|python3?|pip|source|git|\S*/bin/\w+)\s")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    page: str
    language: str
    title: str
    text: str

    @property
    def is_file(self) -> bool:
        return self.language != "text" and Path(self.title).suffix != ""

    @property
    def commands(self) -> list[str]:
        """Lines that a person could type."""
        return [line for line in self.text.splitlines() if _COMMAND.match(line)]


def read_page(page: str) -> str:
    return (PROJECT_ROOT / "docs" / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    found = _FENCE.finditer(read_page(page))
    return [Block(page, m["language"], m["title"] or "", m["text"]) for m in found]


def typed(page: str) -> Iterator[list[str]]:
    """Yield the words of every thetahouse command of a page, run or not."""
    for block in blocks(page):
        for line in block.commands:
            if line.startswith("thetahouse "):
                yield shlex.split(line)[1:]


def squeezed(text: str) -> str:
    """Write all runs of blanks as one."""
    return " ".join(text.split())


def missing_lines(expected: str, printed: str) -> list[str]:
    """Return the lines of a block that were not printed; `…` stands for anything on the line."""
    lines = [squeezed(line) for line in printed.splitlines()]
    patterns = {
        line: ".*".join(re.escape(squeezed(part)) for part in line.split("…")) for line in expected.splitlines()
    }
    return [line for line, pattern in patterns.items() if not any(re.match(pattern, found) for found in lines)]


class Place:
    """A copy of the checkout, with an installation in its ``var``, where commands are typed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def copied(self, folder: Path) -> "Place":
        shutil.copytree(self.folder, folder, symlinks=True)
        return Place(folder)

    def bash(self, commands: str) -> "subprocess.CompletedProcess[str]":
        return self._run(["bash", "-euo", "pipefail", "-c", commands])

    def python(self, program: str) -> "subprocess.CompletedProcess[str]":
        return self._run([sys.executable, "-c", program])

    def _run(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        ours = {k: v for k, v in os.environ.items() if not k.startswith(("THETAHOUSE_", "DAGSTER_", "DBT_"))}
        path = os.pathsep.join([str(Path(sys.executable).parent), ours["PATH"]])
        environment = ours | {"PATH": path, "PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=900, check=False
        )


def copy_checkout(folder: Path) -> Place:
    """Copy what a command needs of the checkout."""
    unwanted = shutil.ignore_patterns("__pycache__", "target", "logs", "*.duckdb")
    for name in CHECKOUT:
        source = PROJECT_ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=unwanted)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / name)
    return Place(folder)
