"""The rows of the ``raw`` schema, declared once.

Each dataclass is one table of ``raw``. The Parquet schema of the journal, the DuckDB tables and the dbt sources are all
derived from these declarations or checked against them, so a column is added here and nowhere else first.
Holds declarations only: no reading, no SQL, no defaults that hide a missing value.

A field's description is the string below it; :func:`columns` returns name, type and description.
"""

import ast
import inspect
import types
import typing
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Literal

import polars as pl

Task = Literal["grade", "answer", "predict_discrimination", "predict_difficulty"]
Paradigm = Literal["aes", "asag", "mcq"]
ResponseKind = Literal["label", "score", "choice"]
ErrorKind = Literal["retryable", "permanent"]
LoadKind = Literal["bank", "recorded"]


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A bank under one response scheme, as of one load. Key: load_id, dataset."""

    load_id: str
    """Load that brought the row."""
    dataset: str
    """Name of the data set, e.g. `beetle_3way`."""
    bank: str
    """Item bank that supplies texts, golds and human statistics."""
    benchmark: str
    """Larger set that this one is rolled up into (its own name where there is none)."""
    title: str
    """Human-readable name."""
    paradigm: str
    """`aes` essays, `asag` short answers, `mcq` multiple choice."""
    response_kind: str
    """What one response is: `label`, `score` or `choice`."""
    label_set: str | None
    """Label set that answers are drawn from; null unless response_kind is `label`."""
    licence: str
    """Licence of the texts."""
    is_text_public: bool
    """Whether item texts may appear in the public file."""
    is_gold_public: bool
    """Whether golds may appear in the public file."""
    gold_version: str
    """Hash of the golds; changes when a gold is corrected."""
    source: str
    """Where the bank comes from, in words."""


@dataclass(frozen=True, slots=True)
class ItemRow:
    """What gets one response from each rater, as of one load. Key: load_id, dataset, item_id."""

    load_id: str
    """Load that brought the row."""
    dataset: str
    """Data set of the item."""
    item_id: str
    """Text, unique in the data set; never a number."""
    testlet_id: str
    """Stimulus that the item shares with others: question being graded, passage, essay set."""
    testlet_stimulus: str | None
    """Text of the question or passage."""
    testlet_rubric: str | None
    """Scoring rubric of the testlet."""
    stratum: str | None
    """Human population label, e.g. CEFR level or grade."""
    split: str
    """`train`, `validation` or `test`; only test items are asked."""
    test_part: str | None
    """`unseen_answers`, `unseen_questions`, `unseen_domains`; null where the bank does not say."""
    item_text: str | None
    """Student answer or question stem, verbatim."""
    gold_label: str | None
    """Label given by humans."""
    gold_score: float | None
    """Score given by humans, on the item's own scale."""
    answer_key: str | None
    """Key of a multiple-choice item."""
    min_score: float | None
    """Lowest score of the item's scale."""
    max_score: float | None
    """Highest score of the item's scale."""
    item_hash: str
    """Hash of all that a prompt may show of the item (texts, options, references, scale); no gold, no key."""
    scheme_hash: str
    """Hash of what the parser needs: response kind, label set with synonyms, spellings of others, options, range."""
    extra: str | None
    """JSON object with the source's further columns, verbatim."""


@dataclass(frozen=True, slots=True)
class ItemOptionRow:
    """An option of a multiple-choice item. Key: load_id, dataset, item_id, option."""

    load_id: str
    """Load that brought the row."""
    dataset: str
    """Data set of the item."""
    item_id: str
    """Item."""
    option: str
    """Letter of the option."""
    option_text: str
    """Text of the option."""


@dataclass(frozen=True, slots=True)
class ReferenceAnswerRow:
    """A reference answer of a testlet. Key: load_id, dataset, testlet_id, reference_id."""

    load_id: str
    """Load that brought the row."""
    dataset: str
    """Data set of the testlet."""
    testlet_id: str
    """Testlet."""
    reference_id: str
    """Identifier of the reference answer."""
    reference_text: str
    """Text of the reference answer."""
    quality: str | None
    """Quality as the bank states it, e.g. BEST, GOOD, MINIMAL."""


