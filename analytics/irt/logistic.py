"""Two- and three-parameter logistic models by marginal likelihood.

Holds the fronts; the machinery is in ``fitting``. The one-slope models are in ``rasch``.
"""

from typing import Literal

from analytics.irt.families import LOGISTIC
from analytics.irt.fit_result import IrtFit
from analytics.irt.fitting import fit_marginal
from analytics.irt.model_spec import MarginalOptions, ModelSpec
from analytics.irt.responses import Responses
from analytics.literals import check_option

LogisticModel = Literal["1pl", "2pl", "3pl"]
"""One common slope, a slope per item, or a slope and a lower asymptote per item."""


def fit_logistic(
    responses: Responses,
    *,
    irt_model: LogisticModel = "2pl",
    lower_prior: tuple[float, float] | None = None,
    options: MarginalOptions | None = None,
) -> IrtFit:
    """Fit P(1) = c + (1 - c) expit(a (theta - b)) with theta ~ N(0, 1) (Birnbaum 1968; Bock & Aitkin 1981).

    Parameters
    ----------
    responses
        Scores 0 and 1.
    irt_model
        See :data:`LogisticModel`.
    lower_prior
        Beta parameters (both above 1) for the lower asymptotes of a 3PL, such as (5, 17); None is plain maximum
        likelihood. The 3PL is started from its 2PL with three lower asymptotes and keeps the highest maximum, so
        without a prior it is never below its 2PL. With one, ``log_posterior`` is what was maximised.
    options
        See :class:`analytics.irt.model_spec.MarginalOptions`.

    Raises
    ------
    ValueError
        If a score is neither 0 nor 1, or a prior is given to a model without lower asymptotes.
    """
    check_option("irt_model", irt_model, LogisticModel)
    require_binary(responses)
    check_lower_prior(irt_model, lower_prior)
    spec = ModelSpec(
        irt_model,
        LOGISTIC,
        "common" if irt_model == "1pl" else "free",
        has_lower=irt_model == "3pl",
        lower_prior=lower_prior,
    )
    return fit_marginal(responses, spec, options or MarginalOptions())


def require_binary(responses: Responses) -> None:
    """Refuse scores other than 0 and 1.

    Raises
    ------
    ValueError
        Naming the first item with another score.
    """
    if responses.highest_score > 1:
        beyond = responses.category_counts()[:, 2:].sum(axis=1) > 0
        name = responses.item_ids[int(beyond.argmax())]
        raise ValueError(f"item {name!r} has scores above 1; use a graded or partial credit model, or score it 0/1")


def check_lower_prior(model: str, lower_prior: tuple[float, float] | None) -> None:
    """Refuse a prior of lower asymptotes whose numbers do not fit, or of a model that has no lower asymptotes."""
    if lower_prior is not None and model != "3pl":
        raise ValueError(f"model {model!r} has no lower asymptotes for a prior; leave it out or fit '3pl'")
    if lower_prior is not None and not all(1 < number < float("inf") for number in lower_prior):
        raise ValueError(f"the prior of lower asymptotes has two numbers above 1, such as 5 and 17; got {lower_prior}")
