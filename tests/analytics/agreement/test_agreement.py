"""Agreement statistics against hand-worked numbers, and against scikit-learn where it is right."""

import numpy as np
import polars as pl
import pytest
from sklearn import metrics

from analytics.agreement.classification import class_scores
from analytics.agreement.kappa import cohen_kappa, exact_agreement, qwk, qwk_observed_categories
from analytics.agreement.krippendorff import krippendorff_alpha
from analytics.agreement.rounding import round_half_away

EXACT = 1e-12  # hand-worked fractions


def _floats(text: str) -> np.ndarray:
    return np.array([float(value) for value in text.split()])


def test_halves_are_rounded_away_from_zero() -> None:
    given = np.array([0.5, 1.5, 2.5, 6.5, -0.5, -2.5, 2.4999999999, 0.49999999999999994, np.nan])
    expected = np.array([1.0, 2.0, 3.0, 7.0, -1.0, -3.0, 2.0, 0.0, np.nan])
    np.testing.assert_array_equal(round_half_away(given), expected)


def test_qwk_uses_the_declared_scale() -> None:
    # squared distances: 0 9 0 1 0 -> observed 10/5 = 2; expected with gold (2 at 0, 2 at 3, 1 at 4) and answer
    # (1 at 0, 2 at 3, 2 at 4): (2(18 + 32) + 2(9 + 2) + (16 + 2)) / 25 = 140/25 = 5.6; 1 - 2/5.6
    gold, answer = _floats("0 0 3 3 4"), _floats("0 3 3 4 4")
    assert qwk(gold, answer, min_score=0, max_score=4).value == pytest.approx(0.642857142857143, abs=EXACT)
    assert qwk_observed_categories(gold, answer).value == pytest.approx(0.6875, abs=EXACT)


def test_pooling_two_scales_inflates_qwk() -> None:
    first = _floats("0 1 2 3 1 2"), _floats("1 0 2 1 3 2")
    second = _floats("20 30 40 50 35 45"), _floats("30 20 40 45 50 35")
    assert qwk(*first, min_score=0, max_score=3).value == pytest.approx(0.0909, abs=5e-5)
    assert qwk(*second, min_score=0, max_score=60).value == pytest.approx(0.5286, abs=5e-5)
    pooled = [np.concatenate(side) for side in zip(first, second, strict=True)]
    assert qwk(*pooled, min_score=0, max_score=60).value == pytest.approx(0.9349, abs=5e-5)


@pytest.mark.parametrize("statistic", [lambda g, a: qwk(g, a, min_score=0, max_score=2), cohen_kappa])
def test_kappa_with_one_class_is_undefined_with_its_reason_and_n(statistic) -> None:
    found = statistic(_floats("2 2 2"), _floats("2 2 2"))
    assert np.isnan(found.value)
    assert found.n == 3
    assert "one" in found.undefined_reason


def test_constant_gold_against_varying_answers_is_exactly_zero() -> None:
    assert qwk(_floats("1 1 1"), _floats("0 1 2"), min_score=0, max_score=2).value == 0.0


def test_one_row_is_undefined_when_equal_and_zero_when_not() -> None:
    assert np.isnan(qwk(_floats("1"), _floats("1"), min_score=0, max_score=2).value)
    assert qwk(_floats("1"), _floats("2"), min_score=0, max_score=2).value == 0.0


def test_blanks_are_dropped_pairwise_and_counted() -> None:
    found = qwk(np.array([0, 1, np.nan, 2.0]), np.array([0, np.nan, 1, 2.0]), min_score=0, max_score=2)
    assert (found.value, found.n, found.n_missing) == (1.0, 2, 2)
    labels = cohen_kappa(np.array(["a", None, "b"], dtype=object), np.array(["a", "a", "b"], dtype=object))
    assert (labels.value, labels.n, labels.n_missing) == (1.0, 2, 1)


def test_nothing_to_pair_is_undefined() -> None:
    empty = np.array([], dtype=object)
    for found in (cohen_kappa(empty, empty), exact_agreement(empty, empty), class_scores(empty, empty)):
        assert found.undefined_reason == "no pairs"
        assert found.n == 0


@pytest.mark.parametrize(("gold", "answer"), [([0.0, 5.0], [0.0, 1.0]), ([0.0, 1.0], [0.5, 1.0])])
def test_grades_off_the_scale_are_refused(gold, answer) -> None:
    with pytest.raises(ValueError, match="not a whole grade from 0 to 4"):
        qwk(np.array(gold), np.array(answer), min_score=0, max_score=4)


@pytest.mark.parametrize("seed", range(5))
def test_matches_scikit_learn_where_the_scale_is_passed_to_it(seed) -> None:
    rng = np.random.default_rng(seed)
    gold, answer = rng.integers(0, 6, 80), rng.integers(0, 6, 80)
    assert qwk(gold, answer, min_score=0, max_score=5).value == pytest.approx(
        metrics.cohen_kappa_score(gold, answer, weights="quadratic", labels=range(6)), abs=EXACT
    )
    assert cohen_kappa(gold, answer).value == pytest.approx(metrics.cohen_kappa_score(gold, answer), abs=EXACT)
    found = class_scores(gold, answer)
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(gold, answer, average="macro", zero_division=0)
    assert [found.precision_macro, found.recall_macro, found.f1_macro] == pytest.approx([precision, recall, f1])
    assert found.f1_weighted == pytest.approx(metrics.f1_score(gold, answer, average="weighted"))


