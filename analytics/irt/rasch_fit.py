"""From complete labelled responses to a Rasch result over sum scores; the front of the Rasch model calls it.

Holds the report. The numbers come from ``rasch_scores``.
"""

import numpy as np

from analytics.irt.families import LOGISTIC
from analytics.irt.fit_result import IrtFit
from analytics.irt.fitting import select
from analytics.irt.marginal import Solution
from analytics.irt.model_spec import MarginalOptions, ModelSpec
from analytics.irt.rasch_likelihood import SumScores, sum_scores
from analytics.irt.rasch_scores import RaschSolution, maximise_scores
from analytics.irt.reporting import Estimates, report
from analytics.irt.responses import FloatArray, Responses
from analytics.irt.standard_errors import readable


def fit_rasch_scores(responses: Responses, spec: ModelSpec, options: MarginalOptions) -> IrtFit:
    """Fit the Rasch model to complete data; the same maximum as :func:`analytics.irt.fitting.fit_marginal`.

    Parameters
    ----------
    responses
        Dense, scores 0 and 1, no missing cell.
    spec, options
        A rescaled model with a common or fixed slope.

    Raises
    ------
    ValueError
        If the responses are sparse, or no item has two different responses.
    """
    selection = select(responses)
    dense = selection.data.dense
    if dense is None:
        raise ValueError("sum scores need a complete dense table")
    data = sum_scores(dense, selection.counts[selection.kept], responses.weights)
    found = maximise_scores(
        data,
        is_slope_free=spec.slope == "common",
        tolerance=options.search_tolerance,
        max_iterations=options.max_iterations,
        n_hermite=options.n_nodes if options.quadrature == "gauss_hermite" else None,
    )
    x = np.stack([np.full(len(found.d), found.slope), found.d], axis=1)[data.sum_of_item]
    n_categories = np.full(len(x), 2, dtype=np.int64)
    errors = np.full((len(x), 3), np.nan)
    slope_se = float("nan")
    has_errors = True
    if options.se_method != "none":
        errors[:, 2], slope_se = _errors(data, found, spec)
        has_errors = bool(np.all(np.isfinite(errors[:, 2])))
    nodes, mass = found.quadrature.nodes, found.point.posterior
    eap = mass @ nodes
    eap_sd = np.sqrt(np.einsum("rq,rq->r", mass, (nodes - eap[:, None]) ** 2))
    estimates = Estimates(
        readable(LOGISTIC, x, n_categories, is_rescaled=True),
        errors,
        found.slope,
        slope_se,
        has_errors,
        eap[data.score_of_person],
        eap_sd[data.score_of_person],
    )
    value = found.point.log_likelihood
    solution = Solution(x, value, value, found.gradient_norm, found.n_iterations)
    return report(responses, selection, spec, options, solution, estimates)


def _errors(data: SumScores, found: RaschSolution, spec: ModelSpec) -> tuple[FloatArray, float]:
    """Return standard errors of the difficulties and of the slope.

    Contrasts between items of one sum meet no missing information: their variance is 1 / (information of one item),
    times 1 - 1/m for m items. The part that the items of a sum share comes from the collapsed information.
    """
    variance = found.inverse.diagonal()
    shared = variance[:-1]
    if spec.center == "items":
        mean = np.append(data.multiplicity / data.multiplicity.sum(), 0.0)
        with_mean = found.inverse.times(mean)
        shared = shared - 2 * with_mean[:-1] + mean @ with_mean
    own = (1 - 1 / data.multiplicity) * data.multiplicity / found.inverse.c[:-1]
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(shared + own)[data.sum_of_item]
        return errors, float(np.sqrt(variance[-1])) if spec.slope == "common" else float("nan")
