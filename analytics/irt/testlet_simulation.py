"""Simulated responses with known truth, for recovery studies of the testlet models.

Holds the data-generating process. Does not hold fits or comparisons.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from analytics.matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class SimulatedResponses:
    """Responses and the parameters that they were drawn from.

    Attributes
    ----------
    responses
        1, 0 or NaN, shape (n_raters, n_items).
    item_testlet
        Testlet of each item, shape (n_items,); testlets are interleaved.
    rater_model
        Model of each rater, shape (n_raters,).
    theta, b
        Abilities (n_raters,) and difficulties (n_items,).
    u
        Testlet effects, shape (n_raters, n_testlets).
    v
        Item x model effects, shape (n_models, n_items).
    """

    responses: FloatArray
    item_testlet: IntArray
    rater_model: IntArray
    theta: FloatArray
    b: FloatArray
    u: FloatArray
    v: FloatArray


def simulate_testlet(
    rng: np.random.Generator,
    *,
    n_raters: int,
    n_items: int,
    n_testlets: int,
    n_models: int | None = None,
    sd_theta: float = 1.0,
    sd_b: float = 1.5,
    sd_u: float = 0.5,
    sd_v: float = 0.0,
    mean_b: float = 0.0,
    missing: float = 0.0,
) -> SimulatedResponses:
    """Draw responses with logit P = theta_i + u_it - b_j - v_jm.

    Parameters
    ----------
    rng
        Source of all draws.
    n_raters, n_items, n_testlets
        Sizes.
    n_models
        Models, raters spread evenly over them; None gives every rater its own.
    sd_theta, sd_b, sd_u, sd_v, mean_b
        Distributions of the parameters, all normal.
    missing
        Share of cells missing at random.
    """
    models = n_raters if n_models is None else n_models
    of_item, of_rater = np.arange(n_items) % n_testlets, np.arange(n_raters) * models // n_raters
    theta, b = rng.normal(0.0, sd_theta, n_raters), rng.normal(mean_b, sd_b, n_items)
    u, v = rng.normal(0.0, sd_u, (n_raters, n_testlets)), rng.normal(0.0, sd_v, (models, n_items))
    p = expit(theta[:, None] + u[:, of_item] - b - v[of_rater])
    responses = np.where(rng.random(p.shape) < missing, np.nan, (rng.random(p.shape) < p).astype(np.float64))
    return SimulatedResponses(responses, of_item, of_rater, theta, b, u, v)
