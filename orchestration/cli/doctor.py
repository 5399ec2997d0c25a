"""The command ``doctor``: whether the installation is well, and what to do where it is not."""

import sys
from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How ``doctor`` prints."""

    text = "text"
    json = "json"


def doctor(format: Annotated[Format, typer.Option(help="How to print the findings.")] = Format.text) -> None:
    """Examine environment, locks, files and freshness; exit code 1 where something is wrong."""
    import json
    from dataclasses import asdict

    from orchestration.cli import show
    from orchestration.doctor import examine, is_well
    from orchestration.settings import load_settings

    with show.waiting("looking at the installation"):
        findings = examine(load_settings())
    if format is Format.json:
        show.say(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            show.say(f"{finding.level:<6}{finding.check}: {finding.message}")
            if finding.remedy is not None:
                show.say(f"      remedy: {finding.remedy}")
    sys.exit(0 if is_well(findings) else 1)
