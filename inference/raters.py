"""Raters: one model under one condition doing one task, with the settings that bind its name.

Turns registry entries into raters. Does not know items, prompts' wording or engines.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

import polars as pl

from inference.identity import canonical_json, encode_id, hash_of
from inference.registry import ConditionSpec, ModelSpec, RecordedSpec, Registry
from inference.registry.recorded_specs import RaterFacts
from inference.rows import RaterRow, frame_of
from inference.sources.recorded import RecordedRater, read_recorded


class RaterConflictError(ValueError):
    """A rater's name is bound to other settings; one line that names the rater and the remedy."""


@dataclass(frozen=True, slots=True)
class Rater:
    """A rater and where it comes from."""

    row: RaterRow
    """Its row in ``raw.raters``."""
    model: ModelSpec | None
    """Model that is asked; null for recorded responses."""
    condition: ConditionSpec | None
    """How the model is asked; null for recorded responses."""
    recorded: tuple[tuple[RecordedSpec, RecordedRater], ...] = ()
    """Files that hold its responses, at most one per data set."""

    @property
    def studies(self) -> tuple[str, ...]:
        """Studies that it joins by its own entry."""
        if self.model is not None:
            return self.model.studies
        return tuple(study for spec, _ in self.recorded for study in spec.studies)


def resolve_raters(registry: Registry) -> Mapping[str, Rater]:
    """Return every rater that the registry names, by id; reads every recorded file, which takes its time.

    Raises
    ------
    RaterConflictError
        Two entries give one rater id different settings, or two files hold its responses to one data set.
    """
    raters: dict[str, Rater] = {}
    for model in registry.models.values():
        for name, condition in model.conditions.items():
            _add(raters, _of_model(model, name, condition), str(model.yaml))
    for spec in registry.recorded.values():
        for recorded in read_recorded(spec, registry):
            _add(raters, _of_recorded(spec, recorded), str(spec.yaml))
    return MappingProxyType(raters)


def check_newcomers(
    raters: Mapping[str, Rater], spec: RecordedSpec, recorded: Iterable[RecordedRater], origin: str
) -> None:
    """Stop where the raters of an entry that is not registered yet do not agree with those that are.

    Parameters
    ----------
    raters
        Raters of the registry, by id.
    spec, recorded
        Entry, and the raters that its file holds.
    origin
        What the message says the newcomers come from.

    Raises
    ------
    RaterConflictError
        As of :func:`resolve_raters`; the message names the origin first, then the entry that is registered.
    """
    known = dict(raters)
    for rater in recorded:
        _add(known, _of_recorded(spec, rater), origin)


def rater_rows(raters: Mapping[str, Rater]) -> pl.DataFrame:
    """Return the rows of raters (RaterRow, all active)."""
    return frame_of(RaterRow, (rater.row for rater in raters.values()))


def check_bound(raters: pl.DataFrame, bound: Mapping[str, str]) -> None:
    """Stop where a rater id was bound to other settings before.

    Parameters
    ----------
    raters
        RaterRow of the registry.
    bound
        Rater id -> settings hash, as stored.

    Raises
    ------
    RaterConflictError
        A rater's settings have changed under the same name.
    """
    for rater_id, settings_hash in raters.select("rater_id", "settings_hash").iter_rows():
        if bound.get(rater_id, settings_hash) != settings_hash:
            raise RaterConflictError(
                f"rater {rater_id!r} is bound to other settings ({bound[rater_id][:8]}, now {settings_hash[:8]}); "
                "give the changed condition a new name, or use --supersede to give up what the old settings wrote"
            )


def _add(raters: dict[str, Rater], rater: Rater, origin: str) -> None:
    known = raters.get(rater.row.rater_id)
    if known is None:
        raters[rater.row.rater_id] = rater
        return
    both = (*known.recorded, *rater.recorded)
    datasets = [spec.dataset for spec, _ in both]
    if known.row != rater.row or not known.recorded or len(set(datasets)) < len(datasets):
        first = known.model or known.recorded[0][0]
        raise RaterConflictError(
            f"{origin}: rater {rater.row.rater_id!r} is already described in {first.yaml}, with other settings, facts "
            "or the same data set; rename one of the two"
        )
    raters[rater.row.rater_id] = replace(known, recorded=both)


def _of_model(model: ModelSpec, name: str, condition: ConditionSpec) -> Rater:
    template = condition.template or model.template
    # a default is left out, so that a setting that is added later does not change the raters that lack it
    settings = {
        "engine": model.engine,
        "model": model.name,
        "revision": model.revision,
        "task": model.task,
        "template": template,
        "settings": model.settings,
        "condition": condition.model_dump(mode="json", exclude={"template"}, exclude_defaults=True),
    }
    row = _row(settings, model.task, model.name, name, model.family)
    return Rater(
        replace(
            row,
            revision=model.revision,
            persona=condition.persona,
            strategy=condition.strategy,
            n_shots=condition.n_shots,
            exemplar_dataset=condition.exemplar_dataset,
            exemplar_seed=condition.exemplar_seed,
            temperature=condition.temperature,
            option_rotation=condition.option_rotation,
            template_version=template,
        ),
        model,
        condition,
    )


def _of_recorded(spec: RecordedSpec, recorded: RecordedRater) -> Rater:
    settings = {
        "engine": "recorded",
        "collection": spec.collection,
        "model": recorded.model,
        "condition": recorded.condition,
        "task": spec.task,
    }
    facts: dict[str, Any] = {"strategy": recorded.condition}
    for pattern, more in spec.facts.items():
        if fnmatchcase(recorded.rater_id, pattern):
            facts |= more.model_dump(exclude_unset=True)
    family = spec.families.get(recorded.model, recorded.model)
    row = _row(settings, spec.task, recorded.model, recorded.condition, family)
    return Rater(replace(row, **RaterFacts(**facts).model_dump()), None, None, ((spec, recorded),))


def _row(settings: dict[str, Any], task: str, model: str, condition: str, family: str) -> RaterRow:
    return RaterRow(
        rater_id=encode_id([model, condition]),
        settings_hash=hash_of(settings),
        task=task,
        model=model,
        revision=None,
        family=family,
        condition=condition,
        persona=None,
        strategy=None,
        n_shots=None,
        exemplar_dataset=None,
        exemplar_seed=None,
        temperature=None,
        option_rotation=None,
        engine=settings["engine"],
        template_version=None,
        settings=canonical_json(settings),
        is_active=True,
    )
