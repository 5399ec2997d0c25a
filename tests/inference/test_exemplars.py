from dataclasses import replace

import polars as pl
import pytest

from inference.exemplars import ExemplarSource
from inference.planning import plan_requests
from inference.raters import resolve_raters
from inference.registry import Registry, load_registry
from inference.rendering import Renderer
from inference.rows import HumanItemStatisticsRow, frame_of
from inference.sources import SourceError, read_bank
from orchestration.settings import SHIPPED_REGISTRY


@pytest.fixture(scope="module")
def demo():
    registry = load_registry([SHIPPED_REGISTRY], None)
    return registry, {bank.name: read_bank(bank, registry) for bank in registry.banks.values()}


def _asking(registry: Registry, task: str, template: str, **condition) -> Registry:
    """Return a registry with one rater that is asked under a condition."""
    known = registry.models["minilm"]
    conditions = {"c": known.conditions["nearest"].model_copy(update={"settings": {}, **condition})}
    model = known.model_copy(update={"engine": "vllm", "task": task, "template": template, "conditions": conditions})
    study = registry.studies["demo_grading"].model_copy(update={"task": task, "engines": ("vllm",)})
    names = ("demo_mcq",) if task != "grade" else ("demo_labels",)
    study = study.model_copy(update={"datasets": names})
    return replace(registry, models={"minilm": model}, recorded={}, studies={"s": study})


def _drawn(demo, dataset="demo_labels", place=("q01", None), task="grade", **condition):
    registry = _asking(demo[0], task, "grade@1" if task == "grade" else "discrimination@1", **condition)
    (rater,) = resolve_raters(registry).values()
    return ExemplarSource(rater, dataset, registry, demo[1]).exemplars_for(*place)


def test_s2_19_exemplars_come_from_the_train_split_by_seed(demo):
    draws = {seed: _drawn(demo, n_shots=5, exemplar_seed=seed) for seed in (42, 123, 456)}
    items = demo[1]["demo"].items.filter(pl.col("dataset") == "demo_labels")
    golds = dict(items.filter(pl.col("split") == "train").select("item_id", "gold_label").rows())
    for drawn in draws.values():
        assert len({exemplar.item_id for exemplar in drawn}) == 5
        assert all(golds[exemplar.item_id] == exemplar.answer for exemplar in drawn)
        assert drawn == _drawn(demo, place=("q02", None), n_shots=5, exemplar_seed=42) or drawn != draws[42]
    assert len({tuple(e.item_id for e in drawn) for drawn in draws.values()}) == 3


def test_exemplars_may_come_from_another_data_set(demo):
    drawn = _drawn(demo, n_shots=2, exemplar_seed=42, exemplar_dataset="demo_scores")
    assert {exemplar.dataset for exemplar in drawn} == {"demo_scores"}
    assert {exemplar.answer for exemplar in drawn} <= {"0", "1", "2", "3"}


def test_too_few_candidates_stop_the_plan(demo):
    with pytest.raises(SourceError, match=r"'minilm\|c' needs 999 exemplars from demo_labels, which has \d+ that fit"):
        plan_requests(_asking(demo[0], "grade", "grade@1", n_shots=999, exemplar_seed=1), demo[1])


def test_another_seed_or_a_changed_exemplar_makes_other_requests_and_an_unshown_item_does_not(demo):
    registry, banks = demo
    asking = _asking(registry, "grade", "grade@1", n_shots=5, exemplar_seed=42)
    shown = {exemplar.item_id for exemplar in _drawn(demo, n_shots=5, exemplar_seed=42)}

    def ids(where: pl.Expr, registry=asking) -> set[str]:
        items = banks["demo"].items.with_columns(
            gold_label=pl.when(where).then(pl.lit("irrelevant")).otherwise(pl.col("gold_label"))
        )
        return set(plan_requests(registry, {**banks, "demo": replace(banks["demo"], items=items)})["request_id"])

    before = ids(pl.lit(False))
    unshown = ~pl.col("item_id").is_in(list(shown))
    assert ids(unshown) == before
    assert not before & ids(~unshown)
    assert not before & ids(pl.lit(False), _asking(registry, "grade", "grade@1", n_shots=5, exemplar_seed=123))