@dataclass(frozen=True, slots=True)
class HumanItemStatisticsRow:
    """Human statistics of an item in one stratum. Key: load_id, dataset, item_id, stratum, source."""

    load_id: str
    """Load that brought the row."""
    dataset: str
    """Data set of the item."""
    item_id: str
    """Item."""
    stratum: str
    """Human population."""
    source: str
    """Where the statistic was published."""
    difficulty: float | None
    """Difficulty on the source's own scale."""
    discrimination: float | None
    """Point-biserial item-total correlation."""
    a: float | None
    """Slope of the item response model."""
    b: float | None
    """Difficulty of the item response model."""
    c: float | None
    """Lower asymptote of the item response model."""
    facility: float | None
    """Mean score divided by the maximum score."""
    n: int | None
    """Number of human responses behind it."""


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A spelling of a label that the parser accepts. Key: label_set, synonym."""

    label_set: str
    """Label set."""
    label: str
    """Canonical label."""
    position: int
    """Order of the label in its set, from 0."""
    synonym: str
    """Accepted spelling in canonical form: lower case, words joined by one blank. Each label is its own synonym."""


@dataclass(frozen=True, slots=True)
class RaterRow:
    """One model under one condition doing one task. Key: rater_id."""

    rater_id: str
    """Readable slug, bound to settings_hash."""
    settings_hash: str
    """Hash of everything that can change what the rater writes."""
    task: str
    """`grade`, `answer`, `predict_discrimination`, `predict_difficulty`."""
    model: str
    """Model of the rater."""
    revision: str | None
    """Resolved revision of the model; null where a recorded source does not say."""
    family: str
    """Family of the model."""
    condition: str
    """Persona or strategy with shots and decoding."""
    persona: str | None
    """Persona shown in the system message; null for none."""
    strategy: str | None
    """Prompting strategy."""
    n_shots: int | None
    """Number of exemplars shown."""
    exemplar_dataset: str | None
    """Data set that exemplars are drawn from."""
    exemplar_seed: int | None
    """Seed of the exemplar draw."""
    temperature: float | None
    """Sampling temperature."""
    option_rotation: int | None
    """By how many places options are rotated."""
    engine: str
    """Engine kind: `baseline`, `recorded`, `vllm`, `openai`, `batch`."""
    template_version: str | None
    """Name and version of the prompt template."""
    settings: str
    """JSON object that settings_hash is made from."""
    is_active: bool
    """Whether the registry names the rater now."""


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One asking that the active studies want now: the plan. Key: request_id."""

    request_id: str
    """SHA-256 of rater_id, dataset, item_id, replicate and content_hash."""
    rater_id: str
    """Rater to ask."""
    dataset: str
    """Data set of the item."""
    item_id: str
    """Item to ask about."""
    replicate: int
    """Asked again on purpose; 0 is the first."""
    content_hash: str
    """Hash of the component hashes: settings, template, item content, exemplar set."""
    studies: str
    """Studies that want it, sorted, joined by a comma."""


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One attempt at a request, verbatim. Append-only. Key: attempt_id."""

    attempt_id: str
    """SHA-256 of request_id and attempt."""
    request_id: str
    """Request that was answered."""
    attempt: int
    """Number of the attempt, from 1."""
    rater_id: str
    """Rater that was asked."""
    dataset: str
    """Data set of the item."""
    item_id: str
    """Item asked about."""
    replicate: int
    """Replicate of the request."""
    settings_hash: str
    """Settings of the rater when it was asked."""
    content_hash: str
    """Content of the request when it was asked."""
    prompt_hash: str | None
    """Hash of the rendered messages; null where nothing was rendered (recorded grades)."""
    text: str | None
    """Response, verbatim; null after an error or where nothing was recorded."""
    finish_reason: str
    """`stop`, `length`, `error`, or `not_recorded` for a blank that the source declares so."""
    error_kind: str | None
    """Null, `retryable` or `permanent`."""
    error_type: str | None
    """Short name of the error, e.g. `too_long`, `timeout`."""
    error_message: str | None
    """Message of the error."""
    prompt_tokens: int | None
    """Tokens of the prompt."""
    completion_tokens: int | None
    """Tokens of the completion."""
    latency_seconds: float | None
    """Seconds from asking to answer, where the engine tells."""
    option_logprobs: str | None
    """JSON object option -> log-probability, where asked for."""
    exemplar_ids: str | None
    """JSON array of the exemplars shown."""
    engine: str
    """Engine kind."""
    engine_version: str
    """Version of the engine."""
    engine_flags: str | None
    """JSON object with flags that are recorded, not hashed: parallelism, memory, prefix caching, place."""
    finished_at: datetime
    """When the attempt ended, UTC."""
    chunk_id: str
    """Journal chunk that brought the row."""


@dataclass(frozen=True, slots=True)
class PromptRow:
    """Rendered messages. Append-only. Key: prompt_hash."""

    prompt_hash: str
    """SHA-256 of messages."""
    messages: str
    """JSON array of {role, content}."""


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A journal file that has landed. Append-only. Key: chunk_id."""

    chunk_id: str
    """Stem of the journal file."""
    path: str
    """Path of the file below the journal folder."""
    n_rows: int
    """Rows that it brought."""
    landed_at: datetime
    """When it landed, UTC."""


