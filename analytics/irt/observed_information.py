"""Information about the parameters of a marginal fit: complete minus missing (Louis 1982), or outer products.

Holds the matrix and its inverse. What standard errors follow belongs to ``standard_errors``.
"""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from analytics.irt.expectation import Rows, chunks, expect, posterior
from analytics.irt.marginal import Problem, cells_in_use, prior_curvature
from analytics.irt.quadrature import Quadrature
from analytics.irt.responses import FloatArray, IntArray

SeMethod = Literal["observed", "cross_product", "none"]
"""Information from Louis' formula, from the outer products of the rows' scores, or none."""

NEGLIGIBLE = 1e-8  # posterior mass below which a node does not enter the missing information


def information(
    problem: Problem, rows: Rows, quadrature: Quadrature, x: FloatArray, method: SeMethod
) -> tuple[FloatArray, sp.csr_array]:
    """Return the information by the free parameters, and the 0/1 matrix that maps them to x.

    Returns
    -------
    tuple
        Shape (n_free, n_free) and (n_items * n_parameters, n_free).
    """
    logs, slopes = problem.family.tables(x, quadrature.nodes, problem.n_categories)
    spread = reduction(problem)
    expected_scores = _expected_scores(rows, logs, slopes, quadrature)
    outer = expected_scores.T @ (expected_scores * rows.weights[:, None])
    if method == "cross_product":
        return _reduced(outer + np.diag(prior_curvature(problem, x).ravel()), spread), spread
    total = _complete_information(problem, quadrature, x, expect(rows, logs, quadrature).counts) + outer
    for q, (active, mass) in enumerate(_mass_by_node(rows, logs, quadrature)):
        if len(active):
            scores = rows.scores(slopes[:, :, q], active)
            half = scores * np.sqrt(mass)[:, None]
            total -= _dense(half.T @ half)  # missing: posterior mean of the scores' products, less that of the means
    return _reduced(total, spread), spread


def _reduced(matrix: FloatArray, spread: sp.csr_array) -> FloatArray:
    """Return spread' matrix spread as an ordinary array."""
    return np.asarray(spread.T @ (spread.T @ matrix.T).T)


def reduction(problem: Problem) -> sp.csr_array:
    """Return the 0/1 matrix from free parameters to the cells of x, shape (n_items * n_parameters, n_free)."""
    n_items, width = problem.start.shape
    own = cells_in_use(problem)
    if problem.slope != "free":
        own[:, 0] = 0
    cells = np.flatnonzero(own.ravel())
    columns = np.arange(len(cells))
    if problem.slope == "common":
        cells = np.append(cells, np.arange(n_items) * width)
        columns = np.append(columns, np.full(n_items, len(columns)))
    shape = (n_items * width, int(columns.max(initial=-1)) + 1)
    return sp.csr_array((np.ones(len(cells)), (cells, columns)), shape=shape)


def _complete_information(
    problem: Problem, quadrature: Quadrature, x: FloatArray, counts: FloatArray, step: float = 1e-5
) -> FloatArray:
    """Return the complete-data information with the expected counts held fixed, block-diagonal by item.

    The items do not meet in it, so one central difference per column serves all items at once.
    """
    n_items, width = x.shape
    blocks = np.empty((n_items, width, width))
    for h in range(width):
        moved = []
        for sign in (1.0, -1.0):
            near = x.copy()
            near[:, h] += sign * step
            _, slopes = problem.family.tables(near, quadrature.nodes, problem.n_categories)
            moved.append(np.einsum("jkq,jkqm->jm", counts, slopes, optimize=True))
        blocks[:, :, h] = -(moved[0] - moved[1]) / (2 * step)
    full = np.zeros((n_items, width, n_items, width))
    full[np.arange(n_items), :, np.arange(n_items), :] = (blocks + blocks.transpose(0, 2, 1)) / 2
    return full.reshape(n_items * width, -1) + np.diag(prior_curvature(problem, x).ravel())


def _expected_scores(rows: Rows, logs: FloatArray, slopes: FloatArray, quadrature: Quadrature) -> FloatArray:
    """Return each row's posterior mean score, shape (n_rows, n_items * n_parameters)."""
    total = np.zeros((len(rows.weights), slopes.shape[0] * slopes.shape[3]))
    for q, (active, mass) in enumerate(_mass_by_node(rows, logs, quadrature, weighted=False)):
        if len(active):
            total[active] += _dense(rows.scores(slopes[:, :, q], active)) * mass[:, None]
    return total


def _mass_by_node(
    rows: Rows, logs: FloatArray, quadrature: Quadrature, *, weighted: bool = True
) -> list[tuple[IntArray, FloatArray]]:
    """Return for each node the rows whose posterior reaches it, and their (weighted) mass there."""
    found: list[list[tuple[IntArray, FloatArray]]] = [[] for _ in quadrature.nodes]
    for part in chunks(len(rows.weights), logs.shape[2]):
        mass, _ = posterior(rows, logs, quadrature, part)
        for q in range(len(quadrature.nodes)):
            active = np.flatnonzero(mass[:, q] > NEGLIGIBLE)
            scale = rows.weights[part][active] if weighted else 1.0
            found[q].append((active + part.start, mass[active, q] * scale))
    return [
        (np.concatenate([rows_ for rows_, _ in parts]), np.concatenate([mass for _, mass in parts])) for parts in found
    ]


def _dense(scores: Any) -> FloatArray:
    """Return an ordinary array from a dense or compressed one."""
    return np.asarray(scores.toarray()) if hasattr(scores, "toarray") else np.asarray(scores)


def inverse_information(matrix: FloatArray) -> FloatArray | None:
    """Return the inverse of a positive definite matrix, or None where it is not."""
    if not np.all(np.isfinite(matrix)):
        return None
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    half = solve_triangular(factor, np.eye(len(matrix)), lower=True)
    return np.asarray(half.T @ half)
