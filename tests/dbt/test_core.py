"""What the core tables make of raw rows, and what a change of raw rows does to them."""

import json
import math

import pytest

CORE = ("run", "--select", "core", "--quiet")
ITEMS = [{"item_id": item_id, "gold_label": "correct", "testlet_id": "q"} for item_id in ("007", "7", "00070")]


def parsed(warehouse):
    return set(warehouse.query("select attempt_id, parser_version, scheme_hash from core.parsed_answers"))


def cells(warehouse, dataset, rater="reader"):
    return warehouse.query(
        "select item_id, status, is_correct from core.response_matrix "
        f"where dataset = '{dataset}' and rater_id = '{rater}' order by item_id"
    )


def status_of(warehouse, item_id, columns="status, status_reason, n_attempts"):
    (row,) = warehouse.query(
        f"select {columns} from core.responses where dataset = 'tries' and item_id = '{item_id}' and replicate = 0"
    )
    return row


@pytest.fixture(scope="module")
def house(new_warehouse):
    """Make a house that has run core once."""
    warehouse = new_warehouse()
    warehouse.rater("reader")
    warehouse.rater("guesser", task="predict_discrimination")
    warehouse.rater("former", is_active=False)
    for dataset in ("ids", "words"):
        warehouse.dataset(dataset, "label", ITEMS, label_set="three")
        for item, said in zip(ITEMS, ("correct", "incorrect", "contradictory"), strict=True):
            warehouse.say(dataset, "reader", item["item_id"], said)
    names = ["again", "crashed", "too_long", "waiting", "uncovered", "twice", "doubled", "gone"]
    warehouse.dataset("tries", "label", [{"item_id": n, "gold_label": "correct"} for n in names], label_set="three")
    warehouse.say("tries", "reader", "again", None, "correct", finish_reason="stop")
    warehouse.rows["responses"][-2] |= {"finish_reason": "error", "error_kind": "retryable", "error_type": "timeout"}
    failed = {"finish_reason": "error", "error_kind": "retryable", "error_type": "crash"}
    warehouse.say("tries", "reader", "crashed", None, None, **failed)
    warehouse.say("tries", "reader", "too_long", None, **failed | {"error_kind": "permanent", "error_type": "too_long"})
    warehouse.say("tries", "reader", "waiting")
    warehouse.say("tries", "reader", "uncovered", None, finish_reason="not_recorded")
    warehouse.say("tries", "reader", "doubled", "correct")
    warehouse.rows["responses"].append(dict(warehouse.rows["responses"][-1]))
    warehouse.say("tries", "reader", "twice", "correct")
    warehouse.say("tries", "reader", "twice", "incorrect", replicate=1)
    warehouse.say("tries", "reader", "gone", "correct")
    warehouse.rows["requests"].pop()
    key = {"item_id": "m1", "answer_key": "B", "options": "ABCD"}
    warehouse.dataset("mcq", "choice", [key, key | {"item_id": "m2"}])
    warehouse.say("mcq", "guesser", "m1", "Discrimination: 0.35")
    warehouse.say("mcq", "guesser", "m2", "Discrimination: 1.2")
    warehouse.rater("turner", task="answer", option_rotation=1)
    warehouse.dataset("turned", "choice", [key, key | {"item_id": "m2"}])
    shown = {option: math.log(share) for option, share in {"B": 0.1, "C": 0.7, "A": 0.2}.items()}
    warehouse.say("turned", "turner", "m1", "Answer: C", option_logprobs=json.dumps(shown))
    warehouse.say("turned", "turner", "m2", "Answer: A")
    asking = {"condition": {"settings": {"structured_outputs": "choice", "option_logprobs": True}}}
    warehouse.rater("held", settings=json.dumps(asking))
    warehouse.rater("freed", settings=json.dumps(asking | {"condition": {"settings": {"option_logprobs": False}},
                                                 "settings": {"option_logprobs": True}}))  # fmt: skip
    warehouse.dataset("told", "label", [{"item_id": n} for n in ("some", "none", "failed", "open")], label_set="three")
    warehouse.dataset("points", "score", [{"item_id": "p", "min_score": 0, "max_score": 2}])
    warehouse.say("told", "held", "some", "correct", option_logprobs='{"correct": -0.01, "incorrect": -4.61}')
    warehouse.say("told", "held", "none", "correct")
    warehouse.say("told", "held", "failed", None, **failed)
    warehouse.say("told", "held", "open")
    warehouse.say("told", "freed", "some", "correct")
    warehouse.say("points", "held", "p", "1", option_logprobs='{"1": 0}')
    warehouse.rater("decider", template_version="decisions/1")
    warehouse.say("ids", "decider", "7", "Relevance: yes\nCorrectness: **No**\nContradiction: maybe\nLabel: incorrect")
    warehouse.write()
    warehouse.dbt("run", "--select", "staging", "core", "--quiet")
    return warehouse


