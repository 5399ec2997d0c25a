"""Vectors of texts: word and character TF-IDF learned from given texts, and sentence embeddings."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inference.baselines.storage import Embeddings
from inference.baselines.words import words

MAX_FEATURES = 4000
"""Commonest words or character runs that a vocabulary keeps; bounds the memory of a large bank."""

VectorKind = Literal["word", "char", "minilm"]
Vector = NDArray[np.float64]


class Vectors:
    """Unit vectors of texts, each computed once; a text that shares nothing with what was learned is the zero vector."""

    def __init__(self, learned_from: Sequence[str], embeddings: Embeddings) -> None:
        self._learned_from = list(learned_from)
        self._fitted: dict[str, Any] = {}
        self._known: dict[tuple[VectorKind, str], Vector] = {}
        self._embeddings = embeddings

    def of(self, kind: VectorKind, text: str) -> Vector:
        """Return the vector of a text, shape (n_features,)."""
        found = self._known.get((kind, text))
        if found is None:
            found = self._known[kind, text] = self._compute(kind, text)
        return found

    def similarity(self, kind: VectorKind, left: str, right: str) -> float:
        """Return the cosine of two texts; 0 where either is the zero vector."""
        return float(self.of(kind, left) @ self.of(kind, right))

    def _compute(self, kind: VectorKind, text: str) -> Vector:
        if kind == "minilm":
            return self._embeddings.of(text).astype(np.float64)
        if kind not in self._fitted:
            self._fitted[kind] = _vectorizer(kind)().fit(self._learned_from)
        return np.asarray(self._fitted[kind].transform([text]).toarray()[0])


def _vectorizer(kind: VectorKind) -> Callable[[], Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    if kind == "word":
        return partial(TfidfVectorizer, analyzer=words, sublinear_tf=True, max_features=MAX_FEATURES)
    return partial(
        TfidfVectorizer, analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True, max_features=MAX_FEATURES
    )
