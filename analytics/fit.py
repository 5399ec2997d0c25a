"""One door for a table of responses: any model of this room, one report.

Holds the choice of the model. The report is made in ``fit_report_making``, reading files belongs elsewhere, and every
number is made by the model's own module.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy.sparse as sp

from analytics.ctt.items import item_statistics
from analytics.fit_report import FitReport
from analytics.fit_report_making import (
    report_ctt,
    report_facets,
    report_irt,
    report_testlet,
    report_testlet_marginal,
)
from analytics.irt.facets import fit_facets
from analytics.irt.facets_result import Ratings
from analytics.irt.graded import fit_graded
from analytics.irt.logistic import check_lower_prior, fit_logistic, require_binary
from analytics.irt.model_spec import MarginalOptions
from analytics.irt.partial_credit import fit_partial_credit
from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import first_seen
from analytics.irt.responses import CodeArray, Responses, missing_as_incorrect
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_marginal import Integration, fit_testlet_marginal
from analytics.irt.testlet_result import TestletOptions
from analytics.literals import MissingPolicy, check_option

FitModel = Literal["ctt", "rasch", "2pl", "3pl", "grm", "pcm", "gpcm", "testlet", "mfrm"]
"""Models that a table can be fitted with."""

FitMethod = Literal["default", "marginal", "gauss_hermite", "conditional", "laplace", "given", "marginal_laplace"]
"""Marginal likelihood on the fine grid or on Gauss-Hermite nodes (21; of the testlet model 41 in 41); conditional.
Of the testlet model with random items: the standard deviations by Laplace's approximation (``laplace``) or as given;
with fixed items: ``gauss_hermite``, or ``marginal_laplace``, which biases the deviation of testlet effects downwards.
``default``: ``laplace`` for the testlet model, else ``marginal``."""

METHODS: dict[FitModel, tuple[FitMethod, ...]] = {
    "ctt": (),
    "rasch": ("marginal", "gauss_hermite", "conditional"),
    "2pl": ("marginal", "gauss_hermite"),
    "3pl": ("marginal", "gauss_hermite"),
    "grm": ("marginal", "gauss_hermite"),
    "pcm": ("marginal", "gauss_hermite", "conditional"),
    "gpcm": ("marginal", "gauss_hermite"),
    "testlet": ("laplace", "given", "gauss_hermite", "marginal_laplace"),
    "mfrm": ("marginal",),
}


def fit_matrix(
    responses: Responses,
    *,
    model: FitModel,
    method: FitMethod = "default",
    missing: MissingPolicy = "omit",
    testlets: Sequence[str] | None = None,
    lower_prior: tuple[float, float] | None = None,
) -> FitReport:
    """Fit a model to a table of responses.

    Parameters
    ----------
    responses
        See :mod:`analytics.irt.reading`; weights of persons travel with it.
    model
        See :data:`FitModel`.
    method
        See :data:`FitMethod` and :data:`METHODS`.
    missing
        A missing cell is left out, or counts as score 0.
    testlets
        Testlet of each item, in the order of the items; needed by ``testlet``, a facet of its own in ``mfrm``.
    lower_prior
        Beta prior of the lower asymptotes of a ``3pl``; see :func:`analytics.irt.logistic.fit_logistic`.

    Returns
    -------
    FitReport

    Raises
    ------
    ValueError
        If an option is unknown, the method does not belong to the model, testlets are missing, or the data do not suit
        the model.
    """
    check_option("model", model, FitModel)
    check_option("method", method, FitMethod)
    check_option("missing", missing, MissingPolicy)
    if method != "default" and method not in METHODS[model]:
        raise ValueError(f"model {model!r} has no method {method!r}; expected one of {('default', *METHODS[model])}")
    if testlets is not None and len(testlets) != responses.n_items:
        raise ValueError(f"{len(testlets)} testlets for {responses.n_items} items")
    check_lower_prior(model, lower_prior)
    if model == "ctt":
        return _fit_ctt(responses, missing)
    data = missing_as_incorrect(responses) if missing == "incorrect" else responses
    if model == "testlet":
        return _fit_testlet(data, method, missing, testlets)
    if model == "mfrm":
        return report_facets(fit_facets(_ratings(data, testlets)), missing, data)
    options = MarginalOptions(quadrature="gauss_hermite" if method == "gauss_hermite" else "grid")
    likelihood: Literal["marginal", "conditional"] = "conditional" if method == "conditional" else "marginal"
    if model == "rasch":
        fit = fit_rasch(data, method=likelihood, options=options)
    elif model == "pcm" or model == "gpcm":
        fit = fit_partial_credit(data, irt_model=model, method=likelihood, options=options)
    elif model == "grm":
        fit = fit_graded(data, options=options)
    else:
        fit = fit_logistic(data, irt_model=model, lower_prior=lower_prior, options=options)
    return report_irt(fit, data, missing)


def fit_ratings(ratings: Ratings) -> FitReport:
    """Fit the many-facet model to long ratings with any facets; see :func:`analytics.irt.facets.fit_facets`."""
    return report_facets(fit_facets(ratings), "omit")


def _fit_ctt(responses: Responses, missing: MissingPolicy) -> FitReport:
    """Return classical item statistics, of the observed cells alone; a weight counts its row that often."""
    found = item_statistics(
        _observed(responses),
        missing_policy=missing,
        max_score=float(max(1, responses.highest_score)),
        weight=None if np.all(responses.weights == 1) else responses.weights,
    )
    # the rows of the report and its findings are of the data with the policy applied, one byte a cell
    return report_ctt(found, missing_as_incorrect(responses) if missing == "incorrect" else responses)


def _observed(responses: Responses) -> CodeArray | sp.csr_array:
    """Return the responses as a table of bytes where all were observed, else as sparse rows of those that were."""
    if responses.dense is not None and responses.n_observed == responses.dense.size:
        return responses.dense
    _, items, values = responses.triples()
    return sp.csr_array((values, items, np.append(0, np.cumsum(responses.answered))), shape=responses.shape)


def _fit_testlet(
    data: Responses, method: FitMethod, missing: MissingPolicy, testlets: Sequence[str] | None
) -> FitReport:
    """Fit the 1PL testlet model."""
    if testlets is None:
        raise ValueError("model 'testlet' needs the testlet of each item")
    require_binary(data)
    _, codes = first_seen(testlets)
    weight = None if np.all(data.weights == 1) else data.weights
    if weight is not None and not np.all(weight > 0):
        first = data.person_ids[int(np.argmin(weight))]
        raise ValueError(f"the testlet model takes weights above 0; person {first!r} has 0: leave the row out")
    if method == "gauss_hermite" or method == "marginal_laplace":
        if weight is not None:
            raise ValueError(f"method {method!r} counts every row once; repeat the rows instead of weighting them")
        how: Integration = "laplace" if method == "marginal_laplace" else method
        return report_testlet_marginal(fit_testlet_marginal(data.table(), codes, method=how), data, missing)
    options = TestletOptions(variances="given" if method == "given" else "laplace")
    return report_testlet(fit_testlet(data, codes, options, weight=weight), data, missing)


def _ratings(data: Responses, testlets: Sequence[str] | None) -> Ratings:
    """Return a table as ratings whose facets are the item and, where given, the testlet."""
    if np.any(data.weights != 1):
        raise ValueError("the many-facet model counts every row once; repeat the rows instead of weighting them")
    rows, items, values = data.triples()
    facets, levels, codes = ["item"], [data.item_ids], [items]
    if testlets is not None:
        labels, of_item = first_seen(testlets)
        facets, levels, codes = [*facets, "testlet"], [*levels, labels], [*codes, of_item[items]]
    return Ratings(data.person_ids, rows, tuple(facets), tuple(levels), np.stack(codes), values.astype(np.int64))
