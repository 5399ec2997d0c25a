import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.prompts import (
    ExemplarView,
    ItemView,
    OptionView,
    PromptView,
    ReferenceView,
    TemplateError,
    load_template,
    messages_json,
    render,
    rendering,
)
from inference.prompts.rendering import TEMPLATES
from inference.raters import resolve_raters
from inference.registry import ModelSpec, load_registry
from inference.rendering import Renderer
from inference.sources import read_bank
from orchestration.settings import SHIPPED_REGISTRY

GOLDEN = Path(__file__).parent / "golden"
REFERENCES = (ReferenceView("Warm air rises because it is lighter.", "BEST"), ReferenceView("Warm air goes up.", None))
WARM, TEXT = "What does warm air do?", "It goes  up.\n\n\nReally."
ANSWER = ItemView(WARM, "2: rises, and why. 1: rises.", TEXT, None, (), REFERENCES, 0.0, 2.0)
OTHER = ItemView("What do plants need?", None, "", None, (), (ReferenceView("Light.", None),), 0.0, 2.0)
UNSCORED = ItemView("What do plants need?", None, "", None, (), (ReferenceView("Light.", None),), None, None)
OPTIONS = (OptionView("A", "one"), OptionView("B", "two"))
ITEM = ItemView("A short passage.", None, "What is it?", "B1", OPTIONS, (), None, None)
LABELLED = ItemView(WARM, None, TEXT, None, (), REFERENCES, None, None)
LABELS = ("correct", "contradictory", "incorrect")
SHOWN = (ExemplarView(OTHER, "1", None),)
LABELLED_SHOWN = (ExemplarView(UNSCORED, "incorrect", None),)
PREDICTED_SHOWN = (ExemplarView(ITEM, "0.31", "A"),)
CASES = {
    "fields-label": ("fields@1", "label", PromptView(LABELLED, LABELS)),
    "fields-choice": ("fields@1", "choice", PromptView(ITEM)),
    "grade-label": ("grade@1", "label", PromptView(LABELLED, LABELS)),
    "grade-label-shots": ("grade@1", "label", PromptView(LABELLED, LABELS, LABELLED_SHOWN)),
    "grade-score": ("grade@1", "score", PromptView(ANSWER, exemplars=SHOWN, persona="You are strict.")),
    "strategies-label": ("strategies@1", "label", PromptView(LABELLED, LABELS, strategy="abductive")),
    "strategies-score": ("strategies@1", "score", PromptView(ANSWER, exemplars=SHOWN, strategy="deductive_inductive")),
    "decisions-label": ("decisions@1", "label", PromptView(LABELLED, LABELS)),
    "nli-label": ("nli@1", "label", PromptView(LABELLED, LABELS)),
    "answer-choice": ("answer@1", "choice", PromptView(ITEM)),
    "answer-choice-low": ("answer@1", "choice", PromptView(ITEM, persona="low")),
    "discrimination-choice": ("discrimination@1", "choice", PromptView(ITEM, key="B", population="Adult learners.")),
    "discrimination-choice-shots": (
        "discrimination@1", "choice", PromptView(ITEM, exemplars=PREDICTED_SHOWN, persona="high", key="B"),
    ),
}  # fmt: skip


def _text(name: str, kind: str, view: PromptView) -> str:
    return "".join(f"[{m.role}]\n{m.content}\n" for m in render(load_template(name, kind), view))


@pytest.mark.parametrize("case", CASES)
def test_a_template_writes_what_its_golden_file_shows(case):
    """A changed wording is another version: copy the template's folder, and keep this file for the old one."""
    assert _text(*CASES[case]) == (GOLDEN / f"{case}.txt").read_text(encoding="utf-8")


def test_every_template_has_a_golden_file():
    tested = {load_template(name, kind).file for name, kind, _ in CASES.values()}
    assert tested == {path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.glob("*/*/*.jinja")}


def test_s1_04_no_persona_is_no_system_message():
    for name, kind, view in (CASES["answer-choice"], CASES["grade-label"], CASES["discrimination-choice"]):
        assert [message.role for message in render(load_template(name, kind), view)] == ["user"]


def test_s2_18_hybrid_strategies_are_their_parts_in_sequence():
    def system(strategy: str) -> str:
        view = PromptView(ANSWER, LABELS, strategy=strategy)
        return render(load_template("strategies@1", "label"), view)[0].content

    single = {name: system(name).split("\n\n")[1] for name in ("inductive", "deductive", "abductive")}
    assert len(set(single.values())) == 3
    for first in single:
        for second in single:
            if first != second:
                blocks = system(f"{first}_{second}").split("\n\n")
                assert blocks[1:-1] == [single[first], single[second]]


def test_a_template_that_lacks_something_stops_and_names_it():
    with pytest.raises(TemplateError, match="unknown strategy lucky; its parts are inductive, deductive and abductive"):
        render(load_template("strategies@1", "label"), PromptView(ANSWER, LABELS, strategy="lucky"))
    with pytest.raises(TemplateError, match=r"no template 'grade@1' for choice responses; .*'answer@1'"):
        load_template("grade@1", "choice")


