"""Vectors of texts: word and character TF-IDF learned from given texts, and sentence embeddings."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inference.baselines.storage import Embeddings
from inference.baselines.words import character_runs, words

VectorKind = Literal["word", "char", "minilm"]
Vector = NDArray[np.float64]

MAX_TERMS = 4000
"""Commonest terms that a vocabulary keeps; bounds the memory of a large bank."""


class Tfidf:
    """Sublinear TF-IDF: (1 + log tf) * (1 + log((1 + n) / (1 + df))), unit length.

    References
    ----------
    Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, chapter 6.
    """

    def __init__(self, terms_of: Callable[[str], tuple[str, ...]], texts: Sequence[str]) -> None:
        self._terms_of = terms_of
        n_texts = Counter(term for text in texts for term in set(terms_of(text)))
        kept = sorted(n_texts, key=lambda term: (-n_texts[term], term))[:MAX_TERMS]
        self._position = {term: i for i, term in enumerate(kept)}
        self._idf = np.array([1 + np.log((1 + len(texts)) / (1 + n_texts[term])) for term in kept])
        self._known: dict[str, Vector] = {}

    def vector(self, text: str) -> Vector:
        """Return the vector of a text, shape (n_terms,); zero where it has no known term."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._compute(text)
        return found

    def _compute(self, text: str) -> Vector:
        result = np.zeros(len(self._position))
        for term, n in Counter(self._terms_of(text)).items():
            at = self._position.get(term)
            if at is not None:
                result[at] = (1 + np.log(n)) * self._idf[at]
        length = np.linalg.norm(result)
        return result / length if length else result


@lru_cache(maxsize=4)
def _tfidf(kind: VectorKind, learned_from: tuple[str, ...]) -> Tfidf:
    """Learn a vocabulary once for the raters of all models: they learn from the same texts."""
    return Tfidf(words if kind == "word" else character_runs, learned_from)


class Vectors:
    """Unit vectors of texts, each computed once; a text without a known term is the zero vector."""

    def __init__(
        self, learned_from: Sequence[str], embeddings: Embeddings, foreseen: Callable[[], Iterable[str]] = tuple
    ) -> None:
        self._learned_from, self._embeddings, self._foreseen = tuple(learned_from), embeddings, foreseen
        self._is_prepared = False
        self._tfidf: dict[VectorKind, Tfidf] = {}
        self._embedded: dict[str, Vector] = {}

    def of(self, kind: VectorKind, text: str) -> Vector:
        """Return the vector of a text, shape (n_features,)."""
        if kind != "minilm":
            if kind not in self._tfidf:
                self._tfidf[kind] = _tfidf(kind, self._learned_from)
            return self._tfidf[kind].vector(text)
        found = self._embedded.get(text)
        if found is None:
            found = self._embedded[text] = self._embed(text)
        return found

    def similarity(self, kind: VectorKind, left: str, right: str) -> float:
        """Return the cosine of two texts; 0 where either is the zero vector."""
        return float(self.of(kind, left) @ self.of(kind, right))

    def _embed(self, text: str) -> Vector:
        if not self._is_prepared:
            # once, and many at once: encoding texts one by one takes five times as long
            self._embeddings.prepare(self._foreseen())
            self._is_prepared = True
        return self._embeddings.of(text).astype(np.float64)
