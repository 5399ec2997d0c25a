"""How results look on a terminal: tables, progress bars, one-line notes.

Holds printing only. What is printed comes from its arguments.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from orchestration.house import Progress
from orchestration.reading import Trace

PIPE_WIDTH = 1000

NOT_SENT = {
    "baseline": "a local rater: it reads the fields below, no prompt, and counts no tokens",
    "recorded": "recorded elsewhere: what was asked there is not known here",
}
"""What raters of an engine have no prompt of, in words; every other engine sends what a trace shows."""


def say(text: str = "") -> None:
    """Print one line for a person."""
    sys.stdout.write(text + "\n")


def cell(value: Any) -> str:
    """Write one value; null is a dash, so that it cannot be taken for an empty text or a number."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def table(frame: pl.DataFrame, *, title: str | None = None) -> None:
    """Print a frame as an aligned table; numbers to the right."""
    from rich.console import Console
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, kind in frame.schema.items():
        drawn.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        drawn.add_row(*[_escaped(cell(value)) for value in row])
    console = Console()
    # a pipe has no width of its own; cut nothing there
    Console(width=console.width if console.is_terminal else PIPE_WIDTH).print(drawn)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def steps(seconds: Mapping[str, float], *, shown: int = 6) -> None:
    """Print the seconds of the longest steps."""
    longest = sorted(seconds.items(), key=lambda step: -step[1])[:shown]
    say("seconds: " + ", ".join(f"{name} {value:.1f}" for name, value in longest))


def failures(texts: Sequence[str]) -> None:
    """Print what failed to standard error, one line each."""
    for text in texts:
        sys.stderr.write(f"failed: {text}\n")


def as_json(frame: pl.DataFrame) -> str:
    """Write the rows as a JSON array of objects; times as ISO 8601."""
    return json.dumps(frame.to_dicts(), ensure_ascii=False, indent=2, default=_json_text)


def as_csv(frame: pl.DataFrame) -> str:
    """Write the rows as CSV; a list or a struct, for which CSV has no cell, as JSON text."""
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    texts = [
        pl.Series(name, [None if value is None else _nested_json(value) for value in frame[name].to_list()], pl.String)
        for name in nested
    ]
    return frame.with_columns(texts).write_csv()


def _nested_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_json_text)


def _json_text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def trace(found: Trace) -> None:
    """Print one cell of the matrix from the prompt to its place in the fits."""
    response = found.response
    say(f"{response['dataset']} / {response['item_id']} by {response['rater_id']}: {response['status']}")
    say(f"\nitem: {cell(found.item['item_text'])}")
    for attempt in found.attempts.iter_rows(named=True):
        ended = attempt["finish_reason"] or attempt["error_kind"] or "why it ended is not known"
        say(f"\nattempt {attempt['attempt']} ({ended}, {attempt['finished_at']:%Y-%m-%d %H:%M:%S})")
        messages = json.loads(attempt["messages"] or "[]")
        is_local = found.engine == "baseline"
        if is_local or not messages:
            say(f"  {NOT_SENT.get(found.engine, 'no prompt was kept')}")
        for message in messages:
            say(f"  [{message['role']}] {_fields(message['content']) if is_local else message['content']}")
        say(f"  → {cell(attempt['text'])}{' ' + attempt['error_message'] if attempt['error_message'] else ''}")
    gold = next((found.item[k] for k in ("gold_label", "answer_key", "gold_score") if found.item[k] is not None), None)
    say(f"\n{_answer(response)}{'' if gold is None else f'; gold: {cell(gold)}'}")
    table(found.fits, title="\nplace in the fits")


def _answer(response: Mapping[str, object]) -> str:
    """Say what a response was read as and by which rule, or why it is no answer; what there is not is left out."""
    names = ("answer_label", "answer_choice", "answer_score", "answer_value")
    given = next((response[name] for name in names if response[name] is not None), None)
    what = f"no answer: {response['status']}" if given is None else f"answer: {cell(given)}"
    parts = (("reason", "status_reason"), ("rule", "parser_rule"), ("parser", "parser_version"))
    how = ", ".join(f"{word} {response[name]}" for word, name in parts if response[name] is not None)
    return f"{what} ({how})" if how else what


def _fields(content: str) -> str:
    """Write the JSON that a local rater reads over several lines."""
    return json.dumps(_present(json.loads(content)), ensure_ascii=False, indent=2)


def _present(value: Any) -> Any:
    """Return what an item has: a field without a value would read like lost data."""
    if isinstance(value, dict):
        return {name: _present(part) for name, part in value.items() if part is not None and part != []}
    return [_present(part) for part in value] if isinstance(value, list) else value


def count(n: int, noun: str) -> str:
    """Write a number with its noun, in the plural unless it is one."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Yield a reporter that draws one bar per kind of work on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(file=sys.__stderr__)
    # where nobody watches, a bar would leave nothing but an empty line
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield report


@contextmanager
def waiting(text: str, *, after: float = 2.0) -> Iterator[None]:
    """Show on a terminal what is being done and for how long, once it has taken `after` seconds."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(file=sys.__stderr__)
    if not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    bar.add_task(text, total=None)
    timer = threading.Timer(after, bar.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a timer that has just fired must not start the bar after it was stopped
        bar.stop()


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._started
