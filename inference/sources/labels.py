"""Labels and the spellings that the parser accepts for them."""

import re

import polars as pl

from inference.registry import LabelSetSpec, Registry
from inference.rows import LabelRow, frame_of
from inference.sources.tables import SourceError


def canonical_spelling(text: str) -> str:
    """Return the form in which labels are compared: lower case, words joined by one blank."""
    return " ".join(re.sub(r"[\s_\-]+", " ", text).split()).lower()


def label_rows(registry: Registry) -> pl.DataFrame:
    """Return every accepted spelling of every label (LabelRow).

    Raises
    ------
    SourceError
        One spelling belongs to two labels of a set.
    """
    return frame_of(LabelRow, [row for spec in registry.label_sets.values() for row in _labels_of(spec)])


def _labels_of(spec: LabelSetSpec) -> list[LabelRow]:
    owner: dict[str, str] = {}
    rows = []
    for position, (label, synonyms) in enumerate(spec.labels.items()):
        for spelling in dict.fromkeys(canonical_spelling(text) for text in (label, *synonyms)):
            if spelling in owner:
                raise SourceError(
                    f"{spec.yaml}: {spec.name}: spelling {spelling!r} belongs to {owner[spelling]!r} and to {label!r}; "
                    "remove it from one"
                )
            owner[spelling] = label
            rows.append(LabelRow(spec.name, label, position, spelling))
    return rows


def known_spellings(registry: Registry, name: str) -> list[tuple[str | None, str]]:
    """Return what a parser needs to know of a label set: every (label, spelling), sorted by spelling.

    Spellings that only other label sets have stand there without a label: whoever says one gives an unknown answer.
    """
    own = {row.synonym: row.label for row in _labels_of(registry.label_sets[name])}
    others = {row.synonym for spec in registry.label_sets.values() for row in _labels_of(spec)}
    return [(own.get(spelling), spelling) for spelling in sorted(own.keys() | others)]
