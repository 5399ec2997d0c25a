"""What makes two requests the same; one test for each consequence that the design names."""


import polars as pl
import pytest

from inference.identity import request_id_of
from inference.planning import plan_requests, to_ask
from inference.rows import RequestRow, schema_of

LANDED = pl.Schema({"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})


def _ids(load, **where: str) -> set[str]:
    plan = plan_requests(*load())
    return set(plan.filter(*(pl.col(column) == value for column, value in where.items()))["request_id"])


def _raters(load) -> set[str]:
    return set(plan_requests(*load())["rater_id"])


def test_the_plan_is_raters_times_test_items(load):
    plan = plan_requests(*load())
    assert plan.schema == schema_of(RequestRow)
    # 2 local raters on 2 data sets, 2 recorded raters on one; 3 test items each
    assert plan.height == (2 * 2 + 2) * 3
    assert plan["request_id"].is_unique().all()
    assert set(plan["item_id"]) == {"007", "7", "52779E469111"}


def test_request_ids_are_the_declared_hash(load):
    for row in plan_requests(*load()).iter_rows(named=True):
        expected = request_id_of(
            *(row[name] for name in ("rater_id", "dataset", "item_id", "replicate", "content_hash"))
        )
        assert row["request_id"] == expected


def test_an_edited_item_text_makes_other_requests_for_that_item_alone(change, load):
    before = _ids(load, rater_id="overlap|recall")
    edited = _ids(load, rater_id="overlap|recall", item_id="7")
    change("banks/answers.csv", "Cold air rises", "Cool air rises")
    after = _ids(load, rater_id="overlap|recall")
    assert before - after == edited
    assert len(after) == len(before)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("banks/questions.csv", "What do plants need?", "What must plants have?"),
        ("banks/references.csv", "Plants need light and water.", "Plants need light."),
    ],
)
def test_an_edited_question_or_reference_makes_other_requests_for_its_testlet(change, load, name, old, new):
    before = _ids(load, rater_id="overlap|nearest", item_id="007")
    other = _ids(load, rater_id="overlap|nearest", item_id="52779E469111")
    change("banks/answers.csv", "t3,q2,train", "t3,q1,train")  # so that no train item changes below
    assert not before & _ids(load, rater_id="overlap|nearest", item_id="007")  # a train item did change here
    before = _ids(load, rater_id="overlap|nearest", item_id="007")
    change(name, old, new)
    assert _ids(load, rater_id="overlap|nearest", item_id="007") == before
    assert not other & _ids(load, rater_id="overlap|nearest", item_id="52779E469111")


def test_a_corrected_gold_of_a_test_item_makes_the_same_requests(change, load):
    before = _ids(load)
    change("banks/answers.csv", "7,q1,test,Cold air rises,wrong,0", "7,q1,test,Cold air rises,half,1")
    assert _ids(load) == before


def test_a_corrected_gold_of_a_train_item_makes_other_requests_for_raters_that_learn_from_it(change, load):
    local, recorded = _ids(load, dataset="tiny_labels", rater_id="overlap|recall"), _ids(load, rater_id="m|a")
    change("banks/answers.csv", "Air sinks,wrong", "Air sinks,half")
    assert not local & _ids(load, rater_id="overlap|recall")
    assert _ids(load, rater_id="m|a") == recorded


def test_another_spelling_in_a_label_set_makes_the_same_requests(change, load):
    before = _ids(load)
    change("label_sets.yml", "[partly right]", "[partly right, nearly]")
    assert _ids(load) == before


def test_a_label_that_is_shown_makes_other_requests_for_those_who_see_it(change, load):
    shown, scores = _ids(load, dataset="tiny_labels", rater_id="overlap|recall"), _ids(load, dataset="tiny_scores")
    recorded = _ids(load, rater_id="m|b")
    change("label_sets.yml", "wrong: []", "wrong: [], other: []")
    assert not shown & _ids(load, dataset="tiny_labels", rater_id="overlap|recall")
    assert _ids(load, dataset="tiny_scores") == scores
    assert _ids(load, rater_id="m|b") == recorded


def test_a_removed_rater_leaves_the_plan_and_comes_back_as_it_was(change, load):
    before, condition = _ids(load), "    recall: {settings: {measures: [recall]}}\n"
    removed = _ids(load, rater_id="overlap|recall")
    change("models/overlap.yml", condition, "")
    assert _ids(load) == before - removed
    change("models/overlap.yml", "  conditions:\n", "  conditions:\n" + condition)
    assert _ids(load) == before


