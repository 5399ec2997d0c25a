"""Reading of registry folders: YAML in, validated entries out, or one line that says what is wrong.

Knows files, names and references between entries. What an entry may hold is declared in ``specs``.
"""

import difflib
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from inference.identity import file_hash, hash_of
from inference.registry.specs import BankSpec, Entry, LabelSetSpec, ModelSpec, RecordedSpec, StudySpec

KINDS: dict[str, type[Entry]] = {
    "label_sets": LabelSetSpec,
    "banks": BankSpec,
    "models": ModelSpec,
    "recorded": RecordedSpec,
    "studies": StudySpec,
}
"""Kind of entry -> its shape. A kind's entries stand in ``<kind>.yml`` or in any file of the folder ``<kind>/``."""

E = TypeVar("E", bound=Entry)
S = TypeVar("S", BankSpec, RecordedSpec)


class RegistryError(ValueError):
    """An entry that cannot be used; one line that names file, key, value, what is allowed and the remedy."""


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
        raise RegistryError(f"unknown dataset {dataset!r}; expected one of {known}")

    def path_of(self, entry: BankSpec | RecordedSpec, file: str) -> Path:
        """Return where a file that an entry names lies."""
        root = self.data if entry.root == "data" else entry.yaml.parent
        assert root is not None, "entries that need outside data are not usable without it"
        return root / file


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
    found = {kind: _entries(kind, folders) for kind in KINDS}
    banks, no_banks = _usable(typing.cast("dict[str, BankSpec]", found["banks"]), data)
    recorded, no_recorded = _usable(typing.cast("dict[str, RecordedSpec]", found["recorded"]), data)
    out_of_reach = {ds for name in no_banks for ds in typing.cast(BankSpec, found["banks"][name]).datasets}
    studies = typing.cast("dict[str, StudySpec]", found["studies"])
    no_studies = {
        name: f"needs THETAHOUSE_DATA for data set {sorted(out_of_reach & set(study.datasets))[0]}"
        for name, study in studies.items()
        if out_of_reach & set(study.datasets)
    }
    missing = {"banks": no_banks, "recorded": no_recorded, "studies": no_studies}
    registry = Registry(
        label_sets=typing.cast("dict[str, LabelSetSpec]", found["label_sets"]),
        banks=banks,
        models=typing.cast("dict[str, ModelSpec]", found["models"]),
        recorded=recorded,
        studies={name: study for name, study in studies.items() if name not in no_studies},
        unavailable=tuple(
            Unavailable(typing.cast(Any, kind), name, reason)
            for kind, reasons in missing.items()
            for name, reason in sorted(reasons.items())
        ),
        data=data,
        fingerprint="",
    )
    check_references(registry, typing.cast("dict[str, BankSpec]", found["banks"]))
    return _with_fingerprint(registry)


def check_references(registry: Registry, all_banks: Mapping[str, BankSpec]) -> None:
    """Check that every name an entry refers to exists, and every file that it names.

    Raises
    ------
    RegistryError
        Something that an entry names does not exist.
    """
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
            f"{entry.yaml}: {entry.name}.{key}: unknown name {name!r}{_nearest(name, known)}; "
            f"expected one of {sorted(known)}"
        )


def _files(entry: BankSpec | RecordedSpec) -> tuple[str, ...]:
    tables = entry.tables if isinstance(entry, BankSpec) else (entry.table,)
    return tuple(dict.fromkeys(table.file for table in tables))


def _usable(entries: Mapping[str, S], data: Path | None) -> tuple[dict[str, S], dict[str, str]]:
    """Split entries into usable ones and, with a reason each, those that need outside data."""
    if data is not None:
        return dict(entries), {}
    reasons = {
        name: "needs THETAHOUSE_DATA, the folder with outside data" for name, e in entries.items() if e.root == "data"
    }
    return {name: entry for name, entry in entries.items() if name not in reasons}, reasons


def _with_fingerprint(registry: Registry) -> Registry:
    kinds = {kind: getattr(registry, kind) for kind in KINDS}
    described = {
        kind: {name: entry.model_dump(mode="json", exclude={"yaml"}) for name, entry in sorted(entries.items())}
        for kind, entries in kinds.items()
    }
    files = {name: file_hash(registry.path_of(spec, spec.table.file)) for name, spec in registry.recorded.items()}
    return replace(registry, fingerprint=hash_of([described, files]))


def _entries(kind: str, folders: Sequence[Path]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for path in _yaml_files(kind, folders):
        for name, body in _read_yaml(path).items():
            if name in entries:
                raise RegistryError(
                    f"{path}: {kind} entry {name!r} is also in {entries[name].yaml}; rename one of the two"
                )
            entries[name] = _validated(KINDS[kind], path, name, body)
    return entries


def _yaml_files(kind: str, folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if (folder / f"{kind}.yml").is_file():
            yield folder / f"{kind}.yml"
        yield from sorted((folder / kind).glob("*.yml"))


class _Loader(yaml.SafeLoader):
    """Safe YAML in which keys are text and stand once; `007:` stays `007`, and no key is lost in silence."""

    def mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        """Build a mapping from its nodes."""
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if key in result:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            result[key] = self.construct_object(value_node, deep=True)
        return result


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _Loader.mapping)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise RegistryError(f"{path}: not valid YAML: {' '.join(str(problem).split())}; correct the file") from problem
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise RegistryError(f"{path}: expected entries as 'name:' with keys below, found {type(content).__name__}")
    return content


def _validated(shape: type[E], path: Path, name: str, body: Any) -> E:
    if not isinstance(body, dict):
        raise RegistryError(f"{path}: {name}: expected keys below the name, found {body!r}")
    for reserved in ("name", "yaml"):
        if reserved in body:
            raise RegistryError(f"{path}: {name}.{reserved}: unknown key; the entry's own key is its name")
    try:
        return shape.model_validate({**body, "name": name, "yaml": path})
    except ValidationError as problem:
        raise RegistryError(f"{path}: {name}{_explain(shape, problem)}") from problem


def _explain(shape: type[BaseModel], problem: ValidationError) -> str:
    """Put the first validation error into one line."""
    # an unknown key first: where a key is misspelt the right one is missing too
    first = min(problem.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden")
    place = "".join(f".{part}" for part in first["loc"])
    if first["type"] == "extra_forbidden":
        allowed = [key for key in _fields_at(shape, first["loc"][:-1]) if key not in {"name", "yaml"}]
        key = str(first["loc"][-1])
        return f"{place}: unknown key {key!r}{_nearest(key, allowed)}; allowed keys: {', '.join(sorted(allowed))}"
    if first["type"] == "missing":
        return f"{place}: this key is missing; add it"
    message = first["msg"].removeprefix("Value error, ")
    hint = "; put text in quotes" if first["type"] == "string_type" else ""
    shown = "" if first["type"] == "value_error" else f", found {first['input']!r}"
    return f"{place}: {message}{shown}{hint}"


def _fields_at(shape: Any, place: tuple[int | str, ...]) -> list[str]:
    """List the keys that are allowed at a place inside an entry."""
    for part in place:
        if isinstance(shape, type) and issubclass(shape, BaseModel):
            shape = shape.model_fields[str(part)].annotation
        else:
            shape = typing.get_args(shape)[-1]
        choices = [arm for arm in typing.get_args(shape) if isinstance(arm, type) and issubclass(arm, BaseModel)]
        if choices and typing.get_origin(shape) is not dict:
            shape = choices[0]
    return list(shape.model_fields) if isinstance(shape, type) and issubclass(shape, BaseModel) else []


def _nearest(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""
