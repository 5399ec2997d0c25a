"""Reading of YAML entries: unknown keys, wrong types and repeated names become one line that says what to do.

Knows YAML and validation; knows nothing of what entries mean.
"""

import difflib
import typing
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from inference.registry.base import Entry, RegistryError
from inference.registry.yaml_faults import in_plain_words, place_of

E = TypeVar("E", bound=Entry)


def read_entries(shape: type[E], kind: str, folders: Sequence[Path]) -> dict[str, E]:
    """Read all entries of a kind: from ``<kind>.yml`` and from every file of the folder ``<kind>/``.

    Raises
    ------
    RegistryError
        A file is not YAML, a key is unknown or missing, a value has the wrong type, or a name stands twice.
    """
    entries: dict[str, E] = {}
    for path in _yaml_files(kind, folders):
        for name, body in _read_yaml(path).items():
            if name in entries:
                raise RegistryError(
                    f"{path}: {kind} entry {name!r} is also in {entries[name].yaml}; rename one of the two"
                )
            entries[name] = _validated(shape, path, name, body)
    return entries


def _yaml_files(kind: str, folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if (folder / f"{kind}.yml").is_file():
            yield folder / f"{kind}.yml"
        yield from sorted((folder / kind).glob("*.yml"))


class _Loader(yaml.CSafeLoader):
    """Safe YAML in which keys are text and stand once; `007:` stays `007`, and no key is lost in silence."""

    def mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        """Build a mapping from its nodes."""
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, "a key is not text", key_node.start_mark)
            if key in result:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            result[key] = self.construct_object(value_node, deep=True)
        return result


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _Loader.mapping)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise RegistryError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from problem
    except yaml.MarkedYAMLError as problem:
        raise RegistryError(f"{path}{place_of(problem)}: not valid YAML: {in_plain_words(problem)}") from problem
    except yaml.reader.ReaderError as problem:
        raise RegistryError(f"{path}: not valid YAML: a control character; take it out") from problem
    except ValueError as problem:  # a date or number that there is not, such as 2024-02-30
        raise RegistryError(f"{path}: not valid YAML: {problem}; put text in quotes") from problem
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise RegistryError(f"{path}: expected entries as 'name:' with keys below, found {type(content).__name__}")
    return content


def revalidated(entry: E, **changes: Any) -> E:
    """Return an entry with some fields changed, checked again as a whole."""
    body = {**entry.model_dump(exclude={"name", "yaml"}, exclude_unset=True), **changes}
    return _validated(type(entry), entry.yaml, entry.name, body)


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
        return f"{place}: unknown key {key!r}{nearest(key, allowed)}; allowed keys: {', '.join(sorted(allowed))}"
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


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one is nearest to; None where none is near."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)), None)


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that a misspelt one is nearest to; nothing where none is near."""
    close = closest(name, known)
    return f" (did you mean {close!r}?)" if close else ""
