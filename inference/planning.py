"""The plan: every request that the studies want now, and which of them are still to be asked.

Requests are identified by hashes of their components; nothing is rendered here. Does not know engines or the warehouse.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

import polars as pl

from inference.exemplars import ExemplarSource
from inference.identity import canonical_json
from inference.prompts import asks_for, load_template
from inference.raters import Rater, resolve_raters
from inference.registry import Registry, StudySpec
from inference.rows import RequestRow, schema_of
from inference.sources import BankFrames
from inference.sources.recorded import check_items

_text = lru_cache(maxsize=1 << 17)(json.JSONEncoder(ensure_ascii=False).encode)
"""Writes one text as canonical JSON does: one encoder for a million texts, and each item's id once for all raters."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One rater asked about one data set so many times."""

    rater: Rater
    dataset: str
    n_replicates: int
    studies: tuple[str, ...]


def plan_requests(
    registry: Registry, banks: Mapping[str, BankFrames], raters: Mapping[str, Rater] | None = None
) -> pl.DataFrame:
    """Return the plan (RequestRow): raters x test items x replicates of every usable study.

    Parameters
    ----------
    registry
        Usable entries.
    banks
        Bank name -> its reading, for every bank of the registry.
    raters
        The registry's raters where they are known already; reading them anew reads every recorded file.

    Raises
    ------
    SourceError
        A recorded file holds items that its data set lacks.
    """
    parts: list[pl.DataFrame] = []
    for wanted in _wanted(registry, resolve_raters(registry) if raters is None else raters):
        parts.extend(_requests(registry, wanted, banks))
    empty = pl.DataFrame(schema=schema_of(RequestRow))
    return pl.concat([empty, *parts]).select(empty.columns)


def to_ask(plan: pl.DataFrame, landed: pl.DataFrame) -> pl.DataFrame:
    """Return the requests without an attempt that settles them, with the number of the next attempt.

    Parameters
    ----------
    plan
        RequestRow.
    landed
        request_id, n_attempts, is_done (whether an attempt without a retryable error exists).

    Returns
    -------
    pl.DataFrame
        RequestRow and ``attempt``, counted from 1, in the order of the plan.
    """
    known = landed.select("request_id", "n_attempts", "is_done")
    return (
        plan.join(known, on="request_id", how="left", maintain_order="left")
        .filter(~pl.col("is_done").fill_null(False))
        .with_columns(attempt=pl.col("n_attempts").fill_null(0).cast(pl.Int64) + 1)
        .drop("n_attempts", "is_done")
    )


def _wanted(registry: Registry, raters: Mapping[str, Rater]) -> Iterator[_Wanted]:
    """Yield what the studies want together: the most replicates that any of them asks for."""
    asked: dict[tuple[str, str], dict[str, int]] = {}
    for name, study in sorted(registry.studies.items()):
        for dataset in study.datasets:
            for rater_id, rater in raters.items():
                if _takes(study, name, rater) and _covers(rater, dataset, registry):
                    asked.setdefault((rater_id, dataset), {})[name] = study.replicates
    for (rater_id, dataset), studies in sorted(asked.items()):
        yield _Wanted(raters[rater_id], dataset, max(studies.values()), tuple(sorted(studies)))


def _takes(study: StudySpec, name: str, rater: Rater) -> bool:
    if rater.row.task != study.task:
        return False
    is_selected = rater.row.engine in study.engines and any(
        fnmatchcase(rater.row.rater_id, pattern) for pattern in study.raters
    )
    return is_selected or name in rater.studies


def _covers(rater: Rater, dataset: str, registry: Registry) -> bool:
    """Return whether a rater can be asked about a data set: its template has a form for it, or it is in its file."""
    if rater.row.template_version is None:
        return any(spec.dataset == dataset for spec, _ in rater.recorded)
    return asks_for(rater.row.template_version, registry.bank_of(dataset).datasets[dataset].response_kind)


def _requests(registry: Registry, wanted: _Wanted, banks: Mapping[str, BankFrames]) -> Iterator[pl.DataFrame]:
    items = banks[registry.bank_of(wanted.dataset).name].items.filter(pl.col("dataset") == wanted.dataset)
    tested = items.filter(pl.col("split") == "test")
    if wanted.rater.model is None:
        contents = _recorded_contents(wanted, items, tested["item_id"].to_list())
    else:
        contents = _asked_contents(registry, wanted, tested, banks)
    for replicate in range(wanted.n_replicates):
        yield _frame(wanted, replicate, tested["item_id"], contents)


def _asked_contents(
    registry: Registry, wanted: _Wanted, tested: pl.DataFrame, banks: Mapping[str, BankFrames]
) -> list[str]:
    """Hash what is shown: settings, template, labels, item, and all that is seen besides the item."""
    rater = wanted.rater
    assert rater.row.template_version is not None
    dataset = registry.bank_of(wanted.dataset).datasets[wanted.dataset]
    template = load_template(rater.row.template_version, dataset.response_kind)
    labels = list(registry.label_sets[dataset.label_set].labels) if dataset.label_set else []
    before = canonical_json([rater.row.settings_hash, template.hash, labels])[:-1]
    exemplars = ExemplarSource(rater, wanted.dataset, registry, banks)
    is_prediction = rater.row.task.startswith("predict_")
    contents = []
    seen: dict[tuple[str, str | None], str] = {}
    for item_hash, testlet_id, stratum, key in tested.select(
        "item_hash", "testlet_id", "stratum", "answer_key"
    ).iter_rows():
        place = (testlet_id, stratum)
        if place not in seen:
            seen[place] = _text(exemplars.hash_for(*place))
        # a key is part of the content only where it is shown
        shown_key = f",{_text(key)}" if is_prediction else ""
        contents.append(hashlib.sha256(f'{before},"{item_hash}",{seen[place]}{shown_key}]'.encode()).hexdigest())
    return contents


def _recorded_contents(wanted: _Wanted, items: pl.DataFrame, item_ids: Sequence[str]) -> list[str]:
    spec, recorded = next(pair for pair in wanted.rater.recorded if pair[0].dataset == wanted.dataset)
    check_items(spec, (recorded,), set(items["item_id"]))
    head = [wanted.rater.row.settings_hash, spec.collection, spec.table.file.rsplit("/", 1)[-1], recorded.column]
    before = canonical_json(head)[:-1]
    cells = (
        _text(recorded.cells.get(item_id)) + (',"length"' if item_id in recorded.cut_off else "")
        for item_id in item_ids
    )
    return [hashlib.sha256(f"{before},{cell}]".encode()).hexdigest() for cell in cells]


def _frame(wanted: _Wanted, replicate: int, item_ids: pl.Series, contents: list[str]) -> pl.DataFrame:
    """Build one replicate's rows; the ids equal :func:`inference.identity.request_id_of` at a tenth of its cost."""
    rater_id = wanted.rater.row.rater_id
    before = canonical_json([rater_id, wanted.dataset])[:-1]
    request_ids = [
        hashlib.sha256(f'{before},{_text(item_id)},{replicate},"{content}"]'.encode()).hexdigest()
        for item_id, content in zip(item_ids, contents, strict=True)
    ]
    return (
        pl.DataFrame(
            {"request_id": request_ids, "item_id": item_ids, "content_hash": contents},
            schema_overrides={"request_id": pl.String, "content_hash": pl.String},
        )
        .with_columns(
            rater_id=pl.lit(rater_id),
            dataset=pl.lit(wanted.dataset),
            replicate=pl.lit(replicate, pl.Int64),
            studies=pl.lit(",".join(wanted.studies)),
        )
        .select(schema_of(RequestRow).names())
    )
