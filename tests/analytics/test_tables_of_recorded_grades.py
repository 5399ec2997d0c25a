"""The tables of the recorded grades: ranks by missing policy, errors by model, bins cut without the rater's model."""

import polars as pl

from analytics.tables import fit_dataset


def recorded_cells(data_dir, name: str) -> pl.DataFrame:
    grades = pl.read_csv(data_dir / "sgrades" / f"llm_grades_{name}_3way.csv", infer_schema_length=0)
    raters = [column for column in grades.columns if "|" in column]
    long = grades.unpivot(
        index=["answer_id", "question_id", "gold"], on=raters, variable_name="rater_id", value_name="answer_label"
    )
    is_blank = pl.col("answer_label").is_null()
    return long.select(
        "rater_id",
        "answer_label",
        model=pl.col("rater_id").str.split("|").list.first(),
        item_id="answer_id",
        testlet_id="question_id",
        is_correct=(pl.col("answer_label") == pl.col("gold")).cast(pl.Int8),
        status=pl.when(is_blank).then(pl.lit("not_recorded")).otherwise(pl.lit("ok")),
        gold_label="gold",
    )


def test_recorded_grades_rank_by_missing_policy(data_dir) -> None:
    found = fit_dataset(recorded_cells(data_dir, "sciEntsBank"), dataset="scientsbank_3way")
    assert found.irt_fits["is_converged"].all()
    assert found.irt_fits["n_items"].to_list() == [5835, 5835, 5835]
    plain = found.irt_fits.filter(irt_model="1pl_testlet")
    fits = dict(plain.select("missing_policy", "fit_id").iter_rows())
    # siblings share much about an item: taken for independent they make its difficulty look known
    errors = found.irt_items.group_by("fit_id").agg(pl.col("b_se").mean())
    facet = found.irt_fits.filter(irt_model="1pl_testlet_model_facet")
    assert facet["sd_v"].item() > 1.5
    mean_se = dict(errors.iter_rows())
    assert mean_se[facet["fit_id"].item()] > 1.5 * mean_se[fits["omit"]]
    rank = {
        policy: found.irt_raters.filter(
            (pl.col("fit_id") == fit_id) & (pl.col("rater_id") == "gemini-2.5-flash|inductive")
        )["rank"].item()
        for policy, fit_id in fits.items()
    }
    assert rank == {"omit": 1, "incorrect": 20}
    # own bins flatter the model: their hardest bin is far below that of bins cut without the rater's model
    hardest = found.rater_bins.filter((pl.col("fit_id") == fits["omit"]) & (pl.col("difficulty_bin") == "B5"))
    mean = dict(hardest.group_by("bin_source").agg(pl.col("accuracy").mean()).iter_rows())
    assert mean["own_fit"] < 0.06
    assert mean["leave_model_out"] > 0.1
