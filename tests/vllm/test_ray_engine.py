"""The same requests through two Ray actors on a local cluster: the same rows as the local process."""

import pytest

from inference.engines.ray import RayEngine
from inference.engines.vllm import VllmEngine
from inference.registry import Registry

pytestmark = pytest.mark.vllm


def test_two_actors_write_what_the_local_process_writes(
    engine: VllmEngine, chat_registry: Registry, request_of, tmp_path
):
    ray = pytest.importorskip("ray")
    requests = [request_of(f"{condition}{i}", condition, f"Number {i}?") for i in range(6)
                for condition in ("free", "drawn", "held")]  # fmt: skip
    requests += [request_of("long", "free", "word " * 300), request_of("none", "held", "Why?", choices=())]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        on_ray = list(RayEngine(chat_registry.models["tiny"], tmp_path).complete(requests))
    finally:
        ray.shutdown()
    here = {completion.request_id: completion for completion in engine.complete(requests)}
    assert len(on_ray) == len(here) == len(requests)
    for completion in on_ray:
        other = here[completion.request_id]
        told = ("text", "finish_reason", "error_kind", "error_type", "prompt_tokens", "completion_tokens")
        assert [getattr(completion, name) for name in told] == [getattr(other, name) for name in told]
        assert (completion.option_logprobs or {}) == pytest.approx(other.option_logprobs or {}, abs=1e-4)
