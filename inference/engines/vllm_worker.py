"""The process that holds one model in vLLM: jobs in on standard input, completions out, one JSON object a line.

Its own process, so that memory is free again when it ends. Started by ``vllm``; the work is done in ``vllm_model``.
"""

import json
import os
import queue
import resource
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Literal

from inference.engines.jobs import Job
from inference.engines.vllm_model import VllmModel

SECONDS_TO_END = 5.0
"""How long the process may still work after its input has ended."""


class _StandardInput:
    """Jobs as lines of JSON; an empty line ends a session, the end of the stream ends the process."""

    def __init__(self) -> None:
        self.is_closed = False
        self._jobs: queue.SimpleQueue[Job | Literal["end"]] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def take(self, wait: bool) -> Job | Literal["later", "end"]:
        """Return the next job; see :class:`JobSource`."""
        try:
            return self._jobs.get(block=wait)
        except queue.Empty:
            return "later"

    def _read(self) -> None:
        for line in sys.stdin:
            self._jobs.put(Job(**json.loads(line)) if line.strip() else "end")
        self.is_closed = True
        self._jobs.put("end")
        time.sleep(SECONDS_TO_END)
        # whoever asked is gone: what is still being written has no reader
        os.killpg(0, signal.SIGKILL)


def _peak_memory() -> dict[str, float]:
    import torch

    peak = {"peak_rss_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}
    if torch.cuda.is_available():
        peak["peak_gpu_gib"] = torch.cuda.max_memory_reserved() / 2**30
    return {name: round(value, 2) for name, value in peak.items()}


def _send(stream: IO[str], message: Mapping[str, Any]) -> None:
    stream.write(json.dumps(message) + "\n")
    stream.flush()


def main() -> None:
    """Load the model that the only argument describes and answer until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever libraries print goes to the log, not between the answers
    order = json.loads(sys.argv[1])
    source = _StandardInput()
    model = VllmModel(order["settings"], order["runtime"], Path(order["cache"]))
    import vllm

    _send(out, {"ready": {"version": vllm.__version__, "flags": model.flags}})
    while not source.is_closed:
        for completion in model.answers(source):
            _send(out, {"completion": asdict(completion)})
        _send(out, {"done": _peak_memory()})
    model.close()
    os._exit(0)  # the libraries' own way out takes seconds


if __name__ == "__main__":
    main()
