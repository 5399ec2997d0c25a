"""Rasch model by conditional and by marginal maximum likelihood.

Holds the front. The conditional likelihood is in ``conditional``, the marginal one in ``fitting`` and, for complete
data, in ``rasch_fit``.
"""

from typing import Literal

from analytics.irt.conditional_fit import fit_by_condition
from analytics.irt.families import LOGISTIC
from analytics.irt.fit_result import Center, IrtFit, IrtMethod
from analytics.irt.fitting import fit_marginal
from analytics.irt.logistic import require_binary
from analytics.irt.model_spec import MarginalOptions, ModelSpec
from analytics.irt.rasch_fit import fit_rasch_scores
from analytics.irt.responses import Responses
from analytics.literals import check_option

AbilityVariance = Literal["free", "fixed"]
"""Estimate the variance of ability, or fix it at 1."""


def fit_rasch(
    responses: Responses,
    *,
    method: IrtMethod = "marginal",
    center: Center | None = None,
    variance: AbilityVariance = "free",
    options: MarginalOptions | None = None,
) -> IrtFit:
    """Fit logit P(1) = theta - b (Rasch 1960).

    Parameters
    ----------
    responses
        Scores 0 and 1.
    method
        ``marginal``: theta ~ N(0, sd^2), abilities EAP. ``conditional``: given the sum scores (Andersen 1972), no
        assumption about ability, abilities WLE.
    center
        Where the origin lies: mean ability 0 (the default of ``marginal``) or mean difficulty 0 (of
        ``conditional``). The two differ by a constant.
    variance
        Of ability in a marginal fit.
    options
        See :class:`analytics.irt.model_spec.MarginalOptions`.

    Raises
    ------
    ValueError
        If a score is neither 0 nor 1, or blocks of items share no person in a conditional fit.
    """
    check_option("method", method, IrtMethod)
    check_option("variance", variance, AbilityVariance)
    chosen = center or ("persons" if method == "marginal" else "items")
    check_option("center", chosen, Center)
    require_binary(responses)
    settings = options or MarginalOptions()
    if method == "conditional":
        return fit_by_condition(responses, "rasch", chosen, settings)
    slope: Literal["common", "fixed"] = "common" if variance == "free" else "fixed"
    spec = ModelSpec("rasch", LOGISTIC, slope, is_rescaled=True, center=chosen)
    if responses.dense is not None and responses.answered.min(initial=responses.n_items) == responses.n_items:
        return fit_rasch_scores(responses, spec, settings)
    return fit_marginal(responses, spec, settings)
