"""Recorded grades of 21 raters on two data sets give the numbers that their authors published."""

from datetime import UTC, datetime

import polars as pl
import pytest

from inference.rows import RAW_TABLES, schema_of

pytestmark = pytest.mark.slow

FILES = {"BEEtlE_3way": "beetle_3way", "SciEntSBank_3way": "sciEntsBank_3way"}
PUBLISHED = 1e-9
"""The published numbers have all their digits."""


def read_grades(path):
    """Return a file of grades, one row per rater and answer; a blank is null."""
    frame = pl.read_csv(path, infer_schema=False)
    raters = [name for name in frame.columns if "|" in name]
    keys = ["answer_id", "question_id", "split", "gold"]
    return frame.unpivot(on=raters, index=keys, variable_name="rater_id", value_name="text").with_columns(
        pl.col("text").str.strip_chars().replace("", None)
    )


def declared(table, frame):
    """Return a frame with the columns of a raw table; what it lacks is null."""
    schema = schema_of(RAW_TABLES[table])
    lacking = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns]
    return frame.with_columns(lacking).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def requests_of(dataset, grades):
    request_id = pl.concat_str(pl.lit(dataset), "rater_id", "answer_id", separator="/")
    return grades.select(
        "rater_id", "text", request_id=request_id, attempt_id=request_id + "/1", dataset=pl.lit(dataset),
        item_id="answer_id", replicate=0, attempt=1, content_hash=pl.lit("c"), studies=pl.lit("s"),
        settings_hash=pl.lit("s"), engine=pl.lit("recorded"), engine_version=pl.lit("1"), chunk_id=pl.lit("k"),
        finished_at=pl.lit(datetime(2026, 1, 1, tzinfo=UTC)),
        finish_reason=pl.when(pl.col("text").is_null()).then(pl.lit("not_recorded")).otherwise(pl.lit("stop")),
    )  # fmt: skip


@pytest.fixture(scope="module")
def recorded(new_warehouse, data_dir):
    warehouse, asked = new_warehouse(), []
    for dataset, file in FILES.items():
        grades = read_grades(data_dir / "sgrades" / f"llm_grades_{file}.csv")
        items = grades.unique("answer_id").sort("answer_id").rows(named=True)
        described = [
            {
                "item_id": row["answer_id"],
                "testlet_id": row["question_id"],
                "gold_label": row["gold"],
                "test_part": row["split"].replace("-", "_"),
            }
            for row in items
        ]
        warehouse.dataset(dataset, "label", described, label_set="three")
        asked.append(requests_of(dataset, grades))
    for rater_id in sorted(set(pl.concat(asked)["rater_id"])):
        warehouse.rater(rater_id)
    warehouse.write()
    for table in ("requests", "responses"):
        warehouse.replace(f"raw.{table}", declared(table, pl.concat(asked)))
    warehouse.dbt("run", "--select", "+rater_agreement", "+coverage", "response_matrix", "--quiet")
    return warehouse


def test_every_cell_is_in_the_matrix(recorded):
    assert recorded.query("select count(*) from core.response_matrix") == [(148_953,)]


def test_accuracy_and_weighted_scores_of_all_pairs_are_the_published_ones(recorded, data_dir):
    published = pl.read_csv(data_dir / "sgrades" / "reported_metrics.csv", infer_schema_length=None)
    published = published.filter(pl.col("strategy").is_not_null(), pl.col("dataset").is_in(list(FILES)))
    expected = {(row["dataset"], f"{row['model']}|{row['strategy']}"): row for row in published.rows(named=True)}
    found = recorded.records("select * from marts.rater_agreement where scope = 'pooled'")
    assert len(found) == len(expected) == 42
    names = {"accuracy": "accuracy", "f1_weighted": "f1_score", "recall_weighted": "recall"}
    for row in found:
        published_row = expected[row["dataset"], row["rater_id"]]
        for ours, theirs in names.items():
            assert row[ours] == pytest.approx(published_row[theirs], abs=PUBLISHED), (row["rater_id"], ours)


def test_blanks_are_not_recorded_and_not_wrong(recorded):
    shares = dict(
        recorded.query(
            "select rater_id, share from marts.coverage where dataset = 'SciEntSBank_3way' and status = 'ok' "
            "and rater_id in ('gemini-2.5-flash|inductive', 'gpt-4o-mini|inductive')"
        )
    )
    assert 0.80 < shares["gemini-2.5-flash|inductive"] < 0.84
    assert shares["gpt-4o-mini|inductive"] == 1.0
    statuses = recorded.query("select distinct status from core.response_matrix order by 1")
    assert statuses == [("not_recorded",), ("ok",)]
