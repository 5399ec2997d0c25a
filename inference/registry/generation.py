"""What a person may write under ``settings`` and ``runtime`` of a model that generates text.

``settings`` can change what is written, so they are hashed into the rater's identity; ``runtime`` cannot, so it is
recorded only. Nothing that matters has a silent default: weights, chat template, context length, temperature and
``max_tokens`` must be written down. The other defaults are part of the identity and never change.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

GeneratingEngine = Literal["vllm", "openai", "batch"]
GENERATING: tuple[GeneratingEngine, ...] = ("vllm", "openai", "batch")


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


T = TypeVar("T", bound=_Options)


class JinjaTemplate(_Options):
    """A chat template written in the entry itself."""

    jinja: str
    """Text of the template; gets ``messages`` and ``add_generation_prompt``."""


class RegexConstraint(_Options):
    """The whole response matches a regular expression."""

    regex: str


class JsonConstraint(_Options):
    """The whole response is a JSON value of a schema, without needless white space."""

    json_schema: dict[str, Any]


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class Sampling(_Options):
    """How text is drawn; a condition may set any of these for itself."""

    max_tokens: int = Field(ge=1)
    """Longest response, in tokens."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Smallest set of tokens with this probability; 1 takes all."""
    top_k: int = Field(default=0, ge=0)
    """Most likely tokens to draw from; 0 takes all."""
    min_p: float = Field(default=0.0, ge=0, le=1)
    """Least probability, as a share of the likeliest token's."""
    repetition_penalty: float = Field(default=1.0, gt=0)
    """Above 1 makes tokens that were used less likely."""
    stop: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = ()
    """Texts that end the response."""
    seed: int = 0
    """Start of the random numbers; item and replicate are mixed in. Has no effect at temperature 0."""
    structured_outputs: Literal["off", "choice"] | RegexConstraint | JsonConstraint = "off"
    """What the response is held to: nothing, the choices of the item, a pattern, or a schema."""
    option_logprobs: bool = False
    """Whether to store the log-probability of each choice; needs ``structured_outputs: choice``."""


class ServedSettings(Sampling):
    """A model behind a server or in a batch file."""

    weights: str
    """Name of the model as the server knows it."""
    chat_template: Literal["model", "plain"]
    """`model`: the server's own template; `plain`: the texts of the messages, no template."""


class LocalSettings(Sampling):
    """A model that this machine loads."""

    weights: str
    """Hugging Face name, folder, or `package:<distribution>/<file>.gguf` for a model inside a Python package."""
    chat_template: Literal["model", "plain"] | JinjaTemplate
    """`model`: the model's own template (an error where it has none); `plain`: the texts of the messages; or a text."""
    max_model_len: int = Field(ge=1)
    """Context length: tokens of prompt and response together."""
    dtype: Literal["float32", "bfloat16", "float16"]
    """Number format of the weights."""
    quantization: str | None = None
    """Quantisation of the weights, as vLLM names it; none where the weights are not quantised."""


class VllmRuntime(_Options):
    """Where and how fast vLLM runs."""

    tensor_parallel_size: int = Field(default=1, ge=1)
    """GPUs that share the model."""
    gpu_memory_utilization: float = Field(default=0.9, gt=0, le=1)
    """Share of the GPU's memory to take."""
    kv_cache_gib: float | None = Field(default=None, gt=0)
    """Size of the key-value cache; none lets vLLM choose."""
    enable_prefix_caching: bool = True
    """Whether prompts that begin alike share their beginning."""
    block_size: int | None = Field(default=None, ge=1)
    """Tokens per block of the cache; only whole blocks are shared. None lets vLLM choose (128 on CPUs)."""
    max_num_seqs: int = Field(default=256, ge=1)
    """Responses written at the same time."""
    enforce_eager: bool = False
    """Whether to skip compilation: quicker start, slower work."""


class OpenAIRuntime(_Options):
    """Which server, and how hard to press it."""

    base_url: str = Field(pattern=r"^https?://[^@\s]+$")
    """Address up to and including the version, e.g. `http://127.0.0.1:8000/v1`; never with a password in it."""
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable that holds the key; none sends no key."""
    max_in_flight: int = Field(default=32, ge=1)
    """Requests under way at the same time."""
    timeout_seconds: float = Field(default=300.0, gt=0)
    """Longest wait for one answer."""
    max_tries: int = Field(default=6, ge=1)
    """Sendings of one request before it counts as a failed attempt."""
    first_wait_seconds: float = Field(default=1.0, gt=0)
    """Wait before the second sending; doubles with each further one."""


class BatchRuntime(_Options):
    """Who runs a batch file."""

    command: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = ()
    """Command with `{input}` and `{output}` in place of the files; none leaves the file to a scheduler."""


_RUNTIME: dict[GeneratingEngine, type[_Options]] = {
    "vllm": VllmRuntime,
    "openai": OpenAIRuntime,
    "batch": BatchRuntime,
}


def read_settings(
    engine: GeneratingEngine, settings: Mapping[str, Any], of_condition: Mapping[str, Any]
) -> LocalSettings | ServedSettings:
    """Return a model's settings with those of one condition on top.

    Raises
    ------
    ValueError
        A key is unknown or missing, a value is not allowed, or a condition sets what one process cannot change.
    """
    for key in of_condition:
        if key not in Sampling.model_fields:
            raise ValueError(
                f"conditions.settings.{key}: a condition cannot set this; allowed keys: {_keys(Sampling)}. "
                "What concerns the whole model stands under settings"
            )
    shapes: dict[str, type[LocalSettings] | type[ServedSettings]] = {"vllm": LocalSettings}
    read = _read(shapes.get(engine, ServedSettings), "settings", {**settings, **of_condition})
    if read.option_logprobs and read.structured_outputs != "choice":
        raise ValueError(
            "settings.option_logprobs needs structured_outputs: choice; add it, or take option_logprobs out"
        )
    return read


def read_runtime(engine: GeneratingEngine, runtime: Mapping[str, Any]) -> Any:
    """Return the VllmRuntime, OpenAIRuntime or BatchRuntime of a model.

    Raises
    ------
    ValueError
        A key is unknown or missing, or a value is not allowed.
    """
    return _read(_RUNTIME[engine], "runtime", runtime)


def _read(shape: type[T], place: str, values: Mapping[str, Any]) -> T:
    try:
        return shape.model_validate(dict(values))
    except ValidationError as problem:
        # a misspelt key first: the one that is missing follows from it
        errors = sorted(problem.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden")
        first = errors[0]
        where = ".".join([place, *(str(part) for part in first["loc"][:1])])
        if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
            raise ValueError(f"{where}: unknown key; allowed keys: {_keys(shape)}") from problem
        if first["type"] == "missing":
            raise ValueError(f"{where}: this key is missing; add it") from problem
        raise ValueError(f"{where}: {first['msg']}, found {values.get(str(first['loc'][0]))!r}") from problem


def _keys(shape: type[BaseModel]) -> str:
    return ", ".join(sorted(shape.model_fields))