def test_what_is_shown_is_recorded(demo):
    registry = _asking(demo[0], "grade", "grade@1", n_shots=3, exemplar_seed=42)
    (rater,) = resolve_raters(registry).values()
    shown = Renderer(registry, demo[1]).render(rater, "demo_labels", "q01-a03")
    assert shown.messages[-1].content.count("Graded example") == 3
    assert shown.exemplar_ids == tuple(e.item_id for e in _drawn(demo, n_shots=3, exemplar_seed=42))
    texts = dict(demo[1]["demo"].items.select("item_id", "item_text").rows())
    assert all(texts[item] in shown.messages[-1].content for item in shown.exemplar_ids)


@pytest.fixture(scope="module")
def with_statistics(demo):
    registry, banks = demo
    items = banks["demo_reading"].items
    rows = [
        HumanItemStatisticsRow("l", "demo_mcq", item, stratum, "made up", None, i / 100, None, None, None, None, None)
        for i, (item, stratum) in enumerate(items.select("item_id", "stratum").rows())
    ]
    reading = replace(banks["demo_reading"], human_item_statistics=frame_of(HumanItemStatisticsRow, rows))
    return registry, {**banks, "demo_reading": reading}


@pytest.mark.parametrize("n_shots", [4, 8])
def test_s1_16_demonstrations_are_of_other_testlets_of_the_same_population_over_the_range(with_statistics, n_shots):
    items = with_statistics[1]["demo_reading"].items
    for testlet, stratum in items.select("testlet_id", "stratum").unique().sort("testlet_id").rows():
        drawn = _drawn(
            with_statistics, "demo_mcq", (testlet, stratum), "predict_discrimination", n_shots=n_shots, exemplar_seed=1
        )
        found = items.filter(pl.col("item_id").is_in([exemplar.item_id for exemplar in drawn]))
        assert found.height == n_shots
        assert testlet not in found["testlet_id"]
        assert found["stratum"].unique().to_list() == [stratum]
        # one from each equal part of the range
        pool = items.filter(pl.col("stratum") == stratum, pl.col("testlet_id") != testlet)["item_id"].to_list()
        parts = {round((pool.index(item) + 0.5) * n_shots / len(pool) - 0.5) for item in found["item_id"]}
        assert len(parts) >= n_shots - 1


def test_a_prediction_shows_the_key_and_not_the_statistic(with_statistics):
    registry = _asking(with_statistics[0], "predict_discrimination", "discrimination@1", n_shots=0)
    (rater,) = resolve_raters(registry).values()
    shown = Renderer(registry, with_statistics[1]).render(rater, "demo_mcq", "p01-1")
    assert "\nKey: A\n" in shown.messages[-1].content
    assert "Level of the students: B1" in shown.messages[-1].content
    assert "0.0" not in shown.messages[-1].content
    assert shown.choices == ()


def test_a_prediction_may_hide_the_population(with_statistics):
    registry = _asking(with_statistics[0], "predict_discrimination", "discrimination@1", shows_stratum=False)
    (rater,) = resolve_raters(registry).values()
    assert "B1" not in Renderer(registry, with_statistics[1]).render(rater, "demo_mcq", "p01-1").messages[-1].content


def test_a_changed_key_is_another_request_only_where_it_is_shown(with_statistics):
    registry, banks = with_statistics
    reading = banks["demo_reading"]
    changed = reading.items.with_columns(
        answer_key=pl.when(pl.col("item_id") == "p01-1").then(pl.lit("D")).otherwise(pl.col("answer_key"))
    )
    corrected = {**banks, "demo_reading": replace(reading, items=changed)}
    for task, template, n_changed in (("predict_discrimination", "discrimination@1", 1), ("answer", "answer@1", 0)):
        asking = _asking(registry, task, template)
        before, after = (set(plan_requests(asking, frames)["request_id"]) for frames in (banks, corrected))
        assert len(before - after) == n_changed


def test_rotated_options_keep_their_letters(demo):
    registry = _asking(demo[0], "answer", "answer@1", option_rotation=1)
    (rater,) = resolve_raters(registry).values()
    shown = demo[1]["demo_reading"].item_options.filter(pl.col("item_id") == "p01-1")
    options = dict(shown.select("option", "option_text").rows())
    content = Renderer(registry, demo[1]).render(rater, "demo_mcq", "p01-1").messages[-1].content
    assert f"A. {options['D']}\nB. {options['A']}\nC. {options['B']}\nD. {options['C']}\n" in content