@dataclass(frozen=True, slots=True)
class LoadRow:
    """A reading of a bank or a recorded file. Key: load_id."""

    load_id: str
    """Kind, name and fingerprint."""
    kind: str
    """`bank` or `recorded`."""
    name: str
    """Name in the registry."""
    fingerprint: str
    """Hash of the files and of the YAML that describes them."""
    n_rows: int
    """Rows that it brought."""
    loaded_at: datetime
    """When it was read, UTC."""
    is_current: bool
    """Whether the registry and its files say this now."""


RAW_TABLES: dict[str, type] = {
    "datasets": DatasetRow,
    "items": ItemRow,
    "item_options": ItemOptionRow,
    "reference_answers": ReferenceAnswerRow,
    "human_item_statistics": HumanItemStatisticsRow,
    "labels": LabelRow,
    "raters": RaterRow,
    "requests": RequestRow,
    "prompts": PromptRow,
    "responses": ResponseRow,
    "chunks": ChunkRow,
    "loads": LoadRow,
}
"""Every table of ``raw`` and the dataclass that declares it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column."""

    name: str
    """Name."""
    type: type
    """One of str, int, float, bool, datetime."""
    is_nullable: bool
    """Whether null is allowed."""
    description: str
    """One line."""


_POLARS: dict[type, pl.DataType] = {
    str: pl.String(),
    int: pl.Int64(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    datetime: pl.Datetime("us", "UTC"),
}


def _descriptions(row: type) -> dict[str, str]:
    """Read the string that stands below each field."""
    body = ast.parse(inspect.getsource(row)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, doc in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            found[field.target.id] = str(doc.value.value)
    return found


@cache
def columns(row: type) -> tuple[Column, ...]:
    """Return the declared columns of a row dataclass, in order."""
    hints, described = typing.get_type_hints(row), _descriptions(row)
    declared = []
    for field in fields(row):
        hint = hints[field.name]
        is_nullable = isinstance(hint, types.UnionType)
        kind = next(part for part in typing.get_args(hint) if part is not type(None)) if is_nullable else hint
        declared.append(Column(field.name, kind, is_nullable, described[field.name]))
    return tuple(declared)


def schema_of(row: type) -> pl.Schema:
    """Return the polars schema of a row dataclass."""
    return pl.Schema({column.name: _POLARS[column.type] for column in columns(row)})


def frame_of(row: type, records: typing.Iterable[object]) -> pl.DataFrame:
    """Turn instances of a row dataclass into a frame with the declared schema."""
    names = [column.name for column in columns(row)]
    rows = [tuple(getattr(record, name) for name in names) for record in records]
    return pl.DataFrame(rows, schema=schema_of(row), orient="row")
