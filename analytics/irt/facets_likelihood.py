"""Marginal likelihood of the many-facet Rasch model over ratings sorted by person.

Holds the layout of the parameters, the search and the information. Labels and findings belong to ``facets``, the
loop over ratings to ``facets_kernel``.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from analytics.irt.facets_information import facets_information
from analytics.irt.facets_kernel import facets_pass
from analytics.irt.observed_information import inverse_information
from analytics.irt.quadrature import normal_grid
from analytics.irt.responses import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Layout:
    """Ratings sorted by person, and where each parameter lies in the search vector.

    The vector holds the levels of all facets, then the steps of all scales, then the log of the standard deviation.

    Attributes
    ----------
    ptr
        Ratings of person i are ``ptr[i]:ptr[i + 1]``.
    codes, values, scale
        Level of each facet (n_facets, n_ratings), category, and scale of each rating.
    starts
        First position of each facet's levels, then of the steps.
    n_used
        Ratings of each level, one array a facet.
    n_categories
        Of each scale.
    """

    ptr: IntArray
    codes: IntArray
    values: IntArray
    scale: IntArray
    starts: IntArray
    n_used: tuple[IntArray, ...]
    n_categories: IntArray

    @classmethod
    def build(
        cls,
        *,
        persons: IntArray,
        codes: IntArray,
        values: IntArray,
        n_persons: int,
        n_levels: tuple[int, ...],
        has_own_steps: bool,
    ) -> "Layout":
        """Sort by person; the order of a person's ratings is kept."""
        order = np.argsort(persons, kind="stable")
        codes, values = np.ascontiguousarray(codes[:, order]), values[order]
        scale = codes[0] if has_own_steps else np.zeros(len(values), dtype=np.int64)
        n_scales = n_levels[0] if has_own_steps else 1
        highest = np.zeros(n_scales, dtype=np.int64)
        np.maximum.at(highest, scale, values)
        return cls(
            np.append(0, np.cumsum(np.bincount(persons, minlength=n_persons))).astype(np.int64),
            codes,
            values.astype(np.int64),
            scale,
            np.append(0, np.cumsum(n_levels)).astype(np.int64),
            tuple(np.bincount(c, minlength=n).astype(np.int64) for c, n in zip(codes, n_levels, strict=True)),
            np.maximum(highest + 1, 1),
        )

    @property
    def n_steps(self) -> int:
        """Number of step positions of a scale, padding included."""
        return int(self.n_categories.max()) - 1

    @property
    def n_free(self) -> int:
        """Number of free parameters: constraints and padding taken off."""
        levels = sum(int((n > 0).sum()) for n in self.n_used) - (len(self.n_used) - 1)
        return levels + int(np.maximum(self.n_categories - 2, 0).sum()) + 1

    def offset(self, vector: FloatArray) -> FloatArray:
        """Return the sum of each rating's levels."""
        return np.asarray(vector[self.codes + self.starts[:-1, None]].sum(axis=0))

    def cumulative(self, vector: FloatArray) -> FloatArray:
        """Return the sums of the steps up to each category, shape (n_scales, n_steps + 1)."""
        steps = vector[self.starts[-1] : -1].reshape(len(self.n_categories), self.n_steps)
        return np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)

    def basis(self) -> sp.csr_array:
        """Return the map from free parameters to the search vector: sums of 0 within later facets and scales."""
        blocks = []
        for f, n in enumerate(self.n_used):
            used = np.flatnonzero(n > 0)
            blocks.append(_selection(len(n), used, is_centred=f > 0))
        for k in self.n_categories:
            blocks.append(_selection(self.n_steps, np.arange(k - 1), is_centred=True))
        return sp.csr_array(sp.block_diag([*blocks, sp.eye_array(1)], format="csr"))


