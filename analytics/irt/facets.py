"""Many-facet Rasch model: persons rated by raters on items (and whatever else), by index.

Holds the front. There is no design matrix: a rating knows the level of each
facet by its code, and memory grows with the ratings. The records are in
``facets_result``, the likelihood in ``facets_likelihood``, what the data
cannot tell in ``facets_findings``.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from analytics.irt.facets_findings import facets_findings, has_enough_patterns
from analytics.irt.facets_likelihood import FacetsSolution, Layout, maximise_facets
from analytics.irt.facets_result import FacetEstimates, FacetsFit, FacetsSeMethod, Ratings
from analytics.irt.marginal import STEEPEST
from analytics.irt.reading import first_seen
from analytics.irt.reporting import NO_SPREAD
from analytics.irt.responses import IntArray
from analytics.literals import check_option

Steps = Literal["common", "first_facet"]
"""One rating scale for all ratings (Andrich 1978), or one for each level of the first facet (Masters 1982)."""


def ratings_from_labels(
    persons: Sequence[Hashable], facets: Mapping[str, Sequence[Hashable]], values: ArrayLike
) -> Ratings:
    """Build ratings from labels, one entry a rating; NaN grades are left out.

    Raises
    ------
    ValueError
        If there is no facet, lengths differ or a grade is not a whole number from 0.
    """
    grades = np.asarray(values, dtype=np.float64)
    if not facets or any(len(labels) != len(grades) for labels in (persons, *facets.values())):
        raise ValueError(f"each of {('person', *facets)} needs one label for each of the {len(grades)} grades")
    seen = ~np.isnan(grades)
    if np.any((grades[seen] < 0) | (grades[seen] != np.floor(grades[seen]))):
        raise ValueError("grades must be whole numbers from 0; multiply half points by 2")
    person_ids, codes = first_seen(persons)
    levels = [first_seen(labels) for labels in facets.values()]
    table = np.stack([level_codes for _, level_codes in levels])[:, seen]
    ids = tuple(level_ids for level_ids, _ in levels)
    return Ratings(person_ids, codes[seen], tuple(facets), ids, table, grades[seen].astype(np.int64))


def fit_facets(
    ratings: Ratings,
    *,
    steps: Steps = "common",
    se_method: FacetsSeMethod = "observed",
    n_nodes: int = 41,
    tolerance: float = 1e-5,
    max_iterations: int = 500,
) -> FacetsFit:
    """Fit log(P_k / P_{k-1}) = theta - sum of the facets' levels - step_k with theta ~ N(0, sd^2) (Linacre 1989).

    Parameters
    ----------
    ratings
        See :func:`ratings_from_labels`.
    steps
        See :data:`Steps`.
    se_method
        See :data:`analytics.irt.facets_result.FacetsSeMethod`.
    n_nodes
        Nodes of the rule on [-6, 6] standard deviations.
    tolerance, max_iterations
        As in :func:`analytics.irt.marginal.maximise`.

    Raises
    ------
    ValueError
        If fewer than two grades are in use.
    """
    check_option("steps", steps, Steps)
    check_option("se_method", se_method, FacetsSeMethod)
    scores, values = np.unique(ratings.values, return_inverse=True)
    if len(scores) < 2:
        raise ValueError("fewer than two different grades are in use; there is nothing to fit")
    extreme, kept = _extreme_levels(ratings, values, len(scores) - 1)
    if not kept.any():
        raise ValueError("every rating belongs to a level that always gives the lowest or always the highest grade")
    layout = Layout.build(
        persons=ratings.persons[kept],
        codes=ratings.codes[:, kept],
        values=values[kept],
        n_persons=len(ratings.person_ids),
        n_levels=tuple(map(len, ratings.level_ids)),
        has_own_steps=steps == "first_facet",
    )
    found = maximise_facets(layout, n_nodes, tolerance, max_iterations, se_method)
    return _facets_result(ratings, scores, extreme, layout, found, se_method, tolerance)


def _extreme_levels(ratings: Ratings, values: IntArray, top: int) -> tuple[list[IntArray], IntArray]:
    """Return -1, 0 or 1 for each level (always lowest, neither, always highest) and which ratings remain.

    A level at an extreme has an infinite estimate and contributes 0 at that limit, so its ratings leave; this can make
    others extreme, hence the loop.
    """
    kept = np.ones(len(values), dtype=bool)
    extreme = [np.zeros(len(ids), dtype=np.int64) for ids in ratings.level_ids]
    while True:
        changed = False
        for facet, codes in enumerate(ratings.codes):
            n = np.bincount(codes[kept], minlength=len(extreme[facet]))
            total = np.bincount(codes[kept], weights=values[kept], minlength=len(extreme[facet]))
            sign = np.where(n == 0, 0, np.where(total == 0, -1, np.where(total == top * n, 1, 0)))
            if sign.any():
                extreme[facet] = np.where(sign != 0, sign, extreme[facet])
                kept &= sign[codes] == 0
                changed = True
        if not changed:
            return extreme, kept


def _facets_result(
    ratings: Ratings,
    scores: IntArray,
    extreme: list[IntArray],
    layout: Layout,
    found: FacetsSolution,
    se_method: FacetsSeMethod,
    tolerance: float,
) -> FacetsFit:
    """Put labels, reasons and findings to the numbers."""
    texts = {-1: "only lowest grades: infinitely severe", 1: "only highest grades: infinitely lenient", 0: "no rating"}
    has_spread, has_maximum = found.sd_theta > NO_SPREAD, found.sd_theta <= STEEPEST
    has_errors = has_maximum and has_enough_patterns(layout)
    facets = []
    for f, name in enumerate(ratings.facets):
        n = np.bincount(ratings.codes[f], minlength=len(ratings.level_ids[f])).astype(np.int64)
        has = layout.n_used[f] > 0
        estimate, se = np.where(has, found.levels[f], np.nan), np.where(has & has_errors, found.levels_se[f], np.nan)
        reason = tuple("" if ok else texts[int(sign)] for ok, sign in zip(has, extreme[f], strict=True))
        facets.append(FacetEstimates(name, ratings.level_ids[f], estimate, se, n, reason))
    is_converged = has_maximum and found.gradient_norm <= max(10 * tolerance, 1e-4)
    message = (
        f"gradient {found.gradient_norm:.2g} standard errors from 0"
        if has_maximum
        else "the standard deviation of ability has no finite maximum"
    )
    return FacetsFit(
        facets=tuple(facets),
        scores=tuple(scores.tolist()),
        steps=found.steps,
        sd_theta=found.sd_theta if has_spread else 0.0,
        sd_theta_se=found.sd_theta_se if has_spread and has_errors else np.nan,
        person_ids=ratings.person_ids,
        person_n=np.bincount(ratings.persons, minlength=len(ratings.person_ids)).astype(np.int64),
        person_score=np.bincount(ratings.persons, ratings.values, len(ratings.person_ids)).astype(np.float64),
        theta=found.theta if has_spread else 0.0 * found.theta,
        theta_se=found.theta_se if has_spread else np.full_like(found.theta_se, np.nan),
        log_likelihood=found.log_likelihood,
        n_parameters=layout.n_free,
        n_ratings=len(ratings.values),
        identification=(
            f"theta ~ N(0, sd^2); levels of {ratings.facets[0]} free, of every other facet mean 0; steps mean 0"
        ),
        se_method=se_method,
        is_converged=is_converged,
        message="converged" if is_converged else message,
        n_iterations=found.n_iterations,
        gradient_norm=found.gradient_norm,
        findings=facets_findings(ratings, scores, tuple(facets), layout, found, se_method),
    )