def test_ids_are_text_to_the_end(house):
    assert cells(house, "ids") == [("00070", "ok", 0), ("007", "ok", 1), ("7", "ok", 0)]


def test_the_latest_attempt_that_need_not_be_repeated_is_current(house):
    assert status_of(house, "again") == ("ok", None, 2)


def test_failures_keep_their_kind_and_are_never_wrong_answers(house):
    assert status_of(house, "crashed") == ("error", "crash", 2)
    assert status_of(house, "too_long") == ("error", "too_long", 1)
    missing = [row for row in cells(house, "tries") if row[1] != "ok"]
    assert missing
    assert all(is_correct is None for *_, is_correct in missing)


def test_what_was_not_asked_or_not_recorded_is_a_row_with_its_status(house):
    assert status_of(house, "waiting") == ("not_asked", None, 0)
    assert status_of(house, "uncovered") == ("not_recorded", None, 1)


def test_an_attempt_that_came_twice_in_one_batch_is_parsed_once(house):
    assert house.query("select count(*) from raw.responses where item_id = 'doubled'") == [(2,)]
    (attempt,) = house.query("select distinct attempt_id from raw.responses where item_id = 'doubled'")
    assert house.query(f"select count(*) from core.parsed_answers where attempt_id = '{attempt[0]}'") == [(1,)]


def test_replicates_are_responses_but_not_cells(house):
    assert house.query("select count(*) from core.responses where item_id = 'twice'") == [(2,)]
    assert house.query("select is_correct from core.response_matrix where item_id = 'twice'") == [(1,)]


def test_what_the_plan_no_longer_wants_is_in_no_core_table(house):
    assert house.query("select count(*) from core.responses where item_id = 'gone'") == [(0,)]
    assert house.query("select count(*) from core.attempts where item_id = 'gone'") == [(0,)]


def test_predictions_have_their_own_range_and_are_no_cells(house):
    rows = house.query("select answer_value, answer_choice, status, status_reason from core.responses "
                       "where dataset = 'mcq' order by item_id")  # fmt: skip
    assert rows == [(0.35, None, "ok", None), (None, None, "invalid", "out_of_range")]
    assert cells(house, "mcq") == []


def test_a_letter_is_read_as_the_option_that_was_shown_under_it(house):
    # moved on by one: A shows D's text, B shows A's, C shows B's
    answers = house.query("select answer_choice from core.responses where dataset = 'turned' order by item_id")
    assert answers == [("B",), ("D",)]
    assert cells(house, "turned", "turner") == [("m1", "ok", 1), ("m2", "ok", 0)]
    found = house.query("select option, probability from core.option_probabilities "
                        "where dataset = 'turned' and probability is not null order by option")  # fmt: skip
    assert dict(found) == pytest.approx({"A": 0.1, "B": 0.7, "D": 0.2})


