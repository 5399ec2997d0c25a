"""What a new version of the parser made of the texts that an older one had read.

Reads the published file only. Does not parse anything.
"""

from dataclasses import dataclass

import polars as pl

from orchestration.house import UnknownNameError
from orchestration.reading import query_published
from orchestration.settings import Settings

CHANGES = """
with parsed as (
    -- a changed label set is another scheme: the latest reading of an attempt by a version is what that version says
    select
        attempt_id,
        parser_version,
        arg_max(status, rowid) as status,
        arg_max_null(status_reason, rowid) as reason,
        arg_max_null(answer, rowid) as answer,
        arg_max_null(parser_rule, rowid) as rule
    from core.parsed_answers
    where parser_version in ($1, $2)
    group by attempt_id, parser_version
)
select
    texts.dataset, texts.rater_id, texts.item_id, texts.replicate, texts.attempt,
    older.status as status_before, newer.status as status_after,
    older.answer as answer_before, newer.answer as answer_after,
    older.rule as rule_before, newer.rule as rule_after,
    newer.reason as reason_after, texts.text
from parsed as older
inner join parsed as newer using (attempt_id)
inner join raw.texts as texts using (attempt_id)
where
    older.parser_version = $1 and newer.parser_version = $2
    and (older.status, older.answer) is distinct from (newer.status, newer.answer)
order by all
"""


@dataclass(frozen=True, slots=True)
class ParserChanges:
    """Answers that differ between two versions of the parser."""

    old: str
    """Version before."""
    new: str
    """Version after."""
    n_both: int
    """Attempts that both versions have read."""
    changed: pl.DataFrame
    """One row per attempt whose status or answer differs, with its text."""


def parser_versions(settings: Settings) -> list[str]:
    """Return the versions that have read what has landed, in the order in which they first did."""
    found = query_published(
        settings, "select parser_version from core.parsed_answers group by parser_version order by min(rowid)"
    )
    return [str(version) for version in found["parser_version"]]


def parser_changes(settings: Settings, old: str | None = None, new: str | None = None) -> ParserChanges:
    """Compare two versions of the parser on the texts that both have read.

    Parameters
    ----------
    settings
        Installation.
    old, new
        Versions; the last but one and the last unless named.

    Raises
    ------
    NotPublishedError
        If nothing has been published yet.
    UnknownNameError
        If a version is named that has read nothing, or if there is only one.
    """
    known = parser_versions(settings)
    for version in (old, new):
        if version is not None and version not in known:
            raise UnknownNameError(f"unknown parser version {version!r}; expected one of {known}")
    new = new or next((version for version in reversed(known) if version != old), None)
    old = old or next((version for version in reversed(known) if version != new), None)
    if old is None or new is None:
        raise UnknownNameError(
            f"only parser version {known[0] if known else 'none'} has read what has landed: there is nothing "
            "to compare until the parser changes and a run has parsed again"
        )
    both = query_published(
        settings,
        "select count(*) from (select attempt_id from core.parsed_answers where parser_version = ? "
        "intersect select attempt_id from core.parsed_answers where parser_version = ?)",
        [old, new],
    )
    changed = query_published(settings, CHANGES, [old, new])
    return ParserChanges(old, new, int(both.item()), changed)
