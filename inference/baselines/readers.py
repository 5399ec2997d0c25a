"""Readers: how a multiple-choice item about a passage gets an option from what the texts share.

A reader weighs measures of each option against passage and stem; the weights are declared or learned from train items.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from inference.baselines.fields import Fields, all_texts
from inference.baselines.vectors import VectorKind, Vectors
from inference.baselines.words import bigrams, content_words, n_negations, sentences, share_found, words

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Reading:
    """An item while it is read."""

    fields: Fields
    sentences: tuple[str, ...]
    vectors: Vectors


def read_texts(fields: Fields) -> tuple[str, ...]:
    """Return every text that a measure may look at: those of the item, its sentences, and stem and option together."""
    together = (_joined(fields, text) for _, text in fields.options)
    return (*all_texts(fields), *sentences(fields.stimulus), *together) if fields.options else all_texts(fields)


def _joined(fields: Fields, option: str) -> str:
    return f"{fields.text} {option}"


def _nearest_to_stem(reading: _Reading, kind: VectorKind) -> str:
    return max(reading.sentences, key=lambda part: reading.vectors.similarity(kind, reading.fields.text, part))


def _best(reading: _Reading, kind: VectorKind, text: str) -> float:
    return max(reading.vectors.similarity(kind, text, part) for part in reading.sentences)


def _likeness_to_others(reading: _Reading, option: str) -> float:
    others = [text for _, text in reading.fields.options if text != option]
    return float(np.mean([reading.vectors.similarity("char", option, other) for other in others])) if others else 0.0


_MEASURES: dict[str, Callable[[_Reading, str], float]] = {
    "passage_words": lambda r, option: share_found(content_words(option), content_words(r.fields.stimulus)),
    "passage_bigrams": lambda r, option: share_found(bigrams(words(option)), bigrams(words(r.fields.stimulus))),
    "sentence_words": lambda r, option: max(
        share_found(content_words(_joined(r.fields, option)), content_words(part)) for part in r.sentences
    ),
    "stem_sentence_words": lambda r, option: share_found(
        content_words(option), content_words(_nearest_to_stem(r, "word"))
    ),
    "stem_words": lambda r, option: share_found(content_words(option), content_words(r.fields.text)),
    "word_sentence": lambda r, option: _best(r, "word", _joined(r.fields, option)),
    "word_passage": lambda r, option: r.vectors.similarity("word", option, r.fields.stimulus),
    "char_sentence": lambda r, option: _best(r, "char", _joined(r.fields, option)),
    "char_option": lambda r, option: _best(r, "char", option),
    "minilm_sentence": lambda r, option: _best(r, "minilm", _joined(r.fields, option)),
    "minilm_option": lambda r, option: _best(r, "minilm", option),
    "minilm_passage": lambda r, option: r.vectors.similarity("minilm", option, r.fields.stimulus),
    "minilm_stem": lambda r, option: r.vectors.similarity("minilm", option, r.fields.text),
    "minilm_stem_sentence": lambda r, option: r.vectors.similarity("minilm", option, _nearest_to_stem(r, "minilm")),
    "length": lambda _, option: float(len(words(option))),
    "likeness": _likeness_to_others,
    "negation": lambda r, option: -float(abs(n_negations(option) - n_negations(_nearest_to_stem(r, "minilm")))),
}
"""Measure -> a number for one option of an item."""


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """What a reader is, as its registry entry says."""

    weights: Mapping[str, float]
    """Measure -> weight of its standard score among the options; without weights they are learned."""
    measures: tuple[str, ...] = ()
    """Measures whose weights are learned."""
    turns_on_negation: bool = False
    """Whether the order is turned round where the stem denies something."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Read settings from a registry entry.

        Raises
        ------
        ValueError
            A key or measure is not allowed, or both or neither of weights and measures are given.
        """
        unknown = set(settings) - set(cls.__dataclass_fields__)
        if unknown:
            raise ValueError(f"unknown reader setting {min(unknown)!r}; allowed: {sorted(cls.__dataclass_fields__)}")
        found = cls(**{"weights": {}, **settings, "measures": tuple(settings.get("measures", ()))})
        if bool(found.weights) == bool(found.measures):
            raise ValueError("a reader needs either weights (declared) or measures (weights learned)")
        for measure in (*found.weights, *found.measures):
            if measure not in _MEASURES:
                raise ValueError(f"unknown measure {measure!r}; expected one of {sorted(_MEASURES)}")
        for measure, weight in found.weights.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float):
                raise ValueError(f"weight of {measure!r} is {weight!r}; expected a number")
        return found


@dataclass(frozen=True, slots=True)
class Keyed:
    """A train item with its key."""

    fields: Fields
    key: str


class Reader:
    """Answers multiple-choice items."""

    def __init__(self, settings: ReaderSettings, keyed: Sequence[Keyed], vectors: Vectors) -> None:
        self._settings, self._keyed, self._vectors = settings, keyed, vectors
        self._names = tuple(settings.weights) or settings.measures
        self._weights = np.array(list(settings.weights.values()))

    def learn(self) -> Any:
        """Fit the weights from train items; None where they are declared."""
        if self._settings.weights:
            return None
        if not self._keyed:
            raise ValueError("no keyed train items to learn from")
        from sklearn.linear_model import LogisticRegression

        rows = np.vstack([self._options(item.fields) for item in self._keyed])
        is_key = [letter == item.key for item in self._keyed for letter, _ in item.fields.options]
        return LogisticRegression(C=0.5, max_iter=1000).fit(rows, is_key).coef_[0]

    def use(self, learned: Any) -> None:
        """Take what :meth:`learn` returned."""
        if learned is not None:
            self._weights = np.asarray(learned)

    def answer(self, fields: Fields) -> str:
        """Return the letter of the best option; ties go to the first."""
        # nine decimals: equal options stay equal whatever the order of additions
        scores = (self._options(fields) @ self._weights).round(9)
        if self._settings.turns_on_negation and n_negations(fields.text):
            scores = -scores
        return fields.options[int(np.argmax(scores))][0]

    def _options(self, fields: Fields) -> Floats:
        """Return standard scores of the measures among the options, shape (n_options, n_measures)."""
        reading = _Reading(fields, sentences(fields.stimulus) or ("",), self._vectors)
        raw = np.array([[_MEASURES[name](reading, text) for name in self._names] for _, text in fields.options])
        spread = raw.std(axis=0)
        return np.asarray((raw - raw.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0))