def test_a_probability_that_is_not_known_is_null_with_its_reason(house):
    found = house.query("select dataset, rater_id, item_id, option, probability is null, logprob is null, "
                        "undefined_reason from core.option_probabilities order by all")  # fmt: skip
    known, labels = (False, False, None), ("contradictory", "correct", "incorrect")
    missing = {"failed": "error", "none": "not_traced", "open": "not_asked"}
    expected = [("told", "held", item, label, True, True, why) for item, why in missing.items() for label in labels]
    expected += [("told", "held", "some", "contradictory", True, True, "not_pointed_to")]
    expected += [("told", "held", "some", label, *known) for label in labels[1:]]
    expected += [("points", "held", "p", "1", *known)]
    expected += [("points", "held", "p", score, True, True, "not_pointed_to") for score in "02"]
    expected += [("turned", "turner", "m1", option, *known) for option in "ABD"]
    expected += [("turned", "turner", "m1", "C", True, True, "not_pointed_to")]
    assert sorted(found) == sorted(expected)


def test_decisions_before_the_label_are_kept_apart_from_it(house):
    found = house.query("select step, answer from core.sub_answers order by position")
    steps = ["relevance", "correctness", "contradiction", "completeness"]
    assert found == list(zip(steps, ["yes", "no", None, None], strict=True))
    assert house.query("select answer_label from core.responses where rater_id = 'decider'") == [("incorrect",)]


def test_every_rater_ever_seen_stays_known(house):
    assert house.query("select is_active from core.raters where rater_id = 'former'") == [(False,)]


@pytest.fixture(scope="module")
def parsed_before(house):
    return parsed(house)


@pytest.fixture(scope="module")
def changed(house, parsed_before):
    """Correct golds of one data set, change the scheme of another, remove a third from the registry."""
    for load in house.rows["loads"]:
        load["is_current"] = load["name"] not in ("ids", "words", "mcq")
    house.dataset("ids", "label", [item | {"gold_label": "incorrect"} for item in ITEMS], label_set="three")
    house.label_set("spoken", {"correct": ["correct", "contradictory"], "incorrect": ["incorrect"]})
    house.dataset("words", "label", ITEMS, label_set="spoken")
    wanted = [request for request in house.rows["requests"] if request["dataset"] != "mcq"]
    house.removed, house.rows["requests"] = [r for r in house.rows["requests"] if r["dataset"] == "mcq"], wanted
    house.write()
    house.dbt(*CORE)
    return house


def test_a_corrected_gold_changes_cells_and_parses_nothing_again(changed, parsed_before):
    assert cells(changed, "ids") == [("00070", "ok", 0), ("007", "ok", 0), ("7", "ok", 1)]
    assert attempts_parsed(changed, parsed(changed) - parsed_before) == {"words"}


def test_another_scheme_parses_again_what_it_touches_and_keeps_the_old(changed, parsed_before):
    assert parsed_before < parsed(changed)
    assert len(parsed(changed) - parsed_before) == len(ITEMS)
    assert cells(changed, "words") == [("00070", "ok", 1), ("007", "ok", 1), ("7", "ok", 0)]


def test_a_removed_data_set_leaves_core_and_raw_stays(changed):
    for table in ("datasets", "items", "testlets", "responses", "attempts", "item_options"):
        assert changed.query(f"select count(*) from core.{table} where dataset = 'mcq'") == [(0,)]
    assert changed.query("select count(*) from raw.responses where dataset = 'mcq'") == [(2,)]


def test_a_data_set_that_comes_back_is_current_at_once(changed):
    before = parsed(changed)
    changed.rows["requests"] += changed.removed
    for load in changed.rows["loads"]:
        load["is_current"] |= load["name"] == "mcq"
    changed.write()
    changed.dbt(*CORE)
    rows = changed.query("select answer_value from core.responses where dataset = 'mcq' order by item_id")
    assert rows == [(0.35,), (None,)]
    assert parsed(changed) == before


def attempts_parsed(warehouse, keys):
    """Return the data sets of some parsed answers."""
    of_attempt = dict(warehouse.query("select attempt_id, dataset from raw.responses"))
    return {of_attempt[attempt_id] for attempt_id, *_ in keys}
