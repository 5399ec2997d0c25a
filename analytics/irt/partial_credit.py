"""Partial credit and generalised partial credit models.

Holds the front. The conditional likelihood is in ``conditional``, the marginal one in ``fitting``.
"""

from typing import Literal

from analytics.irt.conditional_fit import fit_by_condition
from analytics.irt.families import PARTIAL_CREDIT
from analytics.irt.fit_result import Center, IrtFit, IrtMethod
from analytics.irt.fitting import fit_marginal
from analytics.irt.model_spec import MarginalOptions, ModelSpec
from analytics.irt.responses import Responses
from analytics.literals import check_option

PartialCreditModel = Literal["pcm", "gpcm"]
"""Slopes of 1 and a free variance of ability (Masters 1982), or a slope per item (Muraki 1992)."""


def fit_partial_credit(
    responses: Responses,
    *,
    irt_model: PartialCreditModel = "pcm",
    method: IrtMethod = "marginal",
    center: Center | None = None,
    options: MarginalOptions | None = None,
) -> IrtFit:
    """Fit P(k) proportional to exp(sum over h <= k of a (theta - b_h)).

    Parameters
    ----------
    responses
        Whole scores; the scores in use of each item are its categories in order, and a gap among them is a finding.
    irt_model
        See :data:`PartialCreditModel`.
    method
        ``marginal`` or, for the PCM, ``conditional``.
    center
        Mean ability 0 or mean threshold 0; as in :func:`analytics.irt.rasch.fit_rasch`, for the PCM.
    options
        See :class:`analytics.irt.model_spec.MarginalOptions`.

    Raises
    ------
    ValueError
        If a conditional fit or a centre is asked of the GPCM, or blocks of items share no person in a conditional fit.
    """
    check_option("irt_model", irt_model, PartialCreditModel)
    check_option("method", method, IrtMethod)
    settings = options or MarginalOptions()
    if irt_model == "gpcm":
        if method == "conditional" or center == "items":
            raise ValueError("the gpcm has no conditional likelihood and a fixed origin; use method='marginal'")
        return fit_marginal(responses, ModelSpec("gpcm", PARTIAL_CREDIT, "free"), settings)
    chosen = center or ("persons" if method == "marginal" else "items")
    check_option("center", chosen, Center)
    if method == "conditional":
        return fit_by_condition(responses, "pcm", chosen, settings)
    spec = ModelSpec("pcm", PARTIAL_CREDIT, "common", is_rescaled=True, center=chosen)
    return fit_marginal(responses, spec, settings)
