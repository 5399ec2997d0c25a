"""Templates become messages, strictly: a name that a template does not get is an error.

Holds the machinery only; the wording lies in ``templates/``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateNotFound, UndefinedError, meta

from inference.identity import canonical_json, hash_of
from inference.prompts.views import PromptView

TEMPLATES = Path(__file__).parent / "templates"
ROLES = ("system", "user")


class TemplateError(ValueError):
    """A template that does not exist or does not fit; one line that names it and what there is."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A template file, ready to render."""

    name: str
    """`name@version`."""
    file: str
    """Path below the template folder."""
    hash: str
    """Hash of its text and of every text that it includes."""
    compiled: Template
    """Compiled form."""


@cache
def load_template(name: str, response_kind: str) -> PromptTemplate:
    """Find a template by ``name@version`` and the kind of response it asks for.

    Raises
    ------
    TemplateError
        There is no such template; the message names those there are.
    """
    for stem in (response_kind, "any"):
        file = f"{name.replace('@', '/')}/{stem}.jinja"
        if (TEMPLATES / file).is_file():
            return PromptTemplate(name, file, _hash(file), _environment().get_template(file))
    known = sorted(f"{path.parent.parent.name}@{path.parent.name}" for path in TEMPLATES.glob("*/*/*.jinja"))
    raise TemplateError(f"no template {name!r} for {response_kind} responses; expected one of {sorted(set(known))}")


def asks_for(name: str, response_kind: str) -> bool:
    """Return whether a template has a form for a kind of response.

    Raises
    ------
    TemplateError
        There is no such template at all.
    """
    folder = TEMPLATES / name.replace("@", "/")
    if not any(folder.glob("*.jinja")):
        load_template(name, response_kind)
    return (folder / f"{response_kind}.jinja").is_file() or (folder / "any.jinja").is_file()


def render(template: PromptTemplate, view: PromptView) -> tuple[Message, ...]:
    """Fill a template's blocks; an empty block is no message.

    Raises
    ------
    TemplateError
        The template uses something that the view does not have.
    """
    context = template.compiled.new_context({field.name: getattr(view, field.name) for field in fields(view)})
    messages = []
    for role in ROLES:
        if role in template.compiled.blocks:
            try:
                text = "".join(template.compiled.blocks[role](context))
            except UndefinedError as problem:
                raise TemplateError(f"template {template.name} ({template.file}): {problem}") from problem
            messages.append(Message(role, text.strip()))
    return tuple(message for message in messages if message.content)


def messages_json(messages: Sequence[Message]) -> str:
    """Return messages as the JSON that is stored and hashed."""
    return canonical_json([asdict(message) for message in messages])


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        autoescape=False,
    )
    environment.globals["refuse"] = _refuse
    environment.filters["as_json"] = _as_json
    environment.filters["number"] = _number
    return environment


def _number(value: Any) -> str:
    """Write a score without a needless `.0`."""
    return f"{value:g}"


def _refuse(reason: str) -> None:
    """Let a template stop where it is given something that it has no words for."""
    raise TemplateError(reason)


def _as_json(value: Any) -> str:
    return canonical_json(asdict(value) if is_dataclass(value) and not isinstance(value, type) else value)


def _hash(file: str) -> str:
    """Hash a template together with everything that it extends or includes."""
    environment, pending, texts = _environment(), [file], {}
    while pending:
        name = pending.pop()
        if name in texts:
            continue
        path = TEMPLATES / name
        if not path.is_file():
            raise TemplateNotFound(name)
        texts[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        found = meta.find_referenced_templates(environment.parse(path.read_text(encoding="utf-8")))
        pending.extend(reference for reference in found if reference is not None)
    return hash_of(sorted(texts.values()))
