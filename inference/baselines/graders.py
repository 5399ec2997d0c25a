"""Graders: how a student answer gets a label or a score from what graded answers have taught.

A grader is a description (which vector, which measures against the references, which head, learned from how much) and
what it has learned. The same text gets the same grade, whatever else is graded.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray

from inference.baselines.fields import Fields
from inference.baselines.vectors import VectorKind, Vectors
from inference.baselines.words import bigrams, content_words, jaccard, n_negations, share_found, words

Head = Literal["thresholds", "logistic", "neighbours"]
Scope = Literal["all", "question"]
Floats = NDArray[np.float64]

_PAIR_MEASURES: dict[str, Callable[[str, str, Vectors], float]] = {
    "recall": lambda answer, reference, _: share_found(content_words(reference), content_words(answer)),
    "precision": lambda answer, reference, _: share_found(content_words(answer), content_words(reference)),
    "jaccard": lambda answer, reference, _: jaccard(words(answer), words(reference)),
    "bigrams": lambda answer, reference, _: share_found(bigrams(words(reference)), bigrams(words(answer))),
    "word": lambda answer, reference, vectors: vectors.similarity("word", answer, reference),
    "char": lambda answer, reference, vectors: vectors.similarity("char", answer, reference),
    "minilm": lambda answer, reference, vectors: vectors.similarity("minilm", answer, reference),
    "negation": lambda answer, reference, _: -abs(n_negations(answer) - n_negations(reference)),
}
"""Measure -> how near an answer is to one reference; an answer counts by its nearest reference."""

_ANSWER_MEASURES: dict[str, Callable[[Fields, Vectors], float]] = {
    "length": lambda fields, _: float(np.log1p(len(words(fields.text)))),
    "copied": lambda fields, _: share_found(content_words(fields.text), content_words(fields.stimulus)),
    "on_topic": lambda fields, vectors: vectors.similarity("minilm", fields.text, fields.stimulus),
}
"""Measure -> a number about the answer and its question."""


@dataclass(frozen=True, slots=True)
class GraderSettings:
    """What a grader is, as its registry entry says."""

    head: Head
    """`thresholds` cuts the measures, `logistic` weighs vector and measures, `neighbours` copies like answers."""
    vector: VectorKind | None = None
    """Vector of the answer."""
    measures: tuple[str, ...] = ()
    """Measures against the references, and of the answer."""
    n_neighbours: int = 1
    """How many like answers vote."""
    scope: Scope = "all"
    """Whether neighbours may come from other questions."""
    share: float = 1.0
    """Share of the train answers that it learns from, chosen by a hash of their texts."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Read settings from a registry entry.

        Raises
        ------
        ValueError
            A key or value is not allowed, or one is missing; the message names those that are.
        """
        unknown = set(settings) - set(cls.__dataclass_fields__)
        if unknown:
            raise ValueError(f"unknown grader setting {min(unknown)!r}; allowed: {sorted(cls.__dataclass_fields__)}")
        found = cls(**{"head": None, **settings, "measures": tuple(settings.get("measures", ()))})
        _check("head", found.head, get_args(Head))
        _check("scope", found.scope, get_args(Scope))
        _check("vector", found.vector, (None, *get_args(VectorKind)))
        for measure in found.measures:
            _check("measure", measure, (*_PAIR_MEASURES, *_ANSWER_MEASURES))
        if found.vector is None and (found.head == "neighbours" or not found.measures):
            needed = "a vector" if found.head == "neighbours" else "measures, or a vector"
            raise ValueError(f"a grader with head {found.head!r} needs {needed} to tell answers apart")
        if not isinstance(found.n_neighbours, int) or found.n_neighbours < 1:
            raise ValueError(f"n_neighbours is {found.n_neighbours!r}; expected a whole number from 1")
        if not isinstance(found.share, int | float) or not 0 < found.share <= 1:
            raise ValueError(f"share is {found.share!r}; expected a number above 0, up to 1")
        return found


class Predictor(Protocol):
    """What a head has learned."""

    def predict(self, features: Floats, /) -> Sequence[str]:
        """Return an answer per row of features."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A logistic head: the answer with the largest linear score."""

    weights: Floats
    """Shape (n_answers, n_features)."""
    bias: Floats
    """Shape (n_answers,)."""
    answers: tuple[str, ...]
    """Answers, in order."""

    def predict(self, features: Floats) -> list[str]:
        """Return an answer per row of features, shape (n, n_features)."""
        return [self.answers[i] for i in np.argmax(features @ self.weights.T + self.bias, axis=1)]


