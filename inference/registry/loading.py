"""The registry as a whole: entries of all folders, references between them checked, what cannot be used named.

What an entry may hold is declared in ``bank_specs``, ``recorded_specs`` and ``model_specs``; ``yaml_files`` reads it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from inference.identity import file_hash, hash_of
from inference.registry.bank_specs import BankSpec, LabelSetSpec
from inference.registry.base import Entry, RegistryError
from inference.registry.model_specs import ConditionSetSpec, ModelSpec, StudySpec
from inference.registry.recorded_specs import RecordedSpec
from inference.registry.yaml_files import nearest, read_entries, revalidated

S = TypeVar("S", BankSpec, RecordedSpec)


@dataclass(frozen=True, slots=True)
class Unavailable:
    """An entry that is well written but cannot be used here and now."""

    kind: Literal["banks", "recorded", "studies"]
    """Kind of entry."""
    name: str
    """Name of the entry."""
    reason: str
    """What is missing."""


@dataclass(frozen=True, slots=True)
class Registry:
    """All entries that can be used here, by name."""

    label_sets: Mapping[str, LabelSetSpec]
    """Label sets."""
    banks: Mapping[str, BankSpec]
    """Item banks."""
    models: Mapping[str, ModelSpec]
    """Models."""
    recorded: Mapping[str, RecordedSpec]
    """Recorded responses."""
    studies: Mapping[str, StudySpec]
    """Studies."""
    unavailable: tuple[Unavailable, ...]
    """Entries that need something that is not here."""
    data: Path | None
    """Folder of outside data."""
    fingerprint: str
    """Hash of every usable entry and of the files of recorded responses."""

    def bank_of(self, dataset: str) -> BankSpec:
        """Return the bank that a data set is made from.

        Raises
        ------
        RegistryError
            No usable bank has the data set; the message names those there are.
        """
        for bank in self.banks.values():
            if dataset in bank.datasets:
                return bank
        known = sorted(name for bank in self.banks.values() for name in bank.datasets)
        absent = [f"bank {entry.name!r} {entry.reason}" for entry in self.unavailable if entry.kind == "banks"]
        raise RegistryError(
            f"unknown data set {dataset!r}{nearest(dataset, known)}; expected one of {known}"
            + (f"; out of reach: {'; '.join(absent)}" if absent else "")
        )

    def path_of(self, entry: BankSpec | RecordedSpec, file: str) -> Path:
        """Return where a file that an entry names lies."""
        root = self.data if entry.root == "data" else entry.yaml.parent
        assert root is not None, "entries that need outside data are not usable without it"
        # an entry names its file as seen from the YAML; whoever reads of it wants to know where it is
        return Path(os.path.normpath(root / file))


def load_registry(folders: Sequence[Path], data: Path | None) -> Registry:
    """Read the entries of all folders.

    Parameters
    ----------
    folders
        Registry folders, the shipped one first; a folder that does not exist holds nothing.
    data
        Folder of outside data, or None; without it entries with ``root: data`` are unavailable, not wrong.

    Raises
    ------
    RegistryError
        A file is not YAML, a key is unknown, a value has the wrong type, a name stands twice, a name that is referred
        to does not exist, or a file that is named is missing.
    """
    all_banks = read_entries(BankSpec, "banks", folders)
    all_studies = read_entries(StudySpec, "studies", folders)
    banks, no_banks = _usable("banks", all_banks, data)
    recorded, no_recorded = _usable("recorded", read_entries(RecordedSpec, "recorded", folders), data)
    out_of_reach = {dataset for missing in no_banks for dataset in all_banks[missing.name].datasets}
    studies, no_studies = _usable_studies(all_studies, out_of_reach)
    registry = Registry(
        label_sets=read_entries(LabelSetSpec, "label_sets", folders),
        banks=banks,
        models=_with_condition_sets(
            read_entries(ModelSpec, "models", folders), read_entries(ConditionSetSpec, "condition_sets", folders)
        ),
        recorded=recorded,
        studies=studies,
        unavailable=(*no_banks, *no_recorded, *no_studies),
        data=data,
        fingerprint="",
    )
    _check_references(registry, all_banks)
    return replace(registry, fingerprint=_fingerprint(registry))


def _check_references(registry: Registry, all_banks: Mapping[str, BankSpec]) -> None:
    """Check that every name an entry refers to exists, and every file that it names."""
    datasets: dict[str, BankSpec] = {}
    for bank in all_banks.values():
        for name, dataset in bank.datasets.items():
            if name in datasets:
                raise RegistryError(f"{bank.yaml}: data set {name!r} is also in {datasets[name].yaml}; rename one")
            datasets[name] = bank
            if dataset.label_set is not None:
                _must_exist(bank, f"datasets.{name}.label_set", dataset.label_set, registry.label_sets)
    for recorded in registry.recorded.values():
        _must_exist(recorded, "dataset", recorded.dataset, datasets)
    for study in registry.studies.values():
        for dataset_name in study.datasets:
            _must_exist(study, "datasets", dataset_name, datasets)
    sources: list[BankSpec | RecordedSpec] = [*registry.banks.values(), *registry.recorded.values()]
    for entry in sources:
        for file in _files(entry):
            if not registry.path_of(entry, file).is_file():
                raise RegistryError(
                    f"{entry.yaml}: {entry.name}: no such file {registry.path_of(entry, file)}; "
                    "correct the name, or put the file there"
                )


def _must_exist(entry: Entry, key: str, name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        raise RegistryError(
            f"{entry.yaml}: {entry.name}.{key}: unknown name {name!r}{nearest(name, known)}; "
            f"expected one of {sorted(known)}"
        )


def _files(entry: BankSpec | RecordedSpec) -> tuple[str, ...]:
    tables = entry.tables if isinstance(entry, BankSpec) else (entry.table,)
    return tuple(dict.fromkeys(table.file for table in tables))


def _usable(
    kind: Literal["banks", "recorded"], entries: Mapping[str, S], data: Path | None
) -> tuple[dict[str, S], list[Unavailable]]:
    """Split entries into usable ones and those that need outside data."""
    usable = {name: entry for name, entry in entries.items() if data is not None or entry.root != "data"}
    reason = "needs THETAHOUSE_DATA, the folder with outside data"
    return usable, [Unavailable(kind, name, reason) for name in sorted(entries.keys() - usable.keys())]


def _with_condition_sets(models: Mapping[str, ModelSpec], sets: Mapping[str, ConditionSetSpec]) -> dict[str, ModelSpec]:
    """Give each model the conditions of the sets that it names."""
    complete = {}
    for name, model in models.items():
        conditions = dict(model.conditions)
        for set_name in model.condition_sets:
            _must_exist(model, "condition_sets", set_name, sets)
            if sets[set_name].task != model.task:
                raise RegistryError(
                    f"{model.yaml}: {name}.condition_sets: {set_name} is for task {sets[set_name].task}, "
                    f"the model's is {model.task}; take another set"
                )
            for condition in sorted(conditions.keys() & sets[set_name].conditions.keys()):
                raise RegistryError(
                    f"{model.yaml}: {name}: condition {condition!r} stands twice; rename one of the two"
                )
            conditions |= sets[set_name].conditions
        if not conditions:
            raise RegistryError(f"{model.yaml}: {name}: no conditions; add conditions or condition_sets")
        complete[name] = revalidated(model, conditions=conditions)
    return complete


def _usable_studies(
    studies: Mapping[str, StudySpec], out_of_reach: set[str]
) -> tuple[dict[str, StudySpec], list[Unavailable]]:
    """Split studies into usable ones and those with a data set that is out of reach."""
    lacking = {name: sorted(out_of_reach & set(study.datasets)) for name, study in sorted(studies.items())}
    missing = [
        Unavailable("studies", name, f"needs THETAHOUSE_DATA for data set {datasets[0]}")
        for name, datasets in lacking.items()
        if datasets
    ]
    return {name: study for name, study in studies.items() if not lacking[name]}, missing


def _fingerprint(registry: Registry) -> str:
    kinds = (registry.label_sets, registry.banks, registry.models, registry.recorded, registry.studies)
    described = [
        {name: entry.model_dump(mode="json", exclude={"yaml"}) for name, entry in sorted(entries.items())}
        for entries in kinds
    ]
    files = {name: file_hash(registry.path_of(spec, spec.table.file)) for name, spec in registry.recorded.items()}
    return hash_of([described, files])
