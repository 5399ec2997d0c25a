"""A small published file made by hand, with the columns of the public contract that its readers use."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from orchestration.settings import Settings

STATUSES = ("ok", "invalid", "refused", "truncated", "empty", "error", "not_recorded", "not_asked")
LABELS = ("correct", "contradictory", "incorrect")
N_RATERS, N_ITEMS = 12, 30


def _raters() -> pl.DataFrame:
    """Twelve raters: three models under four conditions."""
    rows = [(model, condition) for model in ("alpha", "beta", "gamma") for condition in ("0", "5", "role", "cot")]
    return pl.DataFrame(
        {
            "rater_id": [f"{model}|{condition}" for model, condition in rows],
            "task": "grade",
            "model": [model for model, _ in rows],
            "revision": None,
            "family": [f"{model}-family" for model, _ in rows],
            "condition": [condition for _, condition in rows],
            "persona": None,
            "strategy": [condition for _, condition in rows],
            "n_shots": [5 if condition == "5" else 0 for _, condition in rows],
            "exemplar_dataset": None,
            "exemplar_seed": None,
            "temperature": 0.5,
            "option_rotation": 0,
            "engine": "recorded",
            "settings_hash": [f"hash-{i}" for i in range(N_RATERS)],
            "is_active": True,
        },
        schema_overrides={
            "revision": pl.String, "persona": pl.String, "exemplar_dataset": pl.String, "exemplar_seed": pl.Int64,
        },
    )  # fmt: skip


def _items(dataset: str, kind: str) -> pl.DataFrame:
    """Thirty items in six testlets; ids with leading zeros, which must stay."""
    ids = [f"{i:03d}" for i in range(N_ITEMS)]
    gold = [LABELS[i % 3] for i in range(N_ITEMS)]
    return pl.DataFrame(
        {
            "dataset": dataset,
            "item_id": ids,
            "testlet_id": [f"q{i // 5}" for i in range(N_ITEMS)],
            "stratum": ["B2" if i % 2 else "C1" for i in range(N_ITEMS)],
            "split": "test",
            "test_part": "unseen_answers",
            "item_text": [f'answer {i}, "so to say"' for i in range(N_ITEMS)],
            "gold_label": gold if kind == "label" else [None] * N_ITEMS,
            "gold_score": [None] * N_ITEMS if kind == "label" else [float(i % 4) for i in range(N_ITEMS)],
            "answer_key": None,
            "min_score": 0.0 if kind == "score" else None,
            "max_score": 3.0 if kind == "score" else None,
        },
        schema_overrides={
            "gold_label": pl.String, "gold_score": pl.Float64, "answer_key": pl.String,
            "min_score": pl.Float64, "max_score": pl.Float64,
        },
    )  # fmt: skip


def _cells(items: pl.DataFrame, raters: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Draw right and wrong by ability and difficulty; some cells are missing, each for a stated reason."""
    theta, b = np.linspace(-1.2, 1.8, N_RATERS), np.linspace(-2, 2, N_ITEMS)
    right = rng.random((N_RATERS, N_ITEMS)) < 1 / (1 + np.exp(b[None, :] - theta[:, None]))
    status = np.where(rng.random((N_RATERS, N_ITEMS)) < 0.9, "ok", rng.choice(STATUSES[1:], (N_RATERS, N_ITEMS)))
    by_rater = raters.select("rater_id", "model")[np.repeat(np.arange(N_RATERS), N_ITEMS)]
    by_item = items.select("dataset", "item_id", "testlet_id")[np.tile(np.arange(N_ITEMS), N_RATERS)]
    return (
        pl.concat([by_rater, by_item], how="horizontal")
        .with_columns(
            task=pl.lit("grade"),
            status=pl.Series(status.ravel()),
            is_correct=pl.Series(right.ravel().astype(np.int32)),
        )
        .with_columns(is_correct=pl.when(pl.col("status") == "ok").then("is_correct"))
    )


