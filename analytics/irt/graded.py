"""Graded response model by marginal likelihood.

Holds the front; the machinery is in ``fitting``.
"""

from analytics.irt.families import GRADED
from analytics.irt.fit_result import IrtFit
from analytics.irt.fitting import fit_marginal
from analytics.irt.model_spec import MarginalOptions, ModelSpec
from analytics.irt.responses import Responses


def fit_graded(responses: Responses, *, options: MarginalOptions | None = None) -> IrtFit:
    """Fit P(X >= k) = expit(a (theta - b_k)) with theta ~ N(0, 1) (Samejima 1969).

    Parameters
    ----------
    responses
        Whole scores; the scores in use of each item are its categories, and a gap among them is a finding.
    options
        See :class:`analytics.irt.model_spec.MarginalOptions`.
    """
    return fit_marginal(responses, ModelSpec("grm", GRADED, "free"), options or MarginalOptions())
