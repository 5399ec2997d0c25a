"""What makes two things the same: hashes and composite ids.

Every hash and every composite id of the project is made here, in one way. Knows no models and no prompts.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

SEPARATOR = "|"


def encode_id(parts: Sequence[str]) -> str:
    """Join parts into one id; reversible by :func:`decode_id`.

    Only the separator and the escape sign are escaped, so ordinary ids stay as they are.
    """
    return SEPARATOR.join(part.replace("%", "%25").replace(SEPARATOR, "%7C") for part in parts)


def decode_id(composite: str) -> tuple[str, ...]:
    """Split what :func:`encode_id` joined."""
    return tuple(part.replace("%7C", SEPARATOR).replace("%25", "%") for part in composite.split(SEPARATOR))


def encode_file_name(name: str) -> str:
    """Turn any id into a file name or partition key that every system accepts; reversible and readable."""
    return quote(name, safe="-_.").replace("~", "%7E")


def decode_file_name(encoded: str) -> str:
    """Undo :func:`encode_file_name`."""
    return unquote(encoded)


def canonical_json(value: Any) -> str:
    """Write JSON in one way only: keys sorted, no white space, no NaN, text as it is."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def hash_of(value: Any) -> str:
    """Return the SHA-256 of a JSON value's canonical form, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def request_id_of(rater_id: str, dataset: str, item_id: str, replicate: int, content_hash: str) -> str:
    """Return the identity of one asking."""
    return hash_of([rater_id, dataset, item_id, replicate, content_hash])


def attempt_id_of(request_id: str, attempt: int) -> str:
    """Return the identity of one answer produced for a request; attempts count from 1."""
    # the canonical JSON of the two, written directly: this runs once per response
    return hashlib.sha256(f"[{canonical_json(request_id)},{attempt}]".encode()).hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