@dataclass(frozen=True, slots=True)
class FacetsSolution:
    """Where the search ended; see :class:`analytics.irt.facets.FacetsFit` for the meaning."""

    levels: tuple[FloatArray, ...]
    levels_se: tuple[FloatArray, ...]
    steps: FloatArray
    sd_theta: float
    sd_theta_se: float
    theta: FloatArray
    theta_se: FloatArray
    log_likelihood: float
    gradient_norm: float
    n_iterations: int
    has_errors: bool


@dataclass(frozen=True, slots=True)
class FacetsPoint:
    """The likelihood at one search vector.

    Attributes
    ----------
    log_likelihood, gradient
        Value, and its derivative by the search vector.
    theta, theta_se
        Posterior mean and standard deviation of each person.
    by_offset, by_step, by_log_sd
        Posterior mean derivatives of each rating by its offset and its scale's steps, and of each person by log sd.
    """

    log_likelihood: float
    gradient: FloatArray
    theta: FloatArray
    theta_se: FloatArray
    by_offset: FloatArray
    by_step: FloatArray
    by_log_sd: FloatArray


def evaluate_facets(layout: Layout, vector: FloatArray, nodes: FloatArray, log_weights: FloatArray) -> FacetsPoint:
    """Return the marginal log-likelihood and its derivatives."""
    n_facets, n_persons = len(layout.codes), len(layout.ptr) - 1
    offset, cumulative, n_scales = layout.offset(vector), layout.cumulative(vector), len(layout.n_categories)
    by_offset, by_step = np.zeros(len(layout.values)), np.zeros((len(layout.values), layout.n_steps))
    theta, theta_se, by_log_sd = np.zeros(n_persons), np.zeros(n_persons), np.zeros(n_persons)
    value = facets_pass(
        layout.ptr, offset, layout.values, layout.scale, cumulative, layout.n_categories, np.exp(vector[-1]) * nodes,
        log_weights, by_offset, by_step, theta, theta_se, by_log_sd,
    )  # fmt: skip
    gradient = np.zeros(len(vector))
    for f in range(n_facets):
        piece = slice(layout.starts[f], layout.starts[f + 1])
        gradient[piece] = np.bincount(layout.codes[f], weights=by_offset, minlength=piece.stop - piece.start)
    for h in range(layout.n_steps):
        by_scale = np.bincount(layout.scale, weights=by_step[:, h], minlength=n_scales)
        gradient[layout.starts[-1] + h : -1 : layout.n_steps] = by_scale
    gradient[-1] = by_log_sd.sum()
    return FacetsPoint(float(value), gradient, theta, theta_se, by_offset, by_step, by_log_sd)


def person_scores(layout: Layout, point: FacetsPoint) -> sp.csr_array:
    """Return each person's derivative of the log-likelihood by the search vector, shape (n_persons, n_positions)."""
    n_persons, n_positions = len(point.theta), len(point.gradient)
    person = np.repeat(np.arange(n_persons), np.diff(layout.ptr))
    columns = [start + codes for start, codes in zip(layout.starts, layout.codes, strict=False)]
    columns += [layout.starts[-1] + layout.scale * layout.n_steps + h for h in range(layout.n_steps)]
    cells = [point.by_offset] * len(layout.codes) + [point.by_step[:, h] for h in range(layout.n_steps)]
    rows = np.concatenate([np.tile(person, len(cells)), np.arange(n_persons)])
    where = np.concatenate([*columns, np.full(n_persons, n_positions - 1)])
    return sp.csr_array((np.concatenate([*cells, point.by_log_sd]), (rows, where)), shape=(n_persons, n_positions))


