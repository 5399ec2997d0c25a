"""The command ``parse``: what the parser makes of a response, without a warehouse."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestration import parsing

LINES_AT_ONCE = 20_000
"""Lines parsed in one query: many enough to be quick, few enough that a long file takes no memory."""


class Kind(StrEnum):
    """What is looked for."""

    choice = "choice"
    label = "label"
    score = "score"
    discrimination = "discrimination"
    difficulty = "difficulty"


class FinishReason(StrEnum):
    """Why a response ended."""

    stop = "stop"
    length = "length"


class Format(StrEnum):
    """How answers are printed."""

    text = "text"
    json = "json"


def parse(
    kind: Annotated[Kind, typer.Option(help="What the response should hold.")],
    options: Annotated[str | None, typer.Option(help="choice: letters of the options. [default: A,B,C,D]")] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="label: the labels, or the name of a label set, whose synonyms then count. "
                     "[default: five_way]"),
    ] = None,
    value_range: Annotated[
        str | None,
        typer.Option("--range", help="score: lowest:highest, e.g. 0:3. discrimination: -1:1 unless given."),
    ] = None,
    finish_reason: Annotated[FinishReason, typer.Option(help="Why the response ended.")] = FinishReason.stop,
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help="One response a line: a JSON string, or an object with text and, where it has "
                     "one, finish_reason. Answers are printed one a line too."),
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print the answer.")] = Format.text,
) -> None:  # fmt: skip
    """Read a response from standard input and say what the parser makes of it.

    The parser is the very SQL that a run uses. Example: echo 'Answer: B' | thetahouse parse --kind choice
    """
    from orchestration.parsing import Parser

    parser = Parser(_scheme(kind, options, labels, value_range))
    if not jsonl:
        (parsed,) = parser([_decoded(sys.stdin.buffer.read())], [finish_reason])
        sys.stdout.write(_json(parsed) if format is Format.json else _text(parsed))
        return
    lines = _responses(sys.stdin.buffer, finish_reason)
    while batch := list(islice(lines, LINES_AT_ONCE)):
        for parsed in parser([text for text, _ in batch], [reason for _, reason in batch]):
            sys.stdout.write(_json(parsed) if format is Format.json else _line(parsed))


def _scheme(kind: Kind, options: str | None, labels: str | None, value_range: str | None) -> "parsing.Scheme":
    from orchestration import parsing
    from orchestration.settings import load_settings

    meant = {"options": [Kind.choice], "labels": [Kind.label], "range": [Kind.score, Kind.discrimination]}
    for option, value in (("options", options), ("labels", labels), ("range", value_range)):
        if value is not None and kind not in meant[option]:
            raise typer.BadParameter(
                f"--{option} does not go with --kind {kind}, only with {' and '.join(meant[option])}"
            )
    name: parsing.Kind = kind.value
    if kind is Kind.choice:
        letters = _listed("options", options or "A,B,C,D")
        if any(len(letter) != 1 or not letter.isalpha() for letter in letters):
            raise typer.BadParameter(f"--options {options!r}: expected single letters with commas, e.g. A,B,C,D")
        return parsing.Scheme(name, options=letters)
    if kind is Kind.label:
        try:
            spellings = parsing.spellings_of(_listed("labels", labels or "five_way"), load_settings())
            return parsing.Scheme(name, spellings=spellings)
        except ValueError as problem:
            raise typer.BadParameter(f"--labels: {problem}") from problem
    if kind is Kind.difficulty:
        return parsing.Scheme(name)
    if kind is Kind.score and value_range is None:
        raise typer.BadParameter("--kind score needs --range lowest:highest, e.g. --range 0:3")
    low, high = _range(value_range or "-1:1")
    return parsing.Scheme(name, lowest=low, highest=high)


def _listed(name: str, text: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts) or len(set(parts)) < len(parts):
        raise typer.BadParameter(f"--{name} {text!r}: expected different names with commas between them")
    return parts


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError as problem:
        raise typer.BadParameter(f"--range {text!r}: expected lowest:highest, e.g. 0:3") from problem
    if not low < high:
        raise typer.BadParameter(f"--range {text!r}: the lowest value comes first")
    return low, high


def _decoded(read: bytes) -> str:
    try:
        return read.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise typer.BadParameter(f"standard input is not UTF-8: {problem}; convert it first") from problem


def _responses(lines: Iterable[bytes], default: str) -> Iterator[tuple[str, str]]:
    """Yield (text, finish reason) of every line."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = json.loads(_decoded(line))
        except json.JSONDecodeError as problem:
            raise typer.BadParameter(f"line {number} is not JSON: {problem}; write a JSON string") from problem
        known = said if isinstance(said, dict) else {"text": said}
        text, reason = known.get("text"), known.get("finish_reason", default)
        if not isinstance(text, str) or reason not in set(FinishReason):
            raise typer.BadParameter(
                f"line {number}: expected a JSON string, or an object with text (a string) and finish_reason "
                f"({' or '.join(FinishReason)})"
            )
        yield text, reason


def _json(parsed: "parsing.ParsedAnswer") -> str:
    return json.dumps(asdict(parsed), ensure_ascii=False) + "\n"


def _shown(answer: str | float | None) -> str:
    return "–" if answer is None else f"{answer:g}" if isinstance(answer, float) else answer


def _text(parsed: "parsing.ParsedAnswer") -> str:
    rows = {
        "status": parsed.status + (" (stopped by length)" if parsed.is_truncated else ""),
        "reason": parsed.status_reason,
        "answer": _shown(parsed.answer),
        "rule": parsed.parser_rule or "–",
        "parser": parsed.parser_version,
    }
    return "".join(f"{name}: {value}\n" for name, value in rows.items() if value is not None)


def _line(parsed: "parsing.ParsedAnswer") -> str:
    cells = (parsed.status, _shown(parsed.answer), parsed.parser_rule or parsed.status_reason or "–")
    return "\t".join((*cells, parsed.parser_version)) + "\n"
