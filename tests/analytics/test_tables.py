"""Frames in, frames out: contracts, policies, determinism, and degenerate datasets."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from analytics.fit_rows import NO_ORDER, FitHead, raters_frame
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_simulation import simulate_testlet
from analytics.matrix import ResponseMatrix
from analytics.schemas import PSYCHOMETRICS
from analytics.tables import DatasetTables, build_matrix, fit_dataset

LABELS = ("correct", "contradictory", "incorrect")


def simulated_cells(seed: int = 5, n_models: int = 3, per_model: int = 2, n_items: int = 40) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    b, gold = rng.normal(0, 1.5, n_items), rng.integers(0, 3, n_items)
    for m in range(n_models):
        for c in range(per_model):
            right = rng.random(n_items) < expit(rng.normal() - b)
            for j in range(n_items):
                answer = gold[j] if right[j] else (gold[j] + 1) % 3
                missing = rng.random() < 0.1
                rows.append(
                    {
                        "rater_id": f"m{m}|c{c}", "model": f"m{m}", "item_id": f"i{j:02d}", "testlet_id": f"t{j % 5}",
                        "is_correct": None if missing else int(right[j]),
                        "status": ("not_asked" if j == 0 else "invalid") if missing else "ok",
                        "gold_label": LABELS[gold[j]], "answer_label": None if missing else LABELS[answer],
                    }
                )  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"is_correct": pl.Int8})


@pytest.fixture(scope="module")
def tables() -> DatasetTables:
    return fit_dataset(simulated_cells(), dataset="demo", study="s0")


def test_every_frame_obeys_its_declaration_and_holds_no_nan(tables) -> None:
    for name, frame in tables.frames().items():
        assert dict(frame.schema) == PSYCHOMETRICS[name].schema, name
        assert frame.height > 0, name
        floats = frame.select(pl.col(pl.Float64).is_nan().any()).row(0)
        assert not any(floats), name


def test_there_is_one_primary_fit_and_it_takes_missing_as_missing(tables) -> None:
    primary = tables.irt_fits.filter("is_primary")
    assert primary["missing_policy"].to_list() == ["omit"]
    assert tables.irt_fits.select("irt_model", "missing_policy").sort(pl.all()).rows() == [
        ("1pl_testlet", "incorrect"), ("1pl_testlet", "omit"), ("1pl_testlet_model_facet", "omit"),
    ]  # fmt: skip
    assert primary["n_observed"].item() < tables.irt_fits.filter(missing_policy="incorrect")["n_observed"].item()
    assert "6 raters are 3 models" in primary["warnings"].item()


def test_what_was_not_asked_stays_missing_when_missing_counts_as_wrong() -> None:
    cells = pl.DataFrame(
        {
            "rater_id": ["a", "a", "b", "b"], "model": ["a", "a", "b", "b"], "item_id": ["1", "2", "1", "2"],
            "testlet_id": ["t"] * 4, "is_correct": [None, None, 1, 0], "gold_label": ["x"] * 4,
            "status": ["not_asked", "truncated", "ok", "ok"], "answer_label": [None, None, "x", "y"],
        }
    )  # fmt: skip
    np.testing.assert_array_equal(build_matrix(cells, "incorrect").responses, [[np.nan, 0], [1, 0]])
    np.testing.assert_array_equal(build_matrix(cells, "omit").responses, [[np.nan, np.nan], [1, 0]])


def test_two_runs_and_another_row_order_give_identical_tables(tables) -> None:
    again = fit_dataset(simulated_cells().sample(fraction=1.0, shuffle=True, seed=1), dataset="demo", study="s0")
    for name, frame in tables.frames().items():
        assert frame.equals(again.frames()[name]), name


def test_the_fit_id_follows_input_and_options(tables) -> None:
    changed = simulated_cells().with_columns(
        is_correct=pl.when((pl.col("rater_id") == "m0|c0") & (pl.col("item_id") == "i01"))
        .then(1 - pl.col("is_correct"))
        .otherwise(pl.col("is_correct"))
    )
    other = fit_dataset(changed, dataset="demo", study="s0")
    assert not set(other.irt_fits["fit_id"]) & set(tables.irt_fits["fit_id"])


def test_counts_in_bins_and_confusions_add_up(tables) -> None:
    cells = simulated_cells()
    primary = tables.irt_fits.filter("is_primary")["fit_id"].item()
    answered = cells.filter(pl.col("is_correct").is_not_null()).height
    bins = tables.rater_bins.filter((pl.col("fit_id") == primary) & (pl.col("bin_source") == "own_fit"))
    assert bins["n"].sum() == answered
    assert bins["n"].sum() + bins["n_missing"].sum() == cells.height
    confusion = tables.confusion_by_difficulty.filter(pl.col("fit_id") == primary)
    assert confusion["n"].sum() == answered
    shares = confusion.group_by("rater_id", "difficulty_bin", "gold_label").agg(pl.col("row_share").sum())
    np.testing.assert_allclose(shares["row_share"], 1.0)


def test_accuracy_in_the_bins_falls_for_everybody_together(tables) -> None:
    primary = tables.irt_fits.filter("is_primary")["fit_id"].item()
    rows = tables.rater_bins.filter((pl.col("fit_id") == primary) & (pl.col("bin_source") == "own_fit"))
    accuracy = rows.group_by("difficulty_bin").agg(pl.col("accuracy").mean()).sort("difficulty_bin")["accuracy"]
    assert accuracy.to_list() == sorted(accuracy, reverse=True)


def test_bins_without_the_raters_model_need_another_model() -> None:
    cells = simulated_cells(n_models=1, per_model=3)
    slopes = fit_dataset(cells, dataset="demo").rater_slopes.filter(pl.col("bin_source") == "leave_model_out")
    assert set(slopes["undefined_reason"]) == {"no other model has responses"}
    assert slopes["slope"].null_count() == slopes.height


def test_errors_by_model_stand_beside_the_naive_ones(tables) -> None:
    items = tables.irt_items.join(tables.irt_fits.filter("is_primary").select("fit_id"), on="fit_id")
    assert items["b_se"].null_count() == 0
    assert items["b_se_by_model"].null_count() == items["is_extreme"].sum()
    single = fit_dataset(simulated_cells(n_models=1, per_model=3), dataset="demo").irt_items
    assert single["b_se_by_model"].null_count() == single.height


def test_a_fit_with_the_model_facet_stands_beside_where_models_have_siblings(tables) -> None:
    facet = tables.irt_fits.filter(irt_model="1pl_testlet_model_facet")
    assert facet["sd_v"].item() >= 0
    assert facet["is_converged"].item()
    assert "standard errors take them as independent" not in (facet["warnings"].item() or "")
    assert tables.irt_fits.filter(irt_model="1pl_testlet")["sd_v"].null_count() == 2
    for table, n in ((tables.irt_items, 40), (tables.irt_raters, 6)):
        assert table.filter(fit_id=facet["fit_id"].item()).height == n
    alone = fit_dataset(simulated_cells(n_models=6, per_model=1), dataset="demo").irt_fits
    assert set(alone["irt_model"]) == {"1pl_testlet"}


def test_a_matrix_too_large_for_the_facet_says_so(monkeypatch) -> None:
    monkeypatch.setattr("analytics.facet_tables.FACET_CELLS", 100)
    found = fit_dataset(simulated_cells(), dataset="demo").irt_fits.filter(irt_model="1pl_testlet_model_facet")
    assert found["undefined_reason"].item() == "240 cells: item x model effects are fitted up to 100"
    assert not found["is_primary"].item()


def test_infit_and_outfit_are_near_one_and_rise_for_a_rater_that_guesses(tables) -> None:
    fits = tables.irt_raters.filter(pl.col("n_observed") > 0)
    assert fits["infit"].is_between(0.5, 1.5).all()
    assert fits["outfit"].is_between(0.2, 3.0).all()
    rng = np.random.default_rng(1)
    x = simulate_testlet(rng, n_raters=9, n_items=300, n_testlets=30)
    x.responses[4] = rng.random(300) < 0.5
    matrix = ResponseMatrix(
        x.responses, tuple(f"r{i}" for i in range(9)), tuple(f"i{j:03}" for j in range(300)),
        tuple(f"t{t:02}" for t in range(30)), x.item_testlet, tuple(f"m{i}" for i in range(9)),
    )  # fmt: skip
    frame = raters_frame(FitHead("f", "d", "s", "all", "omit"), matrix, fit_testlet(x.responses, x.item_testlet))
    assert frame.sort("infit")["rater_id"][-1] == "r4"
    assert frame.sort("outfit")["rater_id"][-1] == "r4"
    # the others' difficulties and testlet effects were fitted to these very responses
    assert 0.6 < frame.filter(pl.col("rater_id") != "r4")["infit"].mean() < 1.0


def test_intervals_stand_for_every_rater_and_say_why_where_there_is_none(tables) -> None:
    found = tables.intervals
    counts = {(metric, method): n for metric, method, n in found.group_by("metric", "method").len().iter_rows()}
    assert counts == {
        ("accuracy", "testlet_bootstrap"): 6, ("mean_accuracy", "testlet_bootstrap"): 1,
        ("theta_rank", "testlet_bootstrap"): 6, ("mean_accuracy", "two_way_bootstrap"): 1,
        ("theta_rank", "two_way_bootstrap"): 6,
    }  # fmt: skip
    primary = tables.irt_fits.filter("is_primary")["fit_id"].item()
    assert set(found["fit_id"]) == {primary}
    ranks = tables.irt_raters.filter(pl.col("fit_id") == primary).join(
        found.filter(metric="theta_rank", method="testlet_bootstrap"), left_on="rater_id", right_on="entity"
    )
    assert (ranks["rank"] == ranks["estimate"]).all()
    assert found["undefined_reason"].null_count() == found.height
    single = fit_dataset(simulated_cells(n_models=1, per_model=3), dataset="demo").intervals
    why = single.filter(method="two_way_bootstrap")["undefined_reason"].unique().to_list()
    assert why == ["1 testlet x model: nothing to resample"]


def test_raters_that_the_items_cannot_tell_apart_have_no_rank() -> None:
    # four raters, each right on another half of six items: every rater and item has the same total
    right = [(1, 1, 1, 0, 0, 0), (0, 0, 1, 1, 1, 0), (1, 0, 0, 0, 1, 1), (0, 1, 0, 1, 0, 1)]
    cells = pl.DataFrame(
        [
            {
                "rater_id": f"r{i}", "model": f"r{i}", "item_id": f"i{j}", "testlet_id": f"t{j % 3}", "is_correct": x,
                "status": "ok", "gold_label": "correct", "answer_label": "correct" if x else "incorrect",
            }
            for i, row in enumerate(right) for j, x in enumerate(row)
        ]
    )  # fmt: skip
    found = fit_dataset(cells, dataset="flat")
    assert found.irt_fits["sd_theta"].to_list() == [0.0, 0.0]
    assert found.irt_raters["theta"].null_count() == 0
    assert found.irt_raters["rank"].null_count() == found.irt_raters.height == 8
    assert set(found.irt_raters["undefined_reason"]) == {NO_ORDER}
    ranks = found.intervals.filter(metric="theta_rank")
    assert ranks["estimate"].null_count() == ranks["ci_low"].null_count() == ranks.height > 0
    assert set(ranks["undefined_reason"]) == {NO_ORDER}
    assert found.intervals.filter(metric="accuracy")["undefined_reason"].null_count() == 4


def test_raters_with_equal_responses_are_named() -> None:
    cells = simulated_cells()
    twin = cells.filter(pl.col("rater_id") == "m0|c0").with_columns(rater_id=pl.lit("m0|twin"))
    found = fit_dataset(pl.concat([cells, twin]), dataset="demo").irt_fits.filter("is_primary")
    assert "m0|c0 and m0|twin have equal responses" in found["warnings"].item()


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (simulated_cells().filter(pl.col("rater_id") == "m0|c0"), "1 rater: at least two are needed"),
        (simulated_cells().filter(pl.col("item_id") == "i03"), "1 item: at least two are needed"),
        (simulated_cells().with_columns(is_correct=pl.lit(None, dtype=pl.Int8), status=pl.lit("not_asked")), "no resp"),
        (simulated_cells().with_columns(is_correct=pl.lit(1, dtype=pl.Int8)), "every observed response is 1"),
        (simulated_cells().clear(), "0 raters"),
    ],
)
def test_a_dataset_that_cannot_be_fitted_gets_rows_that_say_why(cells, words) -> None:
    found = fit_dataset(cells, dataset="demo")
    assert found.irt_fits.height == 2
    assert all(words in reason for reason in found.irt_fits["undefined_reason"])
    assert not any(found.irt_fits["is_converged"])
    assert found.irt_items.height == 0
    assert dict(found.irt_items.schema) == PSYCHOMETRICS["irt_items"].schema


def test_missing_columns_are_named() -> None:
    with pytest.raises(ValueError, match=r"dataset 'demo': the cells lack the columns \['model'\]"):
        fit_dataset(simulated_cells().drop("model"), dataset="demo")


def test_a_frame_that_breaks_its_declaration_is_refused() -> None:
    table = PSYCHOMETRICS["irt_testlet_effects"]
    row = {"fit_id": "f", "dataset": "d", "rater_id": "r", "testlet_id": "t", "n_observed": 1, "u": 0.0, "u_se": 1.0}
    assert table.frame(pl.DataFrame([row])).height == 1
    with pytest.raises(ValueError, match=r"the key .* repeats"):
        table.frame(pl.DataFrame([row, row]))
    with pytest.raises(ValueError, match=r"\['u_se'\] are missing or undeclared"):
        table.frame(pl.DataFrame([row]).drop("u_se"))
    with pytest.raises(ValueError, match="null in the key"):
        table.frame(pl.DataFrame([row | {"rater_id": None}], schema=table.schema))
