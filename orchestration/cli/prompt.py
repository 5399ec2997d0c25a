"""The command ``prompt``: what a rater would be sent about one item."""

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How the prompt is printed."""

    text = "text"
    json = "json"


def prompt(
    rater: Annotated[str, typer.Option(help="Rater, e.g. 'word-overlap|jaccard'.")],
    item: Annotated[str, typer.Option(help="Item id.")],
    dataset: Annotated[str | None, typer.Option(help="Data set; needed where several have the item.")] = None,
    format: Annotated[Format, typer.Option(help="How to print it.")] = Format.text,
) -> None:
    """Show exactly what would be sent to a rater about an item; nothing is asked."""
    import json
    from dataclasses import asdict

    from orchestration.cli.show import say, waiting
    from orchestration.prompting import shown_prompt
    from orchestration.settings import load_settings

    with waiting("reading registry and banks"):
        shown = shown_prompt(load_settings(), rater, item, dataset)
    if format is Format.json:
        say(json.dumps(asdict(shown), ensure_ascii=False, indent=2))
        return
    say(f"{shown.dataset} / {shown.item_id} for {shown.rater_id}, prompt {shown.prompt_hash[:12]}")
    if shown.plain_prompt is not None:
        say(f"\n[no chat template: one text]\n{shown.plain_prompt}")
    for message in shown.messages if shown.plain_prompt is None else ():
        say(f"\n[{message.role}]\n{message.content}")
    for name, value in (("choices", shown.choices), ("exemplars", shown.exemplar_ids), ("held to", shown.constraint),
                        ("sampling", shown.sampling)):  # fmt: skip
        if value:
            say(f"\n{name}: {json.dumps(value, ensure_ascii=False)}")