def test_a_class_never_answered_counts_in_the_macro_average() -> None:
    # class a: hit 2 of gold 2, answered 3: F1 = 4/5; class b: 0
    found = class_scores(np.array(["a", "a", "b"], dtype=object), np.array(["a", "a", "a"], dtype=object))
    assert found.f1_macro == pytest.approx(0.4, abs=EXACT)
    assert found.f1_weighted == pytest.approx(2 / 3 * 0.8, abs=EXACT)


# Ratings of 4 coders on 12 units (Krippendorff 2011, section "any number of observers, missing data")
_CODERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, np.nan, np.nan, np.nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, np.nan, 3],
        [np.nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, np.nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, np.nan],
    ]
)


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorff_alpha_equals_the_published_example(level, alpha) -> None:
    found = krippendorff_alpha(_CODERS, level)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert found.n == 40  # the unit with one rating pairs with nothing


def test_krippendorff_alpha_by_hand() -> None:
    # units (a a) (a b) (b b): n = 6, disagreeing pairs 2 of 6; expected 2 * 3 * 3 / (6 * 5) = 18/30
    found = krippendorff_alpha(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    assert found.value == pytest.approx(1 - (2 / 6) / (18 / 30), abs=EXACT)


def test_krippendorff_alpha_of_one_value_is_undefined() -> None:
    found = krippendorff_alpha(np.ones((3, 4)))
    assert np.isnan(found.value)
    assert found.undefined_reason == "one value only"


def test_an_unknown_level_names_the_allowed_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown level 'cubic'; expected one of \('nominal'"):
        krippendorff_alpha(_CODERS, "cubic")  # type: ignore[arg-type]


@pytest.mark.parametrize(("file", "published"), [("sciEntsBank", "SciEntSBank_3way"), ("beetle", "BEEtlE_3way")])
def test_recorded_grades_reproduce_published_accuracy_and_weighted_f1(data_dir, file, published) -> None:
    grades = pl.read_csv(data_dir / "sgrades" / f"llm_grades_{file}_3way.csv", infer_schema_length=0)
    reported = pl.read_csv(data_dir / "sgrades" / "reported_metrics.csv", infer_schema_length=0).filter(
        (pl.col("dataset") == published) & pl.col("strategy").is_not_null()
    )
    assert reported.height == 21
    for row in reported.iter_rows(named=True):
        answers = grades[f"{row['model']}|{row['strategy']}"].to_numpy()
        found = class_scores(grades["gold"].to_numpy(), answers)
        assert found.accuracy == pytest.approx(float(row["accuracy"]), abs=1e-9)
        assert found.f1_weighted == pytest.approx(float(row["f1_score"]), abs=1e-9)


def test_published_kappas_of_the_small_set_are_on_observed_categories(data_dir) -> None:
    folder = data_dir / "sgrades"
    scores = pl.read_csv(folder / "llm_scores_numeric_datasets.csv", infer_schema_length=0)
    gold = pl.read_csv(folder / "os_gold_for_test_items.csv", infer_schema_length=0)
    reported = pl.read_csv(folder / "reported_metrics.csv", infer_schema_length=0).filter(
        pl.col("dataset").str.starts_with("OS_Dataset") & pl.col("strategy").is_not_null()
    )
    even, away, declared = 0, 0, 0
    for row in reported.iter_rows(named=True):
        own = scores.filter(pl.col("dataset") == row["dataset"])[f"{row['model']}|{row['strategy']}"].cast(pl.Float64)
        if own.is_null().all():
            continue  # one rater has no predictions for this set
        truth = gold.filter(pl.col("dataset") == row["dataset"])["score_1"].cast(pl.Float64).to_numpy()
        answer, published = own.to_numpy(), float(row["quadratic_weighted_kappa"])
        even += abs(qwk_observed_categories(truth, answer, halves="even").value - published) < 1e-9
        away += abs(qwk_observed_categories(truth, answer).value - published) < 1e-9
        rounded = round_half_away(truth), round_half_away(answer)
        declared += abs(qwk(*rounded, min_score=0, max_score=100).value - published) > 1e-3
    # all 100 with the rounding that they were computed with; the rule of the house moves three of them
    assert (even, away, declared) == (100, 97, 82)


def test_the_rule_for_halves_is_named_and_changes_classes() -> None:
    gold, answer = np.array([0.5, 2.5, 1.0, 3.0]), np.array([1.0, 2.0, 1.0, 3.0])
    assert qwk_observed_categories(gold, answer).value == pytest.approx(6 / 7, abs=EXACT)  # classes 1 3 1 3 and 1 2 1 3
    assert qwk_observed_categories(gold, answer, halves="even").value != qwk_observed_categories(gold, answer).value
    with pytest.raises(ValueError, match="'away', 'even'"):
        qwk_observed_categories(gold, answer, halves="up")  # type: ignore[arg-type]
