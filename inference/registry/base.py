"""What all registry entries have in common: strict reading, a name, and the file that holds it."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

EngineKind = Literal["baseline", "recorded", "vllm", "openai", "batch"]
Root = Literal["registry", "data"]


class RegistryError(ValueError):
    """An entry that cannot be used; one line that names file, key, value, what is allowed and the remedy."""


def as_tuple(value: Any) -> Any:
    """Read one text or a list as a tuple."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
"""One text or a list of texts in YAML; always a tuple here."""


class Spec(BaseModel):
    """Part of an entry: unknown keys are errors, types are not guessed, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Entry(Spec):
    """An entry with a name; the reader fills in name, file and folder."""

    name: str
    """Key of the entry in its file."""
    yaml: Path
    """File that holds the entry."""
