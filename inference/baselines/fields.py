"""What a local rater reads: the fields of an item, out of the prompt's JSON."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fields:
    """The item as the prompt shows it."""

    stimulus: str
    """Question being graded, or passage."""
    text: str
    """Student answer, or question stem."""
    references: tuple[str, ...]
    """Reference answers."""
    options: tuple[tuple[str, str], ...]
    """Letter and text of each option."""
    kind: str
    """`label`, `score` or `choice`: what is asked for."""


def read_fields(content: str) -> Fields:
    """Read the message that the template ``fields`` writes."""
    view = json.loads(content)
    item = view["item"]
    options = tuple((option["letter"], option["text"]) for option in item["options"])
    return Fields(
        stimulus=item["stimulus"] or "",
        text=item["text"] or "",
        references=tuple(reference["text"] for reference in item["references"]),
        options=options,
        kind="label" if view["labels"] else "choice" if options else "score",
    )


def all_texts(fields: Fields) -> tuple[str, ...]:
    """Return every text of an item, as it is written."""
    return (fields.text, *fields.references, fields.stimulus, *(text for _, text in fields.options))