def test_an_added_rater_adds_its_requests_alone(change, load):
    before = _ids(load)
    change("models/overlap.yml", "  conditions:\n", "  conditions:\n    jaccard: {settings: {measures: [jaccard]}}\n")
    assert _ids(load) - before == _ids(load, rater_id="overlap|jaccard")
    assert before < _ids(load)


def test_a_removed_data_set_leaves_the_plan(change, load):
    before = _ids(load)
    change("studies/grading.yml", "tiny_labels, ", "")
    assert _ids(load) == _ids(load, dataset="tiny_scores") < before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('revision: "1"', 'revision: "2"'),
        ("settings: {head: thresholds}", "settings: {head: thresholds, share: 0.5}"),
        ("nearest: {settings", "nearest: {exemplar_seed: 42, settings"),
        ("nearest: {settings", "nearest: {temperature: 0.5, settings"),
        ("nearest: {settings", "nearest: {persona: a strict teacher, settings"),
    ],
)
def test_what_can_change_an_answer_is_another_request(change, load, old, new):
    before = _ids(load, rater_id="overlap|nearest")
    change("models/overlap.yml", old, new)
    assert not before & _ids(load, rater_id="overlap|nearest")


def test_where_and_how_fast_an_engine_runs_is_the_same_request(change, load):
    before = _ids(load)
    change("models/overlap.yml", '  revision: "1"', '  revision: "1"\n  runtime: {tensor_parallel_size: 4}')
    assert _ids(load) == before


def test_a_changed_cell_of_recorded_grades_is_another_request(change, load):
    before, changed = _ids(load), _ids(load, rater_id="m|b", item_id="7")
    change("recorded/grades.csv", "7,,right", "7,,half")
    assert before - _ids(load) == changed


def test_replicates_are_asked_on_purpose(change, load):
    before = _ids(load)
    change("studies/grading.yml", "task: grade", "task: grade, replicates: 2")
    assert before < _ids(load)
    assert len(_ids(load)) == 2 * len(before)


def test_a_study_takes_the_raters_that_it_names(change, load):
    change("studies/grading.yml", "task: grade", "task: grade, raters: ['overlap|*'], engines: [baseline]")
    assert _raters(load) == {"overlap|recall", "overlap|nearest"}
    change("studies/grading.yml", "engines: [baseline]", "engines: [vllm]")
    assert _raters(load) == set()
    change("models/overlap.yml", "  task: grade", "  task: grade\n  studies: [grading]")
    assert _raters(load) == {"overlap|recall", "overlap|nearest"}


def test_what_is_settled_is_not_asked_and_what_failed_is_asked_again(load):
    plan = plan_requests(*load())
    done, failed = plan["request_id"][0], plan["request_id"][1]
    landed = pl.DataFrame([(done, 1, True), (failed, 2, False), ("gone", 1, True)], schema=LANDED, orient="row")
    asked = to_ask(plan, landed)
    assert asked["request_id"].to_list() == plan["request_id"].to_list()[1:]
    assert asked.row(0, named=True)["attempt"] == 3
    assert asked["attempt"][1:].unique().to_list() == [1]


@pytest.mark.slow
def test_a_million_requests_are_planned_and_compared_with_what_landed(folder, change, load):
    rows = "".join(f"i{i},q1,test,answer {i},right,2,x\n" for i in range(10_000))
    (folder / "banks/answers.csv").write_text(
        f"id,question,split,answer,label,score,note\n{rows}t1,q1,train,Air,right,2,d\n", encoding="utf-8"
    )
    conditions = "".join(f"    c{i}: {{settings: {{measures: [recall], n_neighbours: {i + 1}}}}}\n" for i in range(50))
    change("models/overlap.yml", "  conditions:\n", f"  conditions:\n{conditions}")
    (folder / "recorded/old.yml").unlink()
    registry, banks = load()
    plan = plan_requests(registry, banks)
    landed = plan.head(int(0.99 * plan.height)).select("request_id", n_attempts=pl.lit(1), is_done=pl.lit(True))
    asked = to_ask(plan, landed)
    assert plan.height == 1_040_000
    assert asked.height == plan.height - landed.height