@dataclass(frozen=True, slots=True)
class Graded:
    """A train answer with its gold, written as an answer would be."""

    fields: Fields
    gold: str


class Grader:
    """Grades answers to the questions of one data set."""

    def __init__(self, settings: GraderSettings, graded: Sequence[Graded], vectors: Vectors) -> None:
        self._settings, self._vectors = settings, vectors
        self._graded = _chosen(graded, settings.share)
        if not self._graded:
            raise ValueError("no graded train answers to learn from")
        self._features = np.array([self._features_of(example.fields) for example in self._graded])
        self._golds = [example.gold for example in self._graded]
        self._model: Predictor | None = None

    def learn(self) -> Predictor | None:
        """Fit the head; returns what was learned, which can be stored, or None where there is nothing to fit."""
        if self._settings.head == "neighbours" or len(set(self._golds)) == 1:
            return None
        fit = _fit_thresholds if self._settings.head == "thresholds" else _fit_logistic
        return fit(self._features, self._golds)

    def use(self, learned: Predictor | None) -> None:
        """Take what :meth:`learn` returned."""
        self._model = learned

    def answer(self, fields: Fields) -> str:
        """Return the label or score of an answer."""
        features = self._features_of(fields)
        if self._settings.head == "neighbours":
            return self._vote(features, fields)
        if self._model is None:
            return self._golds[0]
        return str(self._model.predict(features[None, :])[0])

    def _vote(self, features: Floats, fields: Fields) -> str:
        """Let the nearest train answers vote with their similarity; ties go to the answer that stands first."""
        near = self._features @ features
        if self._settings.scope == "question":
            is_same = np.array([example.fields.stimulus == fields.stimulus for example in self._graded])
            near = np.where(is_same, near, -1.0) if is_same.any() else near
        votes: dict[str, float] = {}
        for i in np.argsort(-near, kind="stable")[: self._settings.n_neighbours]:
            votes[self._golds[i]] = votes.get(self._golds[i], 0.0) + max(float(near[i]), 0.0)
        return max(votes, key=lambda gold: votes[gold])

    def _features_of(self, fields: Fields) -> Floats:
        parts = [np.array([self._measure(name, fields) for name in self._settings.measures])]
        if self._settings.vector is not None:
            parts.append(self._vectors.of(self._settings.vector, fields.text))
        return np.concatenate(parts)

    def _measure(self, name: str, fields: Fields) -> float:
        if name in _ANSWER_MEASURES:
            return _ANSWER_MEASURES[name](fields, self._vectors)
        if not fields.references:
            raise ValueError(f"measure {name!r} needs a reference answer, and the question has none")
        return max(_PAIR_MEASURES[name](fields.text, reference, self._vectors) for reference in fields.references)


def _chosen(graded: Sequence[Graded], share: float) -> list[Graded]:
    """Keep a share of the examples, the same one always: those whose text hashes lowest."""
    ranked = sorted(graded, key=lambda example: hashlib.sha256(example.fields.text.encode()).digest())
    kept = {id(example) for example in ranked[: round(share * len(ranked))]}
    return [example for example in graded if id(example) in kept]


def _fit_thresholds(features: Floats, golds: list[str]) -> Predictor:
    from sklearn.tree import DecisionTreeClassifier

    # few leaves: cuts on a similarity, not a memory of the train answers
    fitted: Predictor = DecisionTreeClassifier(max_leaf_nodes=6, min_samples_leaf=5, random_state=0).fit(
        features, golds
    )
    return fitted


def _fit_logistic(features: Floats, golds: list[str]) -> Linear:
    from sklearn.linear_model import LogisticRegression

    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 1e-12, spread, 1.0)
    fitted = LogisticRegression(C=0.05, max_iter=2000).fit((features - centre) / spread, golds)
    weights, bias, answers = fitted.coef_, fitted.intercept_, tuple(map(str, fitted.classes_))
    if len(answers) == 2:
        # the library scores the second of two answers only
        weights, bias = np.vstack([-weights, weights]), np.concatenate([-bias, bias])
    weights = weights / spread
    return Linear(weights, bias - weights @ centre, answers)


def _check(what: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        found = f"no {what}" if value is None else f"unknown {what} {value!r}"
        raise ValueError(f"{found}; expected one of {[name for name in allowed if name]}")
