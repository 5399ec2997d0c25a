"""What an examination finds, and how it says how many."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "wrong"]
"""`note`: worth knowing, and nothing is broken; `wrong`: something will not work, or a number may mislead."""


def count(n: int, noun: str) -> str:
    """Write a number with its noun, in the plural unless it is one."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    """What was looked at."""
    level: Level
    """How it is."""
    message: str
    """What was found."""
    remedy: str | None = None
    """What to do about it; null where there is nothing to do."""
