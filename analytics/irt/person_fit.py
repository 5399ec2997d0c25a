"""Whether a person's answers follow the model: l_z* and its parametric bootstrap.

Holds person fit. Item fit belongs to ``fit_statistics``.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analytics.irt.ability import score_abilities
from analytics.irt.items import ItemParameters, align_responses, category_probabilities, select_items
from analytics.irt.reading import responses_from_long
from analytics.irt.responses import FloatArray, Responses
from analytics.literals import check_option

PersonFitMethod = Literal["ml", "map", "wle"]
"""Ability estimators for which the correction of l_z is known."""


@dataclass(frozen=True, slots=True)
class PersonFit:
    """Person fit in the order of the input.

    Attributes
    ----------
    person_ids
        Labels.
    lz, lz_star
        Shape (n_persons,): standardised log-likelihood, and the same corrected for the estimated ability; low values
        are misfit. NaN with a reason.
    p_value
        Shape (n_persons,): share of bootstrap values at most the observed, plus one of both; NaN without bootstrap.
    n_draws
        Bootstrap draws.
    reason
        Why the statistic is undefined, empty where it is not.
    """

    person_ids: tuple[str, ...]
    lz: FloatArray
    lz_star: FloatArray
    p_value: FloatArray
    n_draws: int
    reason: tuple[str, ...]


def person_fit(
    items: ItemParameters,
    responses: Responses,
    *,
    method: PersonFitMethod = "wle",
    prior_mean: float = 0.0,
    prior_sd: float = 1.0,
    n_draws: int = 0,
    rng: np.random.Generator | None = None,
) -> PersonFit:
    """Return l_z (Drasgow, Levine & Williams 1985) and l_z* (Snijders 2001; for any categories Sinharay 2016).

    Parameters
    ----------
    items, responses
        Calibrated items and the responses.
    method, prior_mean, prior_sd
        Ability estimator and its prior.
    n_draws
        Parametric bootstrap draws: answers simulated at the estimate, ability estimated anew.
    rng
        Generator of the draws.

    Raises
    ------
    ValueError
        If draws are asked for without a generator.
    """
    check_option("method", method, PersonFitMethod)
    if n_draws and rng is None:
        raise ValueError("a bootstrap needs rng, a numpy Generator with a seed of your own")
    table = select_items(items, responses)
    data = align_responses(items, responses)
    theta, lz, star = _statistics(table, data, method, prior_mean, prior_sd)
    p_value = np.full(data.n_persons, np.nan)
    if n_draws and rng is not None:
        below = np.ones(data.n_persons)
        for _ in range(n_draws):
            _, _, drawn = _statistics(table, _simulated(table, data, theta, rng), method, prior_mean, prior_sd)
            # a draw whose statistic is undefined counts as no more regular than the observed row
            below += ~(drawn > star)
        p_value = np.where(np.isfinite(star), below / (n_draws + 1), np.nan)
    reason = tuple("" if np.isfinite(value) else "no finite ability, or no answer can surprise" for value in star)
    return PersonFit(data.person_ids, lz, star, p_value, n_draws, reason)


def _statistics(
    items: ItemParameters, data: Responses, method: PersonFitMethod, mean: float, sd: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return theta, l_z and l_z* of recoded responses."""
    plain = ItemParameters(
        items.family,
        items.item_ids,
        items.slope,
        items.thresholds,
        items.lower,
        tuple(tuple(range(len(found))) for found in items.scores),
    )
    theta = score_abilities(plain, data, method=method, prior_mean=mean, prior_sd=sd).theta
    rows, codes, values = data.triples()
    kept = np.isfinite(theta[rows]) & items.is_estimated[codes]
    rows, codes, values = rows[kept], codes[kept], values[kept]
    p, first, second = category_probabilities(items, codes, theta[rows])
    safe = np.maximum(p, 1e-300)
    w, r = np.log(safe), first / safe

    def total(cells: FloatArray) -> FloatArray:
        return np.bincount(rows, weights=cells, minlength=data.n_persons).astype(np.float64)

    observed = w[np.arange(len(rows)), values]
    centred = total(observed - np.sum(p * w, axis=1))
    information = total(np.sum(first * r, axis=1))
    if method == "ml":
        r0 = np.zeros(data.n_persons)
    elif method == "map":
        r0 = -(theta - mean) / sd**2
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            r0 = total(np.sum(first * second / safe, axis=1)) / (2 * information)
    with np.errstate(invalid="ignore", divide="ignore"):
        c = total(np.sum(first * w, axis=1)) / information
        corrected = w - np.nan_to_num(c)[rows][:, None] * r

        def spread(values_: FloatArray) -> FloatArray:
            return np.sqrt(total(np.sum(p * values_**2, axis=1) - np.sum(p * values_, axis=1) ** 2))

        lz, star = centred / spread(w), (centred + c * r0) / spread(corrected)
    undefined = ~(np.isfinite(lz) & np.isfinite(star))
    lz[undefined], star[undefined] = np.nan, np.nan
    return theta, lz, star


def _simulated(items: ItemParameters, data: Responses, theta: FloatArray, rng: np.random.Generator) -> Responses:
    """Return answers drawn from the model in the observed cells; cells without a finite ability stay as they are."""
    rows, codes, values = data.triples()
    drawn = values.copy()
    kept = np.isfinite(theta[rows]) & items.is_estimated[codes]
    p, _, _ = category_probabilities(items, codes[kept], theta[rows[kept]])
    above = np.cumsum(p, axis=1)[:, :-1]
    drawn[kept] = np.sum(rng.random(len(above))[:, None] > above, axis=1)
    return responses_from_long(
        rows, codes, drawn, person_ids=data.person_ids, item_ids=data.item_ids, weights=data.weights
    )
