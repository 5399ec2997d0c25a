"""Models that come inside Python packages: GGUF files turned into Hugging Face folders, offline.

Knows files and formats; starts no engine.
"""

import contextlib
import importlib.metadata
import tempfile
from pathlib import Path
from typing import Any

PREFIX = "package:"
"""Marks weights that lie in an installed package: ``package:<distribution>/<file>.gguf``."""


def local_folder(weights: str, revision: str, cache: Path) -> str:
    """Return what an engine can load: a folder made from a package's file, or the name as it is.

    Parameters
    ----------
    weights
        As in the registry.
    revision
        Version that the registry names; for a package the version of its distribution.
    cache
        Where converted models are kept, one folder per distribution, version and file.

    Raises
    ------
    ValueError
        The package is not installed, has another version, or lacks the file.
    """
    if not weights.startswith(PREFIX):
        return weights
    distribution, _, file = weights.removeprefix(PREFIX).partition("/")
    source = _packaged_file(distribution, file, revision)
    folder = cache / "models" / f"{distribution}-{revision}-{source.stem}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as aside:
            made = convert_gguf(source, Path(aside) / folder.name)
            with contextlib.suppress(OSError):  # another process was quicker; its folder is the same
                made.rename(folder)
    return str(folder)


def convert_gguf(source: Path, folder: Path) -> Path:
    """Write a GGUF model of the Llama kind as a Hugging Face folder: bfloat16 weights, tokenizer, chat template.

    Parameters
    ----------
    source
        GGUF file, quantised or not.
    folder
        Folder to make; returned.
    """
    import torch
    from gguf import GGUFReader, dequantize
    from safetensors.torch import save_file
    from transformers import AutoTokenizer

    reader = GGUFReader(source)
    config = _llama_config(reader)
    n_heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    tensors = {}
    for tensor in reader.tensors:
        weights = dequantize(tensor.data, tensor.tensor_type)
        part = tensor.name.removesuffix(".weight").rpartition(".")[2]
        if part in n_heads:
            weights = _unpermuted(weights, n_heads[part])
        tensors[_llama_name(tensor.name)] = torch.tensor(weights, dtype=torch.bfloat16)
    config.tie_word_embeddings = "lm_head.weight" not in tensors
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(folder)
    config.save_pretrained(folder)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _llama_config(reader: Any) -> Any:
    from transformers import LlamaConfig

    def value(key: str) -> Any:
        return reader.fields[key].contents()

    if value("general.architecture") != "llama":
        raise ValueError(f"architecture {value('general.architecture')!r} cannot be converted; expected 'llama'")
    return LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=len(value("tokenizer.ggml.tokens")),
        hidden_size=value("llama.embedding_length"),
        intermediate_size=value("llama.feed_forward_length"),
        num_hidden_layers=value("llama.block_count"),
        num_attention_heads=value("llama.attention.head_count"),
        num_key_value_heads=value("llama.attention.head_count_kv"),
        rms_norm_eps=value("llama.attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": value("llama.rope.freq_base")},
        max_position_embeddings=value("llama.context_length"),
        bos_token_id=value("tokenizer.ggml.bos_token_id"),
        eos_token_id=value("tokenizer.ggml.eos_token_id"),
        dtype="bfloat16",
    )


_PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


def _llama_name(name: str) -> str:
    """Translate a tensor's GGUF name, e.g. ``blk.3.attn_q.weight``."""
    if name in _WHOLE:
        return _WHOLE[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{_PARTS[part]}.{kind}"


def _unpermuted(weights: Any, n_heads: int) -> Any:
    """Undo the order of rows that GGUF keeps for rotary positions: pairs side by side there, halves here."""
    n_rows, n_columns = weights.shape
    pairs = weights.reshape(n_heads, n_rows // n_heads // 2, 2, n_columns)
    return pairs.swapaxes(1, 2).reshape(n_rows, n_columns)


def _packaged_file(distribution: str, file: str, revision: str) -> Path:
    try:
        found = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError as problem:
        raise ValueError(f"weights need the package {distribution}, which is not installed; install it") from problem
    if found.version != revision:
        raise ValueError(
            f"revision {revision!r} is asked for, {distribution} {found.version} is installed; make them one"
        )
    path = next((Path(str(f.locate())) for f in found.files or () if f.name == file), None)
    if path is None or not path.is_file():
        raise ValueError(f"package {distribution} {revision} has no file {file!r}; correct the name")
    return path
