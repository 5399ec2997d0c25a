"""Adding a model writes one entry that the registry accepts, or nothing; and says what would be asked."""

from collections.abc import Callable

import pytest
import yaml
from typer.testing import CliRunner, Result

from orchestration.cli import app
from orchestration.new_models import NewModel, entry_of
from orchestration.settings import Settings

BASE = ("--revision", "abc123", "--family", "tiny", "--task", "grade")
VLLM = (*BASE, "--engine", "vllm", "--model", "org/tiny-1")


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Callable[..., Result]:
    """Return a function that gives arguments to ``thetahouse add-model``."""
    monkeypatch.setenv("THETAHOUSE_HOME", str(settings.home))
    monkeypatch.setenv("THETAHOUSE_REGISTRY", str(settings.registries[0]))
    monkeypatch.delenv("THETAHOUSE_DATA", raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["add-model", *arguments])


def entries(settings: Settings) -> list[str]:
    return [file.name for file in settings.own_registry.rglob("*.yml")]


def test_an_entry_says_everything_that_can_change_a_response(settings: Settings, add: Callable[..., Result]) -> None:
    done = add("tiny-1", *VLLM, "--study", "grading", "--setting", "max_model_len=1024", "--setting", "top_p=0.9")
    assert done.exit_code == 0, (done.output, done.exception)
    entry = yaml.safe_load((settings.own_registry / "models" / "tiny-1.yml").read_text())["tiny-1"]
    assert entry == {
        "title": "org/tiny-1", "family": "tiny", "engine": "vllm", "task": "grade", "revision": "abc123",
        "template": "grade@1",
        "settings": {
            "weights": "org/tiny-1", "chat_template": "model", "max_model_len": 1024, "dtype": "bfloat16",
            "max_tokens": 256, "top_p": 0.9,
        },
        "conditions": {"default": {"temperature": 0.0}}, "studies": ["grading"],
    }  # fmt: skip
    assert "tiny-1|default" in done.output
    assert " 8" in done.output  # the items of the one data set


def test_a_model_that_no_study_takes_is_told_which_it_could_join(add: Callable[..., Result]) -> None:
    done = add("tiny-1", *VLLM)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "no study asks it yet: add studies to the file, e.g. ['grading']" in done.output


def test_a_server_gets_an_address_and_a_baseline_needs_no_weights() -> None:
    served = entry_of(NewModel("m", "openai", "m-large", "2026-01", "m", "answer", runtime={"base_url": "http://h/v1"}))
    assert served["runtime"] == {"base_url": "http://h/v1"}
    assert served["template"] == "answer@1"
    local = entry_of(NewModel("o", "baseline", None, "1", "lexical", "grade", settings={"head": "thresholds"}))
    assert local["settings"] == {"head": "thresholds"}
    assert local["template"] == "fields@1"
    assert "runtime" not in local


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tiny-1", *VLLM, "--study", "grding"), "unknown study 'grding'; expected one of ['grading']"),
        (("tiny-1", *VLLM, "--template", "grad@1", "--study", "grading"), "no template 'grad@1'"),
        (("tiny-1", *VLLM, "--setting", "max_tokns=5"), "max_tokns"),
        (("tiny-1", *VLLM, "--setting", "max_tokens=0"), "max_tokens"),
        (
            ("tiny-1", *BASE, "--engine", "baseline"),
            "conditions.default, with the settings of the model: no head; expected one of",
        ),
        (("tiny-1", *BASE, "--engine", "baseline", "--setting", "head=thresholds"), "needs measures, or a vector"),
        (("tiny-1", *VLLM, "--temperature", "-1"), "Input should be greater than or equal to 0, found -1.0"),
        (("tiny-1", *VLLM, "--temperature", "inf"), "temperature: Input should be a finite number, found inf"),
        (("tiny-1", *VLLM, "--revision", "main"), "revision 'main' moves"),
        (("m", *VLLM, "--condition", "a", "--study", "grading"), "'m|a' is already described"),
        (("tiny-1", *VLLM, "--setting", "novalue"), "expected key=value"),
        (("tiny-1", *BASE, "--engine", "vllm"), "--model goes with engine vllm or openai"),
        (("tiny-1", *BASE[:4], "--task", "predict_difficulty", *VLLM[6:]), "no template goes with task"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    settings: Settings, add: Callable[..., Result], arguments: tuple[str, ...], message: str
) -> None:
    done = add(*arguments)
    assert done.exit_code != 0
    assert message in " ".join(f"{done.output} {done.exception}".split())
    assert entries(settings) == []


def test_a_name_that_is_taken_is_refused(settings: Settings, add: Callable[..., Result]) -> None:
    assert add("tiny-1", *VLLM).exit_code == 0
    before = (settings.own_registry / "models" / "tiny-1.yml").read_text()
    assert "is in" in str(add("tiny-1", *VLLM, "--temperature", "1").exception)
    assert (settings.own_registry / "models" / "tiny-1.yml").read_text() == before