def maximise_facets(
    layout: Layout, n_nodes: int, tolerance: float, max_iterations: int, se_method: str
) -> FacetsSolution:
    """Maximise over the free parameters by L-BFGS, scaled by rough information."""
    rule = normal_grid(12.0 / (n_nodes - 1))
    basis = layout.basis()
    scale = _scale(layout, basis)

    def negative(y: FloatArray) -> tuple[float, FloatArray]:
        point = evaluate_facets(layout, basis @ (y / scale), rule.nodes, rule.log_weights)
        return -point.log_likelihood, -(basis.T @ point.gradient) / scale

    options = {"maxcor": 30, "gtol": tolerance, "ftol": 0.0, "maxiter": max_iterations, "maxfun": 3 * max_iterations}
    found = minimize(negative, np.zeros(len(scale)), jac=True, method="L-BFGS-B", options=options)
    vector = basis @ (found.x / scale)
    point = evaluate_facets(layout, vector, rule.nodes, rule.log_weights)
    inverse = None
    if se_method == "cross_product":
        own = person_scores(layout, point) @ basis
        inverse = inverse_information((own.T @ own).toarray())
    elif se_method == "observed":
        information = observed_information(layout, vector, rule.nodes, rule.log_weights)
        inverse = inverse_information(basis.T @ (basis.T @ information).T)
    errors = np.full(basis.shape[0], np.nan)
    if inverse is not None:
        dense = basis.toarray()
        errors = np.sqrt(np.einsum("ij,ij->i", dense @ inverse, dense))
    rated = np.diff(layout.ptr) > 0
    own_step = np.arange(layout.n_steps)[None, :] < layout.n_categories[:, None] - 1
    steps = vector[layout.starts[-1] : -1].reshape(own_step.shape)
    pieces = [slice(layout.starts[f], layout.starts[f + 1]) for f in range(len(layout.codes))]
    sd = float(np.exp(vector[-1]))
    return FacetsSolution(
        tuple(vector[piece] for piece in pieces),
        tuple(errors[piece] for piece in pieces),
        np.where(own_step, steps, np.nan),
        sd,
        float(sd * errors[-1]),
        np.where(rated, point.theta, np.nan),
        np.where(rated, point.theta_se, np.nan),
        point.log_likelihood,
        float(np.max(np.abs((basis.T @ point.gradient) / scale))),
        int(found.nit),
        inverse is not None,
    )


def _scale(layout: Layout, basis: sp.csr_array) -> FloatArray:
    """Return the square root of a rough information of each free parameter: a quarter a rating that it touches."""
    by_step = [np.bincount(layout.scale, minlength=len(layout.n_categories))] * layout.n_steps
    touched = np.concatenate([*layout.n_used, np.stack(by_step, axis=1).ravel(), [len(layout.ptr) - 1]])
    return np.asarray(np.sqrt((basis.multiply(basis)).T @ (touched / 4.0) + 1e-9))


def observed_information(
    layout: Layout, vector: FloatArray, nodes: FloatArray, log_weights: FloatArray
) -> FloatArray:
    """Return the negative second derivatives of the marginal log-likelihood by the search vector."""
    offset, cumulative = layout.offset(vector), layout.cumulative(vector)
    information = np.zeros((len(vector), len(vector)))
    facets_information(
        layout.ptr, layout.codes + layout.starts[:-1, None], offset, layout.values,
        layout.starts[-1] + layout.scale * layout.n_steps, cumulative[layout.scale], layout.n_categories[layout.scale],
        np.exp(vector[-1]) * nodes, log_weights, information,
    )  # fmt: skip
    return information


def _selection(n: int, used: IntArray, *, is_centred: bool) -> sp.csr_array:
    """Return the map from free numbers to n positions: the used ones, the last of them minus the sum if centred."""
    if not is_centred:
        return sp.csr_array((np.ones(len(used)), (used, np.arange(len(used)))), shape=(n, len(used)))
    m = max(len(used) - 1, 0)
    rows = np.concatenate([used[:m], np.full(m, used[-1] if len(used) else 0)])
    data = np.concatenate([np.ones(m), -np.ones(m)])
    return sp.csr_array((data, (rows, np.tile(np.arange(m), 2))), shape=(n, m))
