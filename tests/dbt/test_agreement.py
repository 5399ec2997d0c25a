"""Agreement metrics in SQL: worked by hand, and against the reference implementation where that one is right."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn import metrics

from analytics.agreement.kappa import qwk
from analytics.agreement.rounding import round_half_away

EXACT = 1e-12
"""Counts are whole numbers, so that only the last divisions can differ."""


def agreement(built, dataset, scope="pooled", rater="reader"):
    where = f"dataset = '{dataset}' and scope = '{scope}' and rater_id = '{rater}'"
    (row,) = built.records(f"select * from marts.rater_agreement where {where}")
    return row


def test_qwk_is_on_the_declared_scale_and_the_other_one_is_named_for_what_it_is(built):
    row = agreement(built, "gaps")
    # sum (g - a)^2 = 9 + 1 = 10; sum g^2 + sum a^2 - 2 * 10 * 14 / 5 = 34 + 50 - 56 = 28
    assert row["qwk"] == pytest.approx(1 - 10 / 28, abs=EXACT)
    # categories 0 3 4 as 0 1 2: 1 + 1 = 2; 6 + 10 - 2 * 4 * 6 / 5 = 6.4
    assert row["qwk_observed_categories"] == pytest.approx(0.6875, abs=EXACT)
    assert row["mae"] == pytest.approx(4 / 5)
    assert row["rmse"] == pytest.approx(math.sqrt(10 / 5))


def test_one_class_on_both_sides_is_undefined_with_a_reason(built):
    row = agreement(built, "one_class")
    assert (row["qwk"], row["qwk_observed_categories"], row["cohen_kappa"], row["pearson_r"]) == (None,) * 4
    assert row["accuracy"] == 1.0
    assert "one class only" in row["undefined_reason"]
    assert "one side is constant" in row["undefined_reason"]


def test_constant_gold_with_other_answers_is_exactly_zero(built):
    row = agreement(built, "constant_gold")
    assert row["qwk"] == 0.0
    assert row["cohen_kappa"] == 0.0
    assert row["pearson_r"] is None


def test_one_row_has_errors_but_no_correlation(built):
    row = agreement(built, "one_row")
    assert (row["n"], row["mae"], row["rmse"], row["accuracy"], row["pearson_r"]) == (1, 1.0, 1.0, 0.0, None)


def test_blanks_are_dropped_pairwise_and_counted(built):
    row, without = agreement(built, "blank"), agreement(built, "gaps")
    assert row["qwk"] == without["qwk"]
    assert (row["n"], row["n_missing"], row["n_items"]) == (5, 1, 6)
    assert (row["accuracy"], row["accuracy_all"]) == (pytest.approx(3 / 5), pytest.approx(3 / 6))


def test_no_answer_at_all_is_null_and_says_so(built):
    row = agreement(built, "silent")
    assert (row["n"], row["accuracy"], row["qwk"], row["mae"], row["accuracy_common"]) == (0, None, None, None, None)
    assert row["undefined_reason"].startswith("nothing answered")
    assert row["accuracy_all"] == 0.0


def test_two_scales_per_set_macro_and_pooled_are_apart_and_macro_stands_for_the_data_set(built):
    first, second = agreement(built, "two_scales", "set:a"), agreement(built, "two_scales", "set:b")
    macro, pooled = agreement(built, "two_scales", "macro"), agreement(built, "two_scales")
    assert first["qwk"] == pytest.approx(1 / 11, abs=EXACT)
    assert second["qwk"] == pytest.approx(0.5286, abs=5e-5)
    assert pooled["qwk"] == pytest.approx(0.9349, abs=5e-5)
    assert macro["qwk"] == pytest.approx((first["qwk"] + second["qwk"]) / 2, abs=EXACT)
    assert (macro["is_default"], pooled["is_default"], macro["n_sets"]) == (True, False, 2)
    assert built.query("select scope, qwk from marts.leaderboard where dataset = 'two_scales'") == [
        ("macro", macro["qwk"])
    ]


def pairs_of(built, dataset, rater):
    rows = built.query(
        "select gold_class, answer_class, gold_score, answer_score from core.gold_comparisons "
        f"where dataset = '{dataset}' and rater_id = '{rater}' and is_answered order by item_id"
    )
    return tuple(np.array(side, dtype=float) for side in zip(*rows, strict=True))


@pytest.mark.parametrize("rater", ["reader", "sleeper", "mono"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_labels_agree_with_the_reference_implementation(built, rater):
    row, (gold, answer, *_) = agreement(built, "labels", rater=rater), pairs_of(built, "labels", rater)
    expected = {
        "accuracy": metrics.accuracy_score(gold, answer),
        "cohen_kappa": metrics.cohen_kappa_score(gold, answer),
        "qwk": metrics.cohen_kappa_score(gold, answer, weights="quadratic", labels=[0, 1, 2]),
    }
    for average in ("macro", "weighted"):
        found = metrics.precision_recall_fscore_support(gold, answer, average=average, zero_division=0)
        expected |= dict(zip((f"{name}_{average}" for name in ("precision", "recall", "f1")), found[:3], strict=True))
    assert {name: row[name] for name in expected} == pytest.approx(expected, abs=EXACT)
    assert (row["pearson_r"], row["mae"], row["rmse"]) == (None, None, None)
    assert "labels are no numbers" in row["undefined_reason"]


def test_half_grades_agree_with_the_reference_and_with_the_statisticians(built):
    row, (gold, answer, gold_score, answer_score) = agreement(built, "halves"), pairs_of(built, "halves", "reader")
    assert np.array_equal(gold, round_half_away(gold_score))
    assert np.array_equal(answer, round_half_away(answer_score))
    assert np.any(gold != np.round(gold_score)), "no half that the two rules round apart"
    assert row["qwk"] == pytest.approx(qwk(gold, answer, min_score=1, max_score=9).value, abs=EXACT)
    observed = metrics.cohen_kappa_score(gold, answer, weights="quadratic")
    assert row["qwk_observed_categories"] == pytest.approx(observed, abs=EXACT)
    assert row["pearson_r"] == pytest.approx(pearsonr(gold_score, answer_score)[0], abs=EXACT)
    assert row["mae"] == pytest.approx(metrics.mean_absolute_error(gold_score, answer_score), abs=EXACT)
    assert row["rmse"] == pytest.approx(metrics.root_mean_squared_error(gold_score, answer_score), abs=EXACT)


def test_parts_and_sets_add_up_to_the_pool(built):
    for kind in ("set:", "part:"):
        total = built.query(
            "select rater_id, sum(n), sum(n_missing) from marts.rater_agreement "
            f"where dataset = 'labels' and starts_with(scope, '{kind}') group by all order by all"
        )
        pooled = built.query(
            "select rater_id, n, n_missing from marts.rater_agreement "
            "where dataset = 'labels' and scope = 'pooled' order by all"
        )
        assert total == pooled


def test_common_accuracy_is_over_what_every_rater_answered(built):
    said = {rater: pairs_by_item(built, rater) for rater in ("reader", "sleeper", "mono")}
    common = set.intersection(*(set(items) for items in said.values()))
    for rater, items in said.items():
        row = agreement(built, "labels", rater=rater)
        assert row["n_common"] == len(common) < row["n_items"]
        assert row["accuracy_common"] == pytest.approx(np.mean([items[item] for item in common]), abs=EXACT)


def pairs_by_item(built, rater):
    return dict(
        built.query(
            "select item_id, is_equal from core.gold_comparisons "
            f"where dataset = 'labels' and rater_id = '{rater}' and is_answered"
        )
    )


def test_choices_have_accuracy_only_and_what_was_not_asked_is_not_wrong(built):
    row = agreement(built, "choices", rater="solver")
    assert (row["n"], row["n_missing"], row["n_not_asked"]) == (7, 1, 1)
    assert (row["accuracy"], row["accuracy_all"]) == (pytest.approx(2 / 7), pytest.approx(2 / 7))
    assert (row["qwk"], row["f1_macro"]) == (None, None)
    assert row["undefined_reason"] == "options have no order: accuracy only"


def test_no_number_is_nan_and_nulls_have_no_rank(built):
    assert built.query("select count(*) from marts.rater_agreement where isnan(coalesce(qwk, pearson_r, 0))") == [(0,)]
    ranks = built.query(
        "select accuracy, rank_accuracy from marts.leaderboard "
        "where dataset in ('labels', 'silent') order by accuracy desc"
    )
    assert [rank for accuracy, rank in ranks if accuracy is not None] == [1, 2, 3]
    assert [rank for accuracy, rank in ranks if accuracy is None] == [None]