def _tables(dataset: str, kind: str, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    raters, items = _raters(), _items(dataset, kind)
    cells = _cells(items, raters, rng)
    fit_id, fit = f"fit-{dataset}", {"fit_id": f"fit-{dataset}", "dataset": dataset}
    answer = pl.when(pl.col("is_correct") == 1).then("gold_label").otherwise(pl.lit("incorrect"))
    cells = cells.join(
        items.select("item_id", "gold_label", "gold_score"), on="item_id", how="left", maintain_order="left"
    ).with_columns(
        answer_label=pl.when(pl.col("status") == "ok").then(answer),
        answer_score=pl.when(pl.col("status") == "ok").then(pl.col("gold_score")).cast(pl.Float64),
        replicate=pl.lit(0),
        text=pl.lit("verbatim"),
        difficulty_bin=pl.format("B{}", pl.col("item_id").cast(pl.Int64) // 6 + 1),
    )
    by_rater = cells.group_by("rater_id", "model", maintain_order=True).agg(
        n_observed=pl.col("is_correct").count().cast(pl.Int64), n_right=pl.col("is_correct").sum().cast(pl.Int64)
    )
    theta = np.linspace(-1.2, 1.8, N_RATERS)
    slope = np.linspace(-0.1, 0.1, N_RATERS)
    bins = cells.group_by("rater_id", "model", "difficulty_bin").agg(
        n=pl.col("is_correct").count().cast(pl.Int64), accuracy=pl.col("is_correct").mean()
    )
    confusion = cells.drop_nulls(["gold_label", "answer_label"])
    keys = ["rater_id", "difficulty_bin", "gold_label", "answer_label"]
    return {
        "core.datasets": pl.DataFrame(
            {"dataset": [dataset], "title": [f"Title of {dataset}"], "response_kind": [kind], "paradigm": ["asag"],
             "label_set": ["three_way" if kind == "label" else None], "licence": ["Apache-2.0"],
             "is_text_public": [True], "is_gold_public": [True]},
            schema_overrides={"label_set": pl.String},
        ),
        "core.items": items,
        "core.response_matrix": cells.select(
            "dataset", "rater_id", "item_id", "testlet_id", "task", "is_correct", "answer_score", "status"
        ),
        "core.responses": cells.select("dataset", "rater_id", "item_id", "replicate", "status", "answer_label", "text"),
        "psychometrics.irt_fits": pl.DataFrame(
            {**fit, "irt_model": "1PL testlet", "missing_policy": "omit", "is_primary": True, "undefined_reason": None},
            schema_overrides={"undefined_reason": pl.String},
        ),
        "psychometrics.irt_raters": by_rater.with_columns(
            fit_id=pl.lit(fit_id), dataset=pl.lit(dataset), theta=pl.Series(theta), theta_se=pl.lit(0.3),
            rank=pl.Series(range(N_RATERS, 0, -1)), infit=pl.lit(1.02), outfit=pl.lit(0.9), is_extreme=pl.lit(False),
        ),
        "psychometrics.irt_items": items.select("item_id", "testlet_id").with_columns(
            fit_id=pl.lit(fit_id), dataset=pl.lit(dataset), b=pl.Series(np.linspace(-2, 2, N_ITEMS)), b_se=pl.lit(0.5),
            is_extreme=pl.lit(False),
            difficulty_bin=pl.format("B{}", pl.col("item_id").cast(pl.Int64) // 6 + 1),
        ),
        "marts.rater_robustness": bins.with_columns(
            fit_id=pl.lit(fit_id), dataset=pl.lit(dataset), bin_source=pl.lit("own_fit"),
            expected_accuracy=pl.col("accuracy") * 0.9,
        ),
        "marts.rater_slopes": by_rater.select("rater_id", "model", n="n_observed").with_columns(
            fit_id=pl.lit(fit_id), dataset=pl.lit(dataset), bin_source=pl.lit("own_fit"), slope=pl.lit(-0.1),
            excess_slope=pl.Series(slope), excess_slope_ci_low=pl.Series(slope - 0.05),
            excess_slope_ci_high=pl.Series(slope + 0.05),
        ),
        "marts.confusion_by_difficulty": confusion.group_by(keys).agg(n=pl.len().cast(pl.Int64)).with_columns(
            fit_id=pl.lit(fit_id), dataset=pl.lit(dataset)
        ),
        "marts.coverage": cells.group_by("dataset", "rater_id", "status").agg(n=pl.len().cast(pl.Int64)).with_columns(
            share=pl.col("n") / N_ITEMS
        ),
    }  # fmt: skip


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Publish by hand: an installation with a data set with labels and one with scores."""
    settings = Settings(home=tmp_path_factory.mktemp("home"), data=None)
    settings.published.mkdir()
    rng = np.random.default_rng(7)
    parts = [_tables("labels", "label", rng), _tables("scores", "score", rng)]
    tables = {name: pl.concat([part[name] for part in parts]) for name in parts[0]}
    tables["core.raters"] = _raters()
    tables["core.labels"] = pl.DataFrame({"label_set": "three_way", "label": LABELS, "position": range(3)})
    write_tables(settings.analyst, tables)
    return settings


def write_tables(path: Path, tables: dict[str, pl.DataFrame]) -> None:
    """Write frames into a DuckDB file."""
    with duckdb.connect(str(path)) as connection:
        for schema in ("core", "psychometrics", "marts"):
            connection.execute(f"create schema {schema}")
        for name, frame in tables.items():
            connection.register("_frame", frame.to_arrow())
            connection.execute(f"create table {name} as from _frame")
            connection.unregister("_frame")
