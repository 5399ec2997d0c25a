"""What a many-facet fit or its ratings cannot tell.

Holds the findings alone: they look at ratings and results and change nothing.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from analytics.irt.design import Finding, some
from analytics.irt.facets_likelihood import FacetsSolution, Layout
from analytics.irt.facets_result import FacetEstimates, FacetsSeMethod, Ratings
from analytics.irt.marginal import STEEPEST
from analytics.irt.reporting import NO_SPREAD
from analytics.irt.responses import IntArray


def facets_findings(
    ratings: Ratings,
    scores: IntArray,
    facets: tuple[FacetEstimates, ...],
    layout: Layout,
    found: FacetsSolution,
    se_method: FacetsSeMethod,
) -> tuple[Finding, ...]:
    """Return what the ratings or the fit cannot tell."""
    return (*_of_ratings(ratings, scores, facets), *_of_fit(layout, found, se_method))


def _of_ratings(ratings: Ratings, scores: IntArray, facets: tuple[FacetEstimates, ...]) -> Iterator[Finding]:
    gaps = tuple(str(k) for k in range(int(scores[0]), int(scores[-1])) if k not in scores)
    if gaps:
        said = f"grade(s) {', '.join(gaps)} never given: those in use are renumbered"
        yield Finding("unused_categories", gaps, said)
    for facet in facets:
        names = tuple(label for label, why in zip(facet.level_ids, facet.reason, strict=True) if why)
        if names:
            said = f"{len(names)} level(s) of {facet.name} without a finite estimate ({some(names)})"
            yield Finding("constant_items", names, said)
    for f, name in enumerate(ratings.facets):
        n_blocks = _blocks(ratings.persons, ratings.codes[f])
        if n_blocks > 1:
            said = (
                f"the levels of {name} fall into {n_blocks} blocks that share no person: only the assumption of one "
                "ability distribution makes them comparable, and their standard errors take it for granted"
            )
            yield Finding("disconnected", (), said)


def _of_fit(layout: Layout, found: FacetsSolution, se_method: FacetsSeMethod) -> Iterator[Finding]:
    has_maximum = found.sd_theta <= STEEPEST
    if found.sd_theta <= NO_SPREAD:
        said = "the variance of ability is at its boundary, 0: the ratings do not tell persons apart"
        yield Finding("boundary", (), said)
    if not has_maximum:
        said = f"standard deviation of ability beyond {STEEPEST:g}: no finite maximum, no standard errors"
        yield Finding("boundary", (), said)
    if not has_enough_patterns(layout):
        said = (
            f"{layout.n_free} parameters, no more possible patterns of ratings: not identified, many other values have "
            "the same likelihood, and there are no standard errors"
        )
        yield Finding("information", (), said)
    elif has_maximum and se_method != "none" and not found.has_errors:
        said = "the information matrix is not positive definite: facets are confounded, no standard errors"
        yield Finding("information", (), said)


def _blocks(persons: IntArray, codes: IntArray) -> int:
    """Return the number of connected blocks of persons and levels: within one, levels are compared within persons."""
    n_persons = int(persons.max()) + 1
    size = n_persons + int(codes.max()) + 1
    links = sp.csr_array((np.ones(len(codes), dtype=np.int8), (persons, codes + n_persons)), shape=(size, size))
    _, block = connected_components(links, directed=False)
    return len(np.unique(block[persons]))


def has_enough_patterns(layout: Layout) -> bool:
    """Whether persons can show more patterns, each within what was rated of them, than there are parameters."""
    n_patterns, designs = 0, set()
    for start, end in zip(layout.ptr[:-1], layout.ptr[1:], strict=True):
        design = layout.codes[:, start:end].tobytes()
        if design not in designs:
            designs.add(design)
            categories = layout.n_categories[layout.scale[start:end]].astype(float)
            n_patterns += np.prod(np.minimum(categories, 1e6)) - 1  # shares of a design add up to 1
        if n_patterns >= layout.n_free:
            return True
    return False