def test_the_hash_of_a_template_covers_what_it_includes(monkeypatch, tmp_path):
    copy = tmp_path / "templates"
    shutil.copytree(TEMPLATES, copy)
    monkeypatch.setattr(rendering, "TEMPLATES", copy)
    before = {name: rendering._hash(f"{name}.jinja") for name in ("grade/1/label", "answer/1/choice")}
    shared = copy / "shared" / "grading.jinja"
    shared.write_text(shared.read_text() + "\n")
    after = {name: rendering._hash(f"{name}.jinja") for name in before}
    assert after["grade/1/label"] != before["grade/1/label"]
    assert after["answer/1/choice"] == before["answer/1/choice"]


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
items = st.builds(
    ItemView,
    stimulus=st.none() | texts,
    rubric=st.none() | texts,
    text=st.none() | texts,
    stratum=st.none() | texts,
    options=st.lists(st.builds(OptionView, texts, texts), max_size=3).map(tuple),
    references=st.lists(st.builds(ReferenceView, texts, st.none() | texts), max_size=2).map(tuple),
    min_score=st.none() | st.integers(0, 3).map(float),
    max_score=st.none() | st.integers(4, 60).map(float),
)
views = st.builds(PromptView, item=items, labels=st.lists(texts, max_size=3).map(tuple))


@settings(max_examples=150, deadline=None)
@given(views, views)
def test_equal_components_mean_equal_messages_and_the_reverse(left, right):
    template = load_template("fields@1", "label")
    same = messages_json(render(template, left)) == messages_json(render(template, right))
    assert same == (left == right)
    assert messages_json(render(template, left)) == messages_json(render(template, left))


@settings(max_examples=150, deadline=None)
@given(items)
def test_an_answer_stands_in_its_prompt_verbatim(item):
    for name in ("grade@1", "decisions@1", "nli@1"):
        content = render(load_template(name, "label"), PromptView(item, LABELS))[-1].content
        assert f"Student answer:\n{item.text or '(the student wrote nothing)'}\n" in content


SECRETS = {"gold_label": "SECRET-LABEL", "gold_score": 1.2345, "answer_key": "SECRET-KEY", "extra": "SECRET-EXTRA"}


@pytest.fixture(scope="module")
def demo():
    registry = load_registry([SHIPPED_REGISTRY], None)
    return registry, {name: read_bank(registry.banks[name], registry) for name in ("demo", "demo_reading")}


def _model(registry, template: str, task: str) -> ModelSpec:
    """Return a local model that shows three exemplars and names a strategy, under any template."""
    known = registry.models["minilm"]
    condition = known.conditions["nearest"].model_copy(update={"strategy": "inductive", "n_shots": 3, "settings": {}})
    changed = {"engine": "vllm", "template": template, "task": task, "conditions": {"c": condition}}
    return known.model_copy(update=changed)


@pytest.mark.parametrize(
    ("template", "task", "dataset"),
    [
        ("grade@1", "grade", "demo_labels"),
        ("grade@1", "grade", "demo_scores"),
        ("strategies@1", "grade", "demo_labels"),
        ("decisions@1", "grade", "demo_labels"),
        ("nli@1", "grade", "demo_labels"),
        ("fields@1", "grade", "demo_labels"),
        ("answer@1", "answer", "demo_mcq"),
        ("fields@1", "answer", "demo_mcq"),
    ],
)
def test_no_gold_key_or_score_of_the_item_reaches_a_prompt(demo, template, task, dataset):
    """The golds of all test items are replaced by texts that could not be missed, and are not found."""
    registry, banks = demo
    registry = replace(registry, models={"minilm": _model(registry, template, task)}, recorded={})
    bank = registry.bank_of(dataset).name
    is_test = pl.col("split") == "test"
    spoiled = [
        pl.when(is_test).then(pl.lit(value)).otherwise(pl.col(name)).alias(name) for name, value in SECRETS.items()
    ]
    banks = {bank: replace(banks[bank], items=banks[bank].items.with_columns(spoiled))}
    renderer, (rater,) = Renderer(registry, banks), resolve_raters(registry).values()
    rows = banks[bank].items.filter(pl.col("dataset") == dataset, is_test)
    assert rows.height >= 50
    for item_id in rows["item_id"]:
        shown = renderer.render(rater, dataset, item_id)
        sent = messages_json(shown.messages)
        assert "SECRET" not in sent
        assert "1.2345" not in sent
        assert len(shown.exemplar_ids) == 3
        assert item_id not in shown.exemplar_ids


def test_messages_are_stored_as_plain_json():
    stored = json.loads(messages_json(render(load_template("answer@1", "choice"), CASES["answer-choice-low"][2])))
    assert [message["role"] for message in stored] == ["system", "user"]
