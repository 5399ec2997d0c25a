"""Logs of evaluation programs, read as recorded responses.

A log is read (``eval_logs_inspect``, ``eval_logs_lm_eval``) into the long form below, and written as a long
CSV file, so that nothing after it knows where the responses came from. Neither program needs to be installed. Scores in
a log are not read: what a response is worth is decided here, from its text.
"""

import csv
import glob
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

from inference.identity import encode_id
from inference.sources.tables import SourceError, some

FinishReason = Literal["stop", "length"]
NOT_A_LOG = (
    AttributeError, LookupError, TypeError, ValueError, OSError, RuntimeError, EOFError, BadZipFile,
    zlib.error, struct.error,
)  # fmt: skip
"""What reading stops at where a file has not the form of a log: ValueError is also faults of JSON and UTF-8, OSError of
zstandard, RuntimeError of a zip that is encrypted or packed by an unknown method."""
COLUMNS = ("item_id", "rater", "response", "finish_reason")
"""Columns of the long file."""


@dataclass(frozen=True, slots=True)
class LoggedResponse:
    """One response of a log."""

    item_id: str
    """Item, as the log names it."""
    text: str
    """Response, verbatim; an empty text is an empty response."""
    finish_reason: FinishReason
    """`length` where the response was cut off."""


@dataclass(frozen=True, slots=True)
class EvalLog:
    """One run of one model on one task."""

    path: Path
    """File that was read."""
    program: Literal["inspect_ai", "lm_eval"]
    """Program that wrote it."""
    model: str
    """Model, as the log names it."""
    condition: str
    """Task with the arguments that were given to it."""
    facts: Mapping[str, Any]
    """What the log says of the rater, by the fields of RaterFacts."""
    responses: tuple[LoggedResponse, ...]
    """Responses of the first epoch, one per item."""
    n_failed: int = 0
    """Samples that ended in an error, or were never answered: they have no response, and count as not recorded."""
    n_repeated: int = 0
    """Responses of later epochs or repeats, which are not taken."""

    @property
    def rater(self) -> str:
        """Name of the rater in the long file."""
        return f"{self.model}|{self.condition}"


@dataclass(frozen=True, slots=True)
class LogFields:
    """What to take from a log where its own names do not do."""

    item_id: str | None = None
    """Field with the item id, dots between levels (`metadata.answer_id`, `doc.answer_id`); the log's own id if None."""
    model: str | None = None
    """Name of the model; the log's if None."""
    condition: str | None = None
    """Name of the condition; made of task and arguments if None."""


def is_eval_log(path: Path) -> bool:
    """Tell by its name whether a file is a log of an evaluation program."""
    return path.suffix in {".eval", ".json", ".jsonl"}


def read_eval_log(path: Path, fields: LogFields = LogFields()) -> EvalLog:
    """Read a log of inspect_ai (``.eval``, ``.json``) or of lm-evaluation-harness (``samples_*.jsonl``).

    Raises
    ------
    SourceError
        If the file is no such log, an item has no id or two responses, or nothing was answered.
    """
    # here and not above: the readers make use of this module
    from inference.sources.eval_logs_inspect import read_inspect_log
    from inference.sources.eval_logs_lm_eval import read_lm_eval_log

    if not path.is_file():
        raise SourceError(f"{path}: no such file; correct the name")
    if not is_eval_log(path):
        raise SourceError(
            f"{path}: not a log; expected .eval or .json of inspect_ai, or .jsonl of lm-evaluation-harness"
        )
    is_lm_eval = path.suffix == ".jsonl"
    try:
        log = read_lm_eval_log(path, fields) if is_lm_eval else read_inspect_log(path, fields)
    except SourceError:
        raise
    except NOT_A_LOG as problem:  # a file of another kind, or one that was damaged, can stop it at any step
        program = "lm-evaluation-harness" if is_lm_eval else "inspect_ai"
        # not its repr, which may hold the whole file
        why = f"{type(problem).__name__}: {problem}"
        raise SourceError(f"{path}: not a log of {program} ({why:.200}); name the file that it wrote") from problem
    if "|" in log.model:
        raise SourceError(f"{path}: model {log.model!r} holds the sign '|'; give it another name with --model")
    repeated = _first_repeated(log.responses)
    if repeated is not None:
        raise SourceError(f"{path}: item {repeated!r} has two responses; name a field that tells its samples apart")
    if not log.responses:
        raise SourceError(f"{path}: no sample was answered ({log.n_failed} failed); there is nothing to import")
    return log


def write_long(log: EvalLog, path: Path) -> None:
    """Write the responses of a log as a delimited file: a row per item, a row that is not there was not recorded."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(COLUMNS)
        writer.writerows((r.item_id, log.rater, r.text, r.finish_reason) for r in log.responses)


def facts_of(log: EvalLog) -> dict[str, dict[str, Any]]:
    """Return what the log says of its rater, as the registry entry of a recorded file takes it: pattern -> facts."""
    return {glob.escape(encode_id([log.model, log.condition])): dict(log.facts)}


def item_id_of(record: Mapping[str, Any], place: str, path: Path) -> str:
    """Return the item id at a place of a record (dots between levels).

    Raises
    ------
    SourceError
        If there is none, or if it is neither text nor a whole number.
    """
    value: Any = record
    for part in place.split("."):
        if not isinstance(value, Mapping) or part not in value:
            known = sorted(value) if isinstance(value, Mapping) else []
            raise SourceError(f"{path}: no field {place!r} with the item id; at {part!r} there are {some(known)}")
        value = value[part]
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise SourceError(f"{path}: the item id {place!r} is {value!r}; expected a text or a whole number")
    return str(value)


def named_condition(task: str, arguments: Mapping[str, Any]) -> str:
    """Name a condition after its task and the arguments given to it."""
    if not arguments:
        return task
    return f"{task}({', '.join(f'{key}={value}' for key, value in sorted(arguments.items()))})"


def _first_repeated(responses: Sequence[LoggedResponse]) -> str | None:
    seen: set[str] = set()
    for response in responses:
        if response.item_id in seen:
            return response.item_id
        seen.add(response.item_id)
    return None
