"""Variance components of crossed designs: balanced truth, and the recorded grades."""

import numpy as np
import polars as pl
import pytest

from analytics.ctt.generalisability import d_study, g_study
from analytics.ctt.reliability import reliability


def test_known_components_are_recovered(rng) -> None:
    sd = {"i": 1.0, "m": 0.5, "c": 0.3, "im": 0.6, "ic": 0.4, "mc": 0.2, "r": 0.8}
    n_i, n_m, n_c = 400, 25, 20
    draw = lambda name, *shape: rng.normal(0, sd[name], shape)  # noqa: E731
    x = draw("i", n_i, 1, 1) + draw("m", 1, n_m, 1) + draw("c", 1, 1, n_c) + draw("im", n_i, n_m, 1)
    x = x + draw("ic", n_i, 1, n_c) + draw("mc", 1, n_m, n_c) + draw("r", n_i, n_m, n_c)
    found = g_study(x)
    assert found.item == pytest.approx(1.0, rel=0.15)
    assert found.item_model == pytest.approx(0.36, rel=0.1)
    assert found.item_condition == pytest.approx(0.16, rel=0.1)
    assert found.residual == pytest.approx(0.64, rel=0.05)
    assert found.model == pytest.approx(0.25, rel=0.6)  # 25 models: a variance on 24 degrees of freedom
    assert found.at_zero == ()


def test_two_by_two_by_two_by_hand() -> None:
    # items differ by 1 everywhere, nothing else varies: the item variance is 1/2, all the rest is 0
    x = np.broadcast_to(np.array([0.0, 1.0])[:, None, None], (2, 2, 2))
    found = g_study(x)
    assert found.item == pytest.approx(0.5)
    assert found.residual == pytest.approx(0.0, abs=1e-15)
    assert d_study(found, n_models=1, n_conditions=1).relative == pytest.approx(1.0)


def test_negative_estimates_are_zero_and_named() -> None:
    x = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])  # three-way interaction only
    found = g_study(x)
    # mean squares: residual 2, all others 0, so that item x model = (0 - 2) / 2 and item = (0 - 0 - 0 + 2) / 4
    assert (found.item, found.item_model, found.residual) == (0.5, 0.0, 2.0)
    assert found.at_zero == ("item_model", "item_condition", "model_condition")


def test_more_models_generalise_better(rng) -> None:
    x = rng.normal(size=(50, 1, 1)) + rng.normal(size=(50, 3, 1)) + rng.normal(size=(50, 3, 4))
    study = g_study(x)
    relative = [d_study(study, n_models=n, n_conditions=4).relative for n in (1, 3, 10)]
    assert relative == sorted(relative)
    assert d_study(study, n_models=3, n_conditions=4).absolute <= relative[1]


def test_too_small_a_design_is_refused() -> None:
    with pytest.raises(ValueError, match="at least"):
        g_study(np.ones((5, 1, 3)))
    with pytest.raises(ValueError, match="two complete items"):
        g_study(np.full((5, 2, 2), np.nan))


def test_recorded_raters_are_three_models_not_twenty_one_graders(data_dir) -> None:
    grades = pl.read_csv(data_dir / "sgrades" / "llm_grades_sciEntsBank_3way.csv", infer_schema_length=0)
    raters = sorted(column for column in grades.columns if "|" in column)
    right = grades.select(pl.col(r).eq(pl.col("gold")).cast(pl.Float64) for r in raters).fill_null(float("nan"))
    cube = right.to_numpy().reshape(-1, 3, 7)  # sorted names: model is the slow index
    study = g_study(cube)
    assert d_study(study, n_models=3, n_conditions=7).relative == pytest.approx(0.883, abs=5e-4)
    complete = right.to_numpy()[~np.isnan(cube).any(axis=(1, 2))]
    assert reliability(complete).alpha == pytest.approx(0.971, abs=5e-4)
    r, model = np.corrcoef(complete, rowvar=False), np.arange(21) // 7
    same = (model[:, None] == model) & ~np.eye(21, dtype=bool)
    assert r[same].mean() == pytest.approx(0.735, abs=5e-4)
    assert r[model[:, None] != model].mean() == pytest.approx(0.565, abs=5e-4)
