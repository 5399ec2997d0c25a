"""Rows per second through the house against the bare engine: same prompts, same settings, one run.

    python benchmarks/engine_overhead.py [N_REQUESTS]

Loads SmolLM2 twice, each time in a process of its own and with an empty prefix cache: once for ``LLM.chat`` on a list
of messages, once for the whole way from plan to landed chunk. Starting the engine is timed on neither side.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

from inference.asking import ask, models_to_ask
from inference.engines.vllm import VllmEngine, order_of
from inference.landing import Journal
from inference.planning import plan_requests, to_ask
from inference.registry import load_registry
from inference.sources import read_bank
from orchestration.settings import PROJECT_ROOT, SHIPPED_REGISTRY

NOTHING = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})


def bare(order: dict[str, Any], prompts: list[list[dict[str, str]]]) -> float:
    """Return the seconds that ``LLM.chat`` takes."""
    from vllm import LLM, SamplingParams

    from inference.engines.offline_models import local_folder
    from inference.engines.vllm_model import _engine_arguments

    settings = order["settings"]
    folder = local_folder(settings["weights"], settings["revision"], Path(order["cache"]))
    llm = LLM(**_engine_arguments(settings, order["runtime"], folder))
    params = SamplingParams(temperature=0, max_tokens=settings["max_tokens"])
    started = time.monotonic()
    answers = llm.chat(prompts, params, use_tqdm=False)
    assert len(answers) == len(prompts)
    return time.monotonic() - started


def main(n_requests: int) -> None:
    registry = load_registry([SHIPPED_REGISTRY, PROJECT_ROOT / "examples" / "smollm2"], None)
    banks = {bank.name: read_bank(bank, registry) for bank in registry.banks.values()}
    plan = plan_requests(registry, banks).filter(pl.col("rater_id") == "smollm2-135m|free").head(n_requests)
    [(model, todo)] = models_to_ask(to_ask(plan, NOTHING), registry)
    with tempfile.TemporaryDirectory() as scratch:
        cache = PROJECT_ROOT / "var" / "cache"
        engine = VllmEngine(model, cache)
        started = time.monotonic()
        options: dict[str, Any] = {"progress": lambda _: None, "cache": cache, "engine": engine}
        summary = ask(model, todo, registry, banks, Journal(Path(scratch)), **options)
        through_the_house = time.monotonic() - started
        assert summary.n_ok == todo.height, summary
        rows = pl.concat([pl.read_parquet(path) for path in Path(scratch).rglob("*.parquet")])
        work = Path(scratch) / "work.json"
        prompts = [json.loads(messages) for messages in rows["messages"]]
        work.write_text(json.dumps({"order": order_of(model, cache), "prompts": prompts}))
        done = subprocess.run(
            [sys.executable, __file__, "--bare", str(work)], capture_output=True, text=True, check=True
        )
    alone = float(done.stdout.strip().splitlines()[-1])
    print(f"{todo.height} requests, starting not counted, closing counted for the house")
    for name, seconds in {"bare LLM.chat": alone, "through the house": through_the_house}.items():
        print(f"{name:<18}{todo.height / seconds:8.2f} rows/s {seconds:8.1f} s")
    print(f"ratio {alone / through_the_house:.3f}; at least 0.9 is wanted")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bare"]:
        os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1"}
        content = json.loads(Path(sys.argv[2]).read_text())
        print(bare(content["order"], content["prompts"]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 128)
