"""The response matrix: scatter, canonical order, refusals."""

import numpy as np
import polars as pl
import pytest

from analytics.matrix import ResponseMatrix, scatter_responses

ROWS = pl.DataFrame(
    {
        "rater": ["m2|x", "m1|y", "m1|y", "m1|x"],
        "item": ["10", "007", "10", "7"],
        "testlet": ["t1", "t0", "t1", "t0"],
        "model": ["m2", "m1", "m1", "m1"],
        "response": [1.0, 0.0, None, 1.0],
    }
)


def scatter(rows: pl.DataFrame) -> ResponseMatrix:
    return scatter_responses(
        rater=rows["rater"],
        item=rows["item"],
        testlet=rows["testlet"],
        model=rows["model"],
        response=rows["response"].fill_null(float("nan")).to_numpy(),
    )


def test_labels_are_text_sorted_and_kept_apart() -> None:
    matrix = scatter(ROWS)
    assert matrix.rater_ids == ("m1|x", "m1|y", "m2|x")
    assert matrix.item_ids == ("007", "10", "7")
    assert matrix.rater_model == ("m1", "m1", "m2")
    assert [matrix.testlet_ids[t] for t in matrix.item_testlet] == ["t0", "t1", "t0"]
    nan = np.nan
    np.testing.assert_array_equal(matrix.responses, [[nan, nan, 1.0], [0.0, nan, nan], [nan, 1.0, nan]])
    assert matrix.n_observed == 3
    assert matrix.model_codes().tolist() == [0, 0, 1]


def test_the_order_of_rows_does_not_matter() -> None:
    first, second = scatter(ROWS), scatter(ROWS.reverse())
    assert first.item_ids == second.item_ids
    np.testing.assert_array_equal(first.responses, second.responses)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rater": "m1|y", "item": "10", "testlet": "t1", "model": "m1"}, r"\(m1\|y, 10\); keep one row per pair"),
        ({"rater": "m3|x", "item": "10", "testlet": "t0", "model": "m3"}, "item '10' has two testlets"),
        ({"rater": "m1|x", "item": "10", "testlet": "t1", "model": "m9"}, r"rater 'm1\|x' has two models"),
        ({"rater": None, "item": "10", "testlet": "t1", "model": "m9"}, "1 rows have no rater"),
    ],
)
def test_contradictions_are_named(change, words) -> None:
    rows = pl.concat([ROWS, pl.DataFrame([change | {"response": 1.0}], schema=ROWS.schema)])
    with pytest.raises(ValueError, match=words):
        scatter(rows)
