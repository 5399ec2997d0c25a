"""Logs of lm-evaluation-harness: ``samples_<task>_<time>.jsonl``, written with ``--log_samples``.

What was generated is the response as it came from the model, before any filter. Where the program compared
log-likelihoods, the response is the continuation that was likeliest. The log does not say whether a response was cut
off. The results file of the same run, beside it, says which model it was. The arguments of a request are read as a
mapping (``{"gen_args_0": {"arg_0": …}}``) and as a list (``[[prompt, …]]``), by which releases differ.
"""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inference.sources.eval_logs import EvalLog, LogFields, LoggedResponse, item_id_of, named_condition
from inference.sources.tables import SourceError

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)\.jsonl")


def read_lm_eval_log(path: Path, fields: LogFields) -> EvalLog:
    """Read a log; the first filter's row of each document, and its first response.

    Raises
    ------
    SourceError
        If the file is not such a log, an item has no id, or the model is not known.
    """
    name = _NAME.fullmatch(path.name)
    records = _records(path)
    results = _results(path, name["time"]) if name else {}
    task = name["task"] if name else path.stem
    # a document has one row per filter, all with the same responses
    first = [record for record in records if record.get("filter") == records[0].get("filter")]
    answered, n_repeated = [], 0
    for record in first:
        text, n_more = _response(record, path)
        n_repeated += n_more
        if text is not None:
            answered.append(LoggedResponse(item_id_of(record, fields.item_id or "doc_id", path), text, "stop"))
    n_shots = int((results.get("n-shot") or {}).get(task) or 0)
    return EvalLog(
        path,
        "lm_eval",
        fields.model or _model(path, results),
        fields.condition or named_condition(task, {"shots": n_shots} if n_shots else {}),
        _facts(results, task, n_shots),
        tuple(answered),
        n_failed=len(first) - len(answered),
        n_repeated=n_repeated,
    )


def _records(path: Path) -> list[dict[str, Any]]:
    records = []
    # not splitlines(), which also breaks at signs that may stand inside a response
    for line, text in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except json.JSONDecodeError as problem:
            raise SourceError(
                f"{path}, line {line}: not JSON ({problem}); was the run cut off? Remove the line"
            ) from problem
        if not isinstance(record, dict) or not {"doc_id", "resps", "arguments"} <= record.keys():
            raise SourceError(
                f"{path}, line {line}: not a sample of lm-evaluation-harness (doc_id, resps, arguments); "
                "name a file written with --log_samples"
            )
        records.append(record)
    if not records:
        raise SourceError(f"{path}: the file is empty; name a file written with --log_samples")
    return records


def _results(path: Path, time: str) -> dict[str, Any]:
    file = path.with_name(f"results_{time}.json")
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _model(path: Path, results: Mapping[str, Any]) -> str:
    if not results.get("model_name"):
        raise SourceError(f"{path}: no results file beside it says which model this was; name it with --model")
    return str(results["model_name"])


def _facts(results: Mapping[str, Any], task: str, n_shots: int) -> dict[str, Any]:
    if not results:
        return {"strategy": task}
    config = results.get("config") or {}
    asked = ((results.get("configs") or {}).get(task) or {}).get("generation_kwargs") or {}
    given = config.get("gen_kwargs")
    generation = {**asked, **(given if isinstance(given, dict) else {})}
    facts: dict[str, Any] = {"strategy": task, "n_shots": n_shots}
    if n_shots and config.get("fewshot_seed") is not None:
        facts["exemplar_seed"] = int(config["fewshot_seed"])
    if isinstance(generation.get("temperature"), int | float):
        facts["temperature"] = float(generation["temperature"])
    return facts


def _response(record: Mapping[str, Any], path: Path) -> tuple[str | None, int]:
    """Return the first response of a sample and how many more there are."""
    responses = record["resps"]
    if not _is_list(responses) or not all(map(_is_list, responses)):
        raise SourceError(f"{path}: document {record['doc_id']}: resps is {responses!r:.80}; expected a list of lists")
    if not responses or not responses[0]:
        return None, 0
    if isinstance(responses[0][0], str):
        if _is_of_the_text_alone(record["arguments"]):
            raise SourceError(
                f"{path}: document {record['doc_id']}: a log-likelihood of the text itself, to which nobody has "
                "responded; name the log of a task that generates or chooses"
            )
        return responses[0][0], len(responses[0]) - 1
    return _likeliest(record, path), 0


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _in_order(arguments: Any) -> list[Any]:
    """Return what is in a mapping or a list of arguments; nothing where it is neither."""
    if isinstance(arguments, Mapping):
        return list(arguments.values())
    return arguments if _is_list(arguments) else []


def _is_of_the_text_alone(arguments: Any) -> bool:
    """Tell whether a document was given without a continuation or a way to generate one, as for perplexity."""
    given = _in_order(arguments)
    return bool(given) and all(len(_in_order(one)) == 1 for one in given)


def _likeliest(record: Mapping[str, Any], path: Path) -> str | None:
    """Return the continuation with the highest log-likelihood given the prompt; the first of equals."""
    try:
        arguments = [_in_order(one) for one in _in_order(record["arguments"])]
        prompt = arguments[0][0]
        # further rows with another prompt hold log-likelihoods without the question, for normalising
        asked = [
            (float(answers[0][0]), str(argument[1]).strip())
            for argument, answers in zip(arguments, record["resps"], strict=True)
            if argument[0] == prompt
        ]
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        raise SourceError(
            f"{path}: document {record['doc_id']}: responses of an unknown kind ({problem!r})"
        ) from problem
    if any(math.isnan(value) for value, _ in asked):
        return None
    return max(asked, key=lambda pair: pair[0])[1]
