"""Words, sentences and overlap: what can be said of two texts by counting."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”’]?\s+")
REMEMBERED = 1 << 16
"""Texts whose words are kept in memory: raters of all models read the same texts."""
STOP_WORDS = frozenset("""
    a an and are as at be been being but by can could did do does for from had has have he her his how i if in into is
    it its may might more most much of on or our out over she should so some such than that the their them then there
    these they this those to too was we were what when where which while who why will with would you your
""".split())  # fmt: skip  # noqa: SIM905
NEGATORS = frozenset("""
    no not never none nobody nothing neither nor without cannot hardly instead less fewer
""".split())  # fmt: skip  # noqa: SIM905


@lru_cache(maxsize=REMEMBERED)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, with the commonest endings cut off."""
    return tuple(_stem(word) for word in _WORD.findall(text.lower()))


@lru_cache(maxsize=REMEMBERED)
def content_words(text: str) -> tuple[str, ...]:
    """Return the words that carry meaning, in order."""
    return tuple(_stem(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS)


@lru_cache(maxsize=REMEMBERED)
def n_negations(text: str) -> int:
    """Count the words that deny something."""
    found = _WORD.findall(text.lower())
    return sum(word in NEGATORS or word.endswith(("n't", "n’t")) for word in found)


@lru_cache(maxsize=REMEMBERED)
def sentences(text: str) -> tuple[str, ...]:
    """Split a text where a sentence ends."""
    return tuple(part.strip() for part in _SENTENCE_END.split(text) if part.strip())


def share_found(needles: Sequence[str], hay: Sequence[str]) -> float:
    """Return which share of the distinct needles occurs in the hay; 0 where there are none."""
    wanted = set(needles)
    return len(wanted & set(hay)) / len(wanted) if wanted else 0.0


def jaccard(left: Sequence[str], right: Sequence[str]) -> float:
    """Return shared distinct words over all distinct words; 0 for two empty texts."""
    union = set(left) | set(right)
    return len(set(left) & set(right)) / len(union) if union else 0.0


@lru_cache(maxsize=REMEMBERED)
def bigrams(found: tuple[str, ...]) -> tuple[str, ...]:
    """Return neighbouring words as pairs."""
    return tuple(f"{first} {second}" for first, second in pairwise(found))


def character_runs(text: str) -> tuple[str, ...]:
    """Return runs of two to four characters inside each word, its edges marked by a blank."""
    padded = [f" {word} " for word in _WORD.findall(text.lower())]
    return tuple(word[i : i + n] for word in padded for n in (2, 3, 4) for i in range(len(word) - n + 1))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word
