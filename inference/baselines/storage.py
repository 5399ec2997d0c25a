"""Results that are costly to compute, kept on disk under the hash of all that they depend on.

Written under a temporary name and renamed, so a kill leaves no half file; a file that cannot be read is computed anew.
"""

import os
import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.encoders.minilm import REVISION, SentenceEncoder
from inference.identity import hash_of

TEXTS_AT_ONCE = 32
MOST_THREADS = 4
"""Texts are encoded on so many cores at most; each batch is one thread's, so the numbers do not depend on it."""


def cached(folder: Path, key: Any, compute: Callable[[], Any]) -> Any:
    """Return what was stored under a key, or compute and store it.

    Parameters
    ----------
    folder
        Folder of the cache; its files are this program's own and may be deleted at any time.
    key
        JSON value with everything that the result depends on.
    compute
        Makes the result.
    """
    path = folder / f"{hash_of(key)}.pickle"
    try:
        with path.open("rb") as stream:
            return pickle.load(stream)
    except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError):
        result = compute()
        write_atomically(path, pickle.dumps(result))
        return result


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    unfinished.write_bytes(data)
    unfinished.replace(path)


class Embeddings:
    """Sentence embeddings by text, remembered on disk between runs."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{hash_of(REVISION)[:16]}.pickle"
        self._known: dict[str, NDArray[np.float32]] = self._read()
        self._n_stored = len(self._known)
        self._encoder: SentenceEncoder | None = None

    def of(self, text: str) -> NDArray[np.float32]:
        """Return the embedding of a text, shape (384,)."""
        if text not in self._known:
            self.prepare([text])
        return self._known[text]

    def prepare(self, texts: Iterable[str]) -> None:
        """Encode texts that are not known yet, many at once."""
        unknown = sorted(set(texts) - self._known.keys(), key=lambda text: (len(text), text))
        if not unknown:
            return
        self._encoder = self._encoder or SentenceEncoder()
        batches = [unknown[start : start + TEXTS_AT_ONCE] for start in range(0, len(unknown), TEXTS_AT_ONCE)]
        with ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as threads:
            for batch, encoded in zip(batches, threads.map(self._encoder.encode, batches), strict=True):
                # five decimals are far above the noise of the arithmetic: the same answer on every machine
                self._known.update(zip(batch, encoded.round(5), strict=True))

    def save(self) -> None:
        """Store what is new, together with what others have stored meanwhile."""
        if len(self._known) > self._n_stored:
            self._known = {**self._read(), **self._known}
            write_atomically(self._path, pickle.dumps(self._known))
            self._n_stored = len(self._known)

    def _read(self) -> dict[str, NDArray[np.float32]]:
        try:
            return dict(pickle.loads(self._path.read_bytes()))
        except (OSError, EOFError, pickle.UnpicklingError):
            return {}
