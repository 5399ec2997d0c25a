"""Logs of evaluation programs, read as recorded responses.

A log is read (``eval_logs_inspect``, ``eval_logs_lm_eval``) into the long form below. What is written from it is a long
CSV file and the registry entry that describes it, so that nothing after it knows where the responses came from. Neither
program needs to be installed. Scores in a log are not read: what a response is worth is decided here, from its text.
"""

import csv
import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from inference.identity import encode_id
from inference.registry.recorded_specs import RaterFacts
from inference.rows import Task
from inference.sources.tables import SourceError, some

FinishReason = Literal["stop", "length"]
COLUMNS = ("item_id", "rater", "response", "finish_reason")
"""Columns of the long file."""
SPLIT_NAME = r"(?P<model>[^|]+)\|(?P<condition>.+)"


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


@dataclass(frozen=True, slots=True)
class RecordedFiles:
    """What was written for some logs."""

    table: Path
    """Long CSV file."""
    entry: Path
    """Registry entry that describes it."""
    logs: tuple[EvalLog, ...] = field(default=())
    """Logs that went in."""


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
    log = read_lm_eval_log(path, fields) if path.suffix == ".jsonl" else read_inspect_log(path, fields)
    if "|" in log.model:
        raise SourceError(f"{path}: model {log.model!r} holds the sign '|'; give it another name with --model")
    repeated = _first_repeated(log.responses)
    if repeated is not None:
        raise SourceError(f"{path}: item {repeated!r} has two responses; name a field that tells its samples apart")
    if not log.responses:
        raise SourceError(f"{path}: no sample was answered ({log.n_failed} failed); there is nothing to import")
    return log


def write_recorded(
    logs: Sequence[EvalLog], *, name: str, dataset: str, task: Task, folder: Path, table_folder: str = ""
) -> RecordedFiles:
    """Write logs as one long CSV file and the registry entry that the recorded reader loads.

    Parameters
    ----------
    logs
        Logs of different raters on one data set.
    name
        Name of the entry, of its collection and of both files.
    dataset, task
        What the responses belong to.
    folder
        Folder of the entry, ``<registry>/recorded``.
    table_folder
        Where the long file goes, as seen from `folder`.

    Raises
    ------
    SourceError
        If two logs are of one rater.
    """
    raters = [log.rater for log in logs]
    twice = sorted({rater for rater in raters if raters.count(rater) > 1})
    if twice:
        raise SourceError(f"several logs are of rater {some(twice)}; import one, or tell them apart with --condition")
    table = folder / table_folder / f"{name}.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(COLUMNS)
        for log in logs:
            writer.writerows((r.item_id, log.rater, r.text, r.finish_reason) for r in log.responses)
    entry = folder / f"{name}.yml"
    body = recorded_entry(
        logs, name=name, dataset=dataset, task=task, file=(Path(table_folder) / table.name).as_posix()
    )
    entry.write_text(yaml.safe_dump({name: body}, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return RecordedFiles(table, entry, tuple(logs))


def recorded_entry(logs: Sequence[EvalLog], *, name: str, dataset: str, task: Task, file: str) -> dict[str, Any]:
    """Return the registry entry of a long file; a blank in it is an empty response, a missing row was not recorded."""
    programs = " and ".join(sorted({log.program for log in logs}))
    return {
        "title": f"Responses from {len(logs)} log{'s' if len(logs) > 1 else ''} of {programs}",
        "dataset": dataset,
        "collection": name,
        "task": task,
        "table": {"file": file},
        "item_id": "item_id",
        "raters": {
            "layout": "long", "rater_column": "rater", "value_column": "response", "split_name": SPLIT_NAME,
        },
        "blank": "empty",
        "facts": {
            glob.escape(encode_id([log.model, log.condition])): RaterFacts(**log.facts).model_dump(exclude_unset=True)
            for log in logs
            if log.facts
        },
    }  # fmt: skip


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
