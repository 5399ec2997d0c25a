"""The testlet model with the rater's model as a random facet: an item x model term.

Holds the public fit. logit P = theta_i + u_it - b_j - v_jm for rater i of model m, with v ~ N(0, sd_v^2): what raters
of one model share about an item is theirs, and their agreement no longer counts as that of independent raters. Does
not hold the linear algebra (`testlet_facet_system`) or the fit without the facet (`testlet`).
"""

from dataclasses import dataclass

import numpy as np

from analytics.irt.testlet_facet_point import FacetScales
from analytics.irt.testlet_facet_search import (
    TOLERANCE,
    FacetData,
    FacetState,
    estimate_facet,
    pack_facet,
    solve_facet,
    start_facet,
)
from analytics.irt.testlet_result import SMALLEST_SD, Variances
from analytics.irt.testlet_scale import WithMarginalScale
from analytics.literals import check_option
from analytics.matrix import FloatArray, IntArray

IDENTIFICATION = "theta, u and v have prior mean 0; the mean of b is free"
DEFAULT_SCALES = FacetScales(theta=0.7, b=1.5, u=0.5, v=0.7)
"""Where the search for the standard deviations starts."""


@dataclass(frozen=True, slots=True)
class FacetFit(WithMarginalScale):
    """A penalised fit with a model facet; input order throughout.

    Attributes
    ----------
    theta, theta_se
        Ability, shape (n_raters,); NaN without responses.
    b, b_se
        Difficulty over models, shape (n_items,); NaN without responses.
    u
        Testlet effects, shape (n_raters, n_testlets).
    v
        Item x model effects, shape (n_items, n_models), positive where the item is harder for the model.
    mean_b, mean_b_se
        Mean difficulty.
    sd_theta, sd_b, sd_u, sd_v
        Standard deviations; 0 where the estimate is at its boundary.
    log_likelihood, marginal_log_likelihood
        At the mode without penalty; Laplace approximation of the marginal, to be compared with that of the fit without
        the facet.
    n_iterations, gradient_norm, is_converged
        Newton steps of the last search, and how it ended.
    n_models
        Levels of the facet.
    identification
        What fixes the origin of the scale.
    """

    theta: FloatArray
    theta_se: FloatArray
    b: FloatArray
    b_se: FloatArray
    u: FloatArray
    v: FloatArray
    mean_b: float
    mean_b_se: float
    sd_theta: float
    sd_b: float
    sd_u: float
    sd_v: float
    log_likelihood: float
    marginal_log_likelihood: float
    n_iterations: int
    gradient_norm: float
    is_converged: bool
    n_models: int
    identification: str

    @property
    def effect_sds(self) -> tuple[float, ...]:
        """Standard deviations of the effects that are averaged out: of testlets and of models."""
        return (self.sd_u, self.sd_v)


def fit_testlet_facet(
    responses: FloatArray,
    item_testlet: IntArray,
    rater_model: IntArray,
    *,
    variances: Variances = "laplace",
    scales: FacetScales = DEFAULT_SCALES,
) -> FacetFit:
    """Fit the testlet model with an item x model term.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items): 1, 0 or NaN.
    item_testlet
        Testlet index of each item, shape (n_items,).
    rater_model
        Model code of each rater, shape (n_raters,).
    variances
        ``given``: `scales` are used. ``laplace``: the search for them starts there; b and v of each item are
        integrated by quadrature (`testlet_facet_quadrature`), abilities by Laplace's method.
    scales
        Standard deviations; ``u = 0`` leaves testlet effects out.

    Raises
    ------
    ValueError
        If there is one model only (its v could not be told from b), nothing is observed or all responses are alike, the
        shapes disagree, or a standard deviation is not positive.
    """
    check_option("variances", variances, Variances)
    _check(responses, item_testlet, rater_model, scales)
    codes, model = np.unique(rater_model, return_inverse=True)
    if codes.size < 2:
        raise ValueError("a model facet needs raters of two models at least")
    data = pack_facet(responses, item_testlet, model, codes.size)
    state = solve_facet(data, scales, start_facet(data))
    is_converged = True
    if variances == "laplace":
        state, is_converged = estimate_facet(data, state)
    return _result(data, state, is_converged=is_converged and state.gradient_norm <= TOLERANCE)


def _check(responses: FloatArray, item_testlet: IntArray, rater_model: IntArray, scales: FacetScales) -> None:
    """Refuse what no fit can be made of."""
    shape = np.shape(responses)
    if len(shape) != 2 or shape != (np.size(rater_model), np.size(item_testlet)):
        raise ValueError(
            f"responses {shape}, {np.size(item_testlet)} testlets of items and {np.size(rater_model)} models of raters "
            "do not fit together"
        )
    seen = np.asarray(responses)[~np.isnan(responses)]
    if seen.size == 0:
        raise ValueError("no response is observed: there is nothing to fit")
    if np.all(seen == seen[0]):
        raise ValueError(f"every observed response is {seen[0]:g}: the mean difficulty has no finite value")
    if min(scales.theta, scales.b, scales.v) <= 0 or scales.u < 0:
        raise ValueError(f"standard deviations of theta, b and v are positive, that of u is not negative; got {scales}")


def _result(data: FacetData, state: FacetState, *, is_converged: bool) -> FacetFit:
    point, scales = state.point, state.scales
    variances, _, var_b = state.system.variances(point.u.shape, len(data.right))
    back, rater = np.argsort(data.cells.order), np.argsort(data.order)
    no_rater, no_item = data.seen.sum(axis=0) == 0, data.seen.sum(axis=1) == 0
    sds = [0.0 if sd <= SMALLEST_SD * 1.001 else float(sd) for sd in (scales.theta, scales.b, scales.u, scales.v)]
    return FacetFit(
        theta=np.where(no_rater, np.nan, point.theta)[rater],
        theta_se=np.where(no_rater, np.nan, np.sqrt(variances.theta))[rater],
        b=np.where(no_item, np.nan, point.b)[back],
        b_se=np.where(no_item, np.nan, np.sqrt(var_b))[back],
        u=point.u.T[rater],
        v=(point.d - point.b[:, None])[back],
        mean_b=point.mean_b,
        mean_b_se=float(np.sqrt(variances.mean_b)),
        sd_theta=sds[0],
        sd_b=sds[1],
        sd_u=sds[2],
        sd_v=sds[3],
        log_likelihood=state.log_likelihood,
        marginal_log_likelihood=state.marginal,
        n_iterations=state.n_iterations,
        gradient_norm=state.gradient_norm,
        is_converged=is_converged,
        n_models=data.edges.size - 1,
        identification=IDENTIFICATION,
    )
