import polars as pl
import pytest

from inference.planning import plan_requests
from inference.prompts import asks_for
from inference.raters import resolve_raters
from inference.registry import ConditionSetSpec, RegistryError
from inference.registry.yaml_files import read_entries
from orchestration.settings import SHIPPED_REGISTRY

SETS = """
shared:
  title: Shared
  task: grade
  conditions:
    jaccard: {settings: {measures: [jaccard]}}
"""


@pytest.fixture
def shared(folder, change):
    (folder / "condition_sets.yml").write_text(SETS)
    change("models/overlap.yml", "  conditions:", "  condition_sets: [shared]\n  conditions:")


def test_a_model_has_its_own_conditions_and_those_of_its_sets(shared, load):
    assert {"overlap|recall", "overlap|nearest", "overlap|jaccard"} <= set(resolve_raters(load()[0]))


def test_a_set_is_no_part_of_a_raters_identity(shared, change, load):
    plan = plan_requests(*load())
    through_set = set(plan.filter(pl.col("rater_id") == "overlap|jaccard")["request_id"])
    change("models/overlap.yml", "  condition_sets: [shared]\n", "")
    change("models/overlap.yml", "  conditions:\n", "  conditions:\n    jaccard: {settings: {measures: [jaccard]}}\n")
    written_out = plan_requests(*load()).filter(pl.col("rater_id") == "overlap|jaccard")
    assert set(written_out["request_id"]) == through_set


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("models/overlap.yml", "[shared]", "[shard]", r"unknown name 'shard' \(did you mean 'shared'"),
        ("condition_sets.yml", "task: grade", "task: answer", "shared is for task answer, the model's is grade"),
        ("condition_sets.yml", "jaccard:", "recall:", "condition 'recall' stands twice"),
    ],
)  # fmt: skip
def test_a_set_that_does_not_fit_is_named(shared, change, load, name, old, new, message):
    change(name, old, new)
    with pytest.raises(RegistryError, match=message):
        load()


def test_a_model_without_conditions_is_refused(folder, load):
    path = folder / "models/overlap.yml"
    path.write_text(path.read_text().split("  conditions:")[0])
    with pytest.raises(RegistryError, match="overlap: no conditions; add conditions or condition_sets"):
        load()


def test_every_shipped_condition_names_a_template_for_its_task():
    kinds = {"grade": "label", "answer": "choice", "predict_discrimination": "choice"}
    for spec in read_entries(ConditionSetSpec, "condition_sets", [SHIPPED_REGISTRY]).values():
        for condition in spec.conditions.values():
            assert asks_for(condition.template, kinds[spec.task])
            assert condition.temperature is not None
            assert (condition.n_shots > 0) == (condition.exemplar_seed is not None)


def test_s2_18_s1_04_the_shipped_sets_hold_what_the_studies_name():
    sets = read_entries(ConditionSetSpec, "condition_sets", [SHIPPED_REGISTRY])
    assert len(sets["sgrades_strategies"].conditions) == 7
    assert [c.exemplar_seed for c in sets["sgrades_seeds"].conditions.values()] == [42, 123, 456]
    assert [c.persona for c in sets["reader_profiles"].conditions.values()] == [None, "low", "medium", "high"]
    assert [c.n_shots for c in sets["discrimination_shots"].conditions.values()] == [4, 4, 4, 8]


def test_a_rater_is_asked_only_what_its_template_has_a_form_for(change, load):
    change("models/overlap.yml", "template: fields@1", "template: nli@1")
    asked = plan_requests(*load()).filter(pl.col("rater_id").str.starts_with("overlap"))
    assert asked["dataset"].unique().to_list() == ["tiny_labels"]
