"""Generalisability: how far scores of items would stand with other models and other conditions.

Holds the G-study of items crossed with models and conditions, and the D-study for other numbers of them. Does not
hold alpha (`reliability`), which takes sibling raters for independent ones.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analytics.matrix import FloatArray

COMPONENTS = ("item", "model", "condition", "item_model", "item_condition", "model_condition", "residual")
"""Sources of variance; the residual holds the three-way interaction."""


@dataclass(frozen=True, slots=True)
class GStudy:
    """Variance components of a crossed design, all facets random.

    Attributes
    ----------
    item, model, condition, item_model, item_condition, model_condition, residual
        Variances; estimates below 0 are set to 0 and named in `at_zero`.
    n_items, n_models, n_conditions
        Sizes of the design used.
    at_zero
        Components whose estimate was negative.
    """

    item: float
    model: float
    condition: float
    item_model: float
    item_condition: float
    model_condition: float
    residual: float
    n_items: int
    n_models: int
    n_conditions: int
    at_zero: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DStudy:
    """Coefficients for the mean over given numbers of models and conditions.

    Attributes
    ----------
    relative
        Generalisability coefficient: item order only (error: the interactions with items).
    absolute
        Dependability coefficient: item level as well (error: main effects too).
    over_models
        Generalisability over models with these conditions fixed: what the conditions share is part of the item.
    n_models, n_conditions
        Numbers averaged over.
    """

    relative: float
    absolute: float
    over_models: float
    n_models: int
    n_conditions: int


def g_study(scores: FloatArray) -> GStudy:
    """Variance components from the expected mean squares (Brennan 2001).

    Parameters
    ----------
    scores
        Shape (n_items, n_models, n_conditions); items with a missing cell are left out.

    Raises
    ------
    ValueError
        If a facet has fewer than two levels, or fewer than two items are complete.
    """
    x = scores[~np.isnan(scores).any(axis=(1, 2))]
    sizes = np.array(x.shape)
    if sizes.min() < 2:
        raise ValueError(f"a G-study needs two complete items, models and conditions at least; got {tuple(sizes)}")
    grand = x.mean()
    mean_squares = {}
    for axes in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        effect = _effect(x, axes, float(grand))
        repeats = np.prod([sizes[axis] for axis in range(3) if axis not in axes])
        mean_squares[axes] = repeats * np.sum(effect**2) / np.prod([sizes[axis] - 1 for axis in axes])
    ms_i, ms_m, ms_c, ms_im, ms_ic, ms_mc, ms_r = (float(value) for value in mean_squares.values())
    n_i, n_m, n_c = (int(size) for size in sizes)
    raw = {
        "item": (ms_i - ms_im - ms_ic + ms_r) / (n_m * n_c),
        "model": (ms_m - ms_im - ms_mc + ms_r) / (n_i * n_c),
        "condition": (ms_c - ms_ic - ms_mc + ms_r) / (n_i * n_m),
        "item_model": (ms_im - ms_r) / n_c,
        "item_condition": (ms_ic - ms_r) / n_m,
        "model_condition": (ms_mc - ms_r) / n_i,
        "residual": ms_r,
    }
    return GStudy(
        **{name: max(value, 0.0) for name, value in raw.items()},
        n_items=n_i,
        n_models=n_m,
        n_conditions=n_c,
        at_zero=tuple(name for name, value in raw.items() if value < 0),
    )


def d_study(study: GStudy, *, n_models: int, n_conditions: int) -> DStudy:
    """Coefficients of the mean over `n_models` models and `n_conditions` conditions."""
    both = n_models * n_conditions
    interactions = study.item_model / n_models + study.item_condition / n_conditions + study.residual / both
    levels = study.model / n_models + study.condition / n_conditions + study.model_condition / both
    shared = study.item + study.item_condition / n_conditions
    over_models = study.item_model / n_models + study.residual / both
    return DStudy(
        relative=_share(study.item, interactions),
        absolute=_share(study.item, interactions + levels),
        over_models=_share(shared, over_models),
        n_models=n_models,
        n_conditions=n_conditions,
    )


def _share(true: float, error: float) -> float:
    return true / (true + error) if true + error > 0 else float("nan")


def _effect(x: FloatArray, axes: tuple[int, ...], grand: float) -> FloatArray:
    """Effect of a set of facets: its means less the effects of every smaller set."""
    total: FloatArray = np.full((1, 1, 1), (-1.0) ** len(axes) * grand)
    for size in range(1, len(axes) + 1):
        for subset in combinations(axes, size):
            others = tuple(axis for axis in range(3) if axis not in subset)
            total = total + (-1.0) ** (len(axes) - size) * x.mean(axis=others, keepdims=True)
    return total
