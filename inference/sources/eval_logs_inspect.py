"""Logs of inspect_ai: ``.eval`` (a zip of JSON documents) and ``.json``, log format 2.

The members of an ``.eval`` file are compressed with deflate by older versions and with zstandard by newer ones; the
standard library of Python 3.11 knows the first, pyarrow the second.
"""

import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inference.sources.eval_logs import EvalLog, LogFields, LoggedResponse, item_id_of, named_condition
from inference.sources.tables import SourceError

FORMAT = 2
ZSTANDARD = 93
"""Number of the compression method in a zip archive."""
_LOCAL_HEADER = struct.Struct("<26xHH")
"""Fixed part of a zip member's own header: lengths of its name and of its extra field."""
_CUT_OFF = {"max_tokens", "model_length"}


def read_inspect_log(path: Path, fields: LogFields) -> EvalLog:
    """Read a log; the samples of the first epoch. A file of another form stops at whatever is not there.

    Raises
    ------
    SourceError
        If the log is not of format 2, or an item has no id.
    """
    header, samples = _read_archive(path) if path.suffix == ".eval" else _read_json(path)
    described = header["eval"]
    model, task = str(described["model"]), str(described["task"])
    if header.get("version") != FORMAT:
        raise SourceError(
            f"{path}: log format {header.get('version')!r}; expected {FORMAT}: convert it with inspect_ai"
        )
    arguments = described.get("task_args_passed", described.get("task_args")) or {}
    first = [sample for sample in samples if sample.get("epoch", 1) == 1]
    answered = [
        LoggedResponse(item_id_of(sample, fields.item_id or "id", path), text, finish_reason)
        for sample, (text, finish_reason) in ((s, _response(s)) for s in first)
        if text is not None
    ]
    return EvalLog(
        path,
        "inspect_ai",
        fields.model or model,
        fields.condition or named_condition(task, arguments),
        _facts(described, task),
        tuple(answered),
        n_failed=len(first) - len(answered),
        n_repeated=len(samples) - len(first),
    )


def _facts(described: Mapping[str, Any], task: str) -> dict[str, Any]:
    temperature = (described.get("model_generate_config") or {}).get("temperature")
    return {"strategy": task} | ({} if temperature is None else {"temperature": float(temperature)})


def _response(sample: Mapping[str, Any]) -> tuple[str | None, Any]:
    """Return text and finish reason of a sample; no text where it failed or was never answered."""
    choices = (sample.get("output") or {}).get("choices") or []
    if sample.get("error") is not None or not choices:
        return None, "stop"
    content = choices[0]["message"]["content"]
    parts = [content] if isinstance(content, str) else [p["text"] for p in content if p.get("type") == "text"]
    return "".join(parts), "length" if choices[0].get("stop_reason") in _CUT_OFF else "stop"


def _read_json(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    document = json.loads(path.read_text(encoding="utf-8"))
    return document, document.get("samples") or []


def _read_archive(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read header and samples; a run that was killed has left no header, and its beginning stands in for it."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        header = json.loads(_member(archive, "header.json" if "header.json" in names else "_journal/start.json"))
        return header, list(_samples(archive, names))


def _samples(archive: zipfile.ZipFile, names: list[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        if name.startswith("samples/") and name.endswith(".json"):
            yield json.loads(_member(archive, name))


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member, whichever method it is compressed with."""
    info = archive.getinfo(name)
    if info.compress_type != ZSTANDARD:
        return archive.read(name)
    import pyarrow

    assert archive.fp is not None
    archive.fp.seek(info.header_offset)
    name_length, extra_length = _LOCAL_HEADER.unpack(archive.fp.read(_LOCAL_HEADER.size))
    archive.fp.seek(name_length + extra_length, 1)
    packed = archive.fp.read(info.compress_size)
    return bytes(pyarrow.Codec("zstd").decompress(packed, decompressed_size=info.file_size, asbytes=True))
