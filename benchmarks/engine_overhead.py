"""Rows per second through the house against the bare engine: same prompts, same settings, one run.

    python benchmarks/engine_overhead.py [N_REQUESTS] [REPETITIONS]

Loads SmolLM2 twice, each time in a process of its own. Both answer all prompts once before anything is timed, so that
both are warm and hold the same prefixes; then they take turns: ``LLM.chat`` on a list of messages, and the whole way
from requests over rendering to landed chunks. The ratio is the median over the turns. Needs the environment of
``make test-vllm``.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from inference.asking import ask, models_to_ask
from inference.engines import Completion, RenderedRequest
from inference.engines.vllm import VllmEngine, order_of
from inference.landing import Journal, chunk_files
from inference.planning import plan_requests, to_ask
from inference.raters import resolve_raters
from inference.registry import load_registry
from inference.sources import read_bank
from orchestration.settings import PROJECT_ROOT, SHIPPED_REGISTRY

NOTHING = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})
WANTED = 0.9


class Kept:
    """An engine that stays open when asking ends."""

    def __init__(self, engine: VllmEngine) -> None:
        self.engine = engine
        self.kind, self.version = engine.kind, engine.version
        self.flags: Mapping[str, Any] = engine.flags

    def complete(self, requests: Iterable[RenderedRequest]) -> Iterator[Completion]:
        """Answer as the engine does."""
        return self.engine.complete(requests)

    def close(self) -> None:
        """Stay open."""


class House:
    """Asking a model of the example registry, from plan rows to chunks."""

    def __init__(self, n_requests: int, cache: Path, scratch: Path) -> None:
        self.registry = load_registry([SHIPPED_REGISTRY, PROJECT_ROOT / "examples" / "smollm2"], None)
        self.banks = {bank.name: read_bank(bank, self.registry) for bank in self.registry.banks.values()}
        is_meant = pl.col("rater_id") == "smollm2-135m|free"
        plan = plan_requests(self.registry, self.banks).filter(is_meant).head(n_requests)
        self.raters = resolve_raters(self.registry)
        [(self.model, self.todo)] = models_to_ask(to_ask(plan, NOTHING), self.raters)
        self.cache, self.scratch, self.n_turns = cache, scratch, 0
        self.engine = VllmEngine(self.model, cache)

    def turn(self) -> float:
        """Ask everything; return the seconds."""
        self.n_turns += 1
        started = time.monotonic()
        summary = ask(
            self.model, self.todo, self.registry, self.raters, self.banks,
            Journal(self.scratch / str(self.n_turns)), progress=lambda _: None, cache=self.cache,
            engine=Kept(self.engine),
        )  # fmt: skip
        seconds = time.monotonic() - started
        assert summary.n_ok == self.todo.height, summary
        return seconds

    def prompts(self) -> list[Any]:
        """Return the messages of the last turn."""
        rows = pl.concat([pl.read_parquet(path) for path in chunk_files(self.scratch / str(self.n_turns))])
        return [json.loads(messages) for messages in rows["messages"]]


class Bare:
    """``LLM.chat`` in a process of its own."""

    def __init__(self, order: dict[str, Any], prompts: list[Any], scratch: Path) -> None:
        work = scratch / "work.json"
        work.write_text(json.dumps({"order": order, "prompts": prompts}))
        command = [sys.executable, __file__, "--bare", str(work)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def turn(self) -> float:
        """Ask everything; return the seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return next(float(line.split()[1]) for line in self.process.stdout if line.startswith("seconds "))


def serve_bare(work: Path) -> None:
    """Answer all prompts each time a line comes in; say how long it took."""
    from vllm import LLM, SamplingParams

    from inference.engines.offline_models import local_folder
    from inference.engines.vllm_model import _engine_arguments

    content = json.loads(work.read_text())
    settings = content["order"]["settings"]
    folder = local_folder(settings["weights"], settings["revision"], Path(content["order"]["cache"]))
    llm = LLM(**_engine_arguments(settings, content["order"]["runtime"], folder))
    params = SamplingParams(temperature=0, max_tokens=settings["max_tokens"])
    for _ in sys.stdin:
        started = time.monotonic()
        answers = llm.chat(content["prompts"], params, use_tqdm=False)
        assert len(answers) == len(content["prompts"])
        print(f"seconds {time.monotonic() - started}", flush=True)


def main(n_requests: int, n_repetitions: int) -> int:
    """Print the figures; 0 where they are as wanted."""
    with tempfile.TemporaryDirectory() as scratch:
        cache = PROJECT_ROOT / "var" / "cache"
        house = House(n_requests, cache, Path(scratch))
        house.turn()
        bare = Bare(order_of(house.model, cache), house.prompts(), Path(scratch))
        bare.turn()
        ratios = []
        for _ in range(n_repetitions):
            alone, through = bare.turn(), house.turn()
            ratios.append(alone / through)
            n = house.todo.height
            print(f"{n} requests: bare {n / alone:6.2f} rows/s, through the house {n / through:6.2f}: {ratios[-1]:.3f}")
        house.engine.close()
        bare.process.kill()
    print(f"median ratio {statistics.median(ratios):.3f}; at least {WANTED} is wanted")
    return 0 if statistics.median(ratios) >= WANTED else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bare"]:
        os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "2"}
        serve_bare(Path(sys.argv[2]))
    else:
        numbers = [int(argument) for argument in sys.argv[1:3]]
        sys.exit(main(*(numbers + [64, 5][len(numbers) :])))
