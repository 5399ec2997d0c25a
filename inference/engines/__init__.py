"""Engines: whatever turns messages into text, behind one protocol.

Each engine's heavy libraries are imported when it is opened, so that start-up stays quick.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from inference.engines.base import Completion, Deferred, Engine, RenderedRequest, failed
from inference.registry import ModelSpec, RecordedSpec, Registry
from inference.sources import BankFrames

__all__ = ["Completion", "Deferred", "Engine", "Place", "RenderedRequest", "failed", "open_engine"]


Place = Literal["here", "ray"]
"""Where a model runs: in a process of this machine, or on the actors of a Ray cluster. Recorded, never hashed."""


def open_engine(
    model: ModelSpec | RecordedSpec,
    registry: Registry,
    banks: Mapping[str, BankFrames],
    cache: Path,
    place: Place = "here",
) -> Engine:
    """Open the engine that a model's entry names.

    Parameters
    ----------
    model
        Model, or recorded responses.
    registry, banks
        Where local raters find what they learn from.
    cache
        Folder for fitted models and embeddings.
    place
        Where models of the engine ``vllm`` run; the others always run here.
    """
    if isinstance(model, RecordedSpec):
        from inference.engines.recorded import RecordedEngine

        return RecordedEngine()
    if model.engine == "baseline":
        from inference.engines.baseline import BaselineEngine

        return BaselineEngine(registry, banks, cache)
    if model.engine == "vllm" and place == "ray":
        from inference.engines.ray import RayEngine

        return RayEngine(model, cache)
    if model.engine == "vllm":
        from inference.engines.vllm import VllmEngine

        return VllmEngine(model, cache)
    if model.engine == "openai":
        from inference.engines.openai import OpenAIEngine

        return OpenAIEngine(model)
    if model.engine == "batch":
        from inference.engines.batch import BatchEngine

        return BatchEngine(model, cache.parent / "batches")
    raise ValueError(f"{model.yaml}: {model.name}: engine {model.engine!r} cannot be opened here")
