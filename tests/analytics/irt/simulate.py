"""Draw responses from known parameters, for the tests of this folder."""

import numpy as np

from analytics.irt.items import ItemParameters, category_probabilities, item_parameters
from analytics.irt.responses import FloatArray


def some_items(family: str, n_items: int, rng: np.random.Generator, *, n_categories: int = 3) -> ItemParameters:
    slope = rng.lognormal(0.0, 0.25, n_items)
    if family == "logistic":
        return item_parameters("logistic", rng.normal(size=n_items), slope=slope)
    thresholds = np.sort(rng.normal(size=(n_items, n_categories - 1)), axis=1)
    return item_parameters(family, thresholds, slope=slope)  # type: ignore[arg-type]


def draw(items: ItemParameters, theta: FloatArray, rng: np.random.Generator, *, missing: float = 0.0) -> FloatArray:
    p, _, _ = category_probabilities(items, np.arange(len(items.slope))[None, :], theta[:, None])
    above = np.cumsum(p, axis=2)[:, :, :-1]
    values = np.sum(rng.random(p.shape[:2])[:, :, None] > above, axis=2).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return values
