"""From labelled responses to a labelled result by conditional likelihood; the fronts of Rasch and PCM call it.

Holds the selection, the check that items can be compared at all, and the report. The numbers come from ``conditional``.
"""

from typing import Literal

import numpy as np

from analytics.irt.ability import score_abilities
from analytics.irt.conditional import fit_conditional
from analytics.irt.design import Finding, components
from analytics.irt.fit_result import Center, IrtFit
from analytics.irt.fitting import select
from analytics.irt.items import ItemParameters, ResponseFamily
from analytics.irt.model_spec import MarginalOptions
from analytics.irt.reporting import expander, item_reasons
from analytics.irt.responses import Responses

MOST_WITH_ERRORS = 300  # thresholds; the curvature takes two passes each
LONG = Finding(
    "information",
    (),
    f"no standard errors for a conditional fit of more than {MOST_WITH_ERRORS} thresholds; the marginal fit has them",
)
FARTHEST = 25.0  # a threshold this many logits out has no finite estimate


def fit_by_condition(
    responses: Responses, irt_model: Literal["rasch", "pcm"], center: Center, options: MarginalOptions
) -> IrtFit:
    """Fit by conditional maximum likelihood; abilities are weighted likelihood estimates on the fitted items.

    Raises
    ------
    ValueError
        If blocks of items share no person: their difference is not in the data.
    """
    selection = select(responses)
    data, kept, scores = selection.data, selection.kept, selection.scores
    n_blocks, _, item_block = components(data)
    if n_blocks > 1:
        sizes = np.bincount(item_block[item_block >= 0]).tolist()
        raise ValueError(
            f"the items fall into {n_blocks} blocks (sizes {sizes}) that share no person, so a conditional likelihood "
            "cannot compare them; fit the blocks apart, or use method='marginal'"
        )
    n_categories = np.array([len(scores[j]) for j in kept], dtype=np.int64)
    is_long = int((n_categories - 1).sum()) > MOST_WITH_ERRORS
    found = fit_conditional(
        data,
        n_categories,
        has_errors=options.se_method != "none" and not is_long,
        tolerance=options.tolerance,
        max_iterations=options.max_iterations,
    )
    errors = np.full(found.thresholds.shape, np.nan)
    errors[np.isfinite(found.thresholds)] = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    family: ResponseFamily = "logistic" if irt_model == "rasch" else "partial_credit"
    rows_of = expander(responses.n_items, kept)
    slope, lower = rows_of(np.ones(len(kept))), rows_of(np.zeros(len(kept)))
    items = ItemParameters(family, responses.item_ids, slope, rows_of(found.thresholds), lower, scores)
    abilities = score_abilities(items, responses, method="wle")
    shift = 0.0
    if center == "persons":
        shift = (
            -float(np.average(abilities.theta[finite], weights=responses.weights[finite]))
            if (finite := np.isfinite(abilities.theta)).any()
            else 0.0
        )
        items = ItemParameters(family, responses.item_ids, slope, items.thresholds + shift, lower, scores)
    is_finite = bool(np.nanmax(np.abs(found.thresholds)) < FARTHEST)
    is_converged = is_finite and found.gradient_norm <= max(10 * options.tolerance, 1e-4)
    message = f"gradient {found.gradient_norm:.2g} standard errors from 0" if is_finite else "no finite maximum"
    nothing = np.full(responses.n_items, np.nan)
    return IrtFit(
        irt_model=irt_model,
        method="conditional",
        identification=("mean threshold 0" if center == "items" else "mean ability (WLE) 0") + ", slopes 1",
        items=items,
        slope_se=nothing,
        thresholds_se=rows_of(errors),
        lower_se=nothing,
        item_reason=item_reasons(scores),
        mean_theta=float("nan"),
        sd_theta=float("nan"),
        sd_theta_se=float("nan"),
        log_likelihood=found.log_likelihood,
        log_posterior=found.log_likelihood,
        n_parameters=int((n_categories - 1).sum()) - 1,
        n_persons=float(responses.weights.sum()),
        n_observed=selection.n_observed,
        se_method=options.se_method,
        is_converged=is_converged,
        message="converged" if is_converged else message,
        n_iterations=found.n_iterations,
        gradient_norm=found.gradient_norm,
        person_ids=responses.person_ids,
        theta=abilities.theta + shift,
        theta_se=abilities.theta_se,
        person_reason=abilities.reason,
        ability_method="wle",
        findings=selection.findings + ((LONG,) if is_long and options.se_method != "none" else ()),
    )
