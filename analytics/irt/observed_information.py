"""Information about the parameters of a marginal fit: complete minus missing (Louis 1982), or outer products.

Holds the matrix and its inverse. What standard errors follow belongs to ``standard_errors``.
"""

from typing import Literal

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.linalg import solve_triangular

from analytics.irt.expectation import DenseRows, Rows, SparseRows, chunks, expect, posterior
from analytics.irt.marginal import Problem, cells_in_use, prior_curvature
from analytics.irt.quadrature import Quadrature
from analytics.irt.responses import FloatArray, IntArray

SeMethod = Literal["observed", "cross_product", "none"]
"""Information from Louis' formula, from the outer products of the rows' scores, or none."""

NEGLIGIBLE = 1e-8  # posterior mass below which a node does not enter the missing information
SCORES_PER_MASS = 10  # scores of a row held at once for each node of its posterior


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
    spread, is_observed = reduction(problem), method == "observed"
    n_items, width = x.shape
    blocks = np.zeros((n_items, width, width))
    if is_observed:
        blocks += _complete_information(problem, quadrature, x, expect(rows, logs, quadrature).counts)
    diagonal = np.arange(width)
    blocks[:, diagonal, diagonal] += prior_curvature(problem, x)
    matrix = _reduced_blocks(blocks, spread)
    if isinstance(rows, SparseRows):
        return matrix + _products_of_cells(rows, quadrature, logs, slopes, spread, is_observed), spread
    products = _products(rows, quadrature, logs, slopes, is_observed)
    return matrix + spread.T @ (spread.T @ products.T).T, spread


def _reduced_blocks(blocks: FloatArray, spread: sp.csr_array) -> FloatArray:
    """Return spread' B spread for the block-diagonal B of `blocks`, shape (n_items, n_parameters, n_parameters)."""
    n_items, width, _ = blocks.shape
    cells = np.arange(n_items * width).reshape(n_items, width)
    by_row, by_column = (np.broadcast_to(v, blocks.shape).ravel() for v in (cells[:, :, None], cells[:, None, :]))
    whole = sp.csr_array((blocks.ravel(), (by_row, by_column)), shape=(cells.size, cells.size))
    return np.asarray((spread.T @ whole @ spread).toarray())


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
    """Return the complete-data information with the expected counts held fixed, one block an item.

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
    return (blocks + blocks.transpose(0, 2, 1)) / 2


def _products(
    rows: DenseRows, quadrature: Quadrature, logs: FloatArray, slopes: FloatArray, is_observed: bool
) -> FloatArray:
    """Return the products of the rows' mean scores, shape (n_items * n_parameters,) * 2.

    With `is_observed` less the mean of the products: what is missing of the complete information, turned round.
    """
    n_cells = slopes.shape[0] * slopes.shape[3]
    total = np.zeros((n_cells, n_cells))
    for part in _parts(rows, slopes):
        mass, _ = posterior(rows, logs, quadrature, part)
        weights, mean = rows.weights[part], np.zeros((len(mass), n_cells))
        for q in range(mass.shape[1]):
            active = np.flatnonzero(mass[:, q] > NEGLIGIBLE)
            if len(active):
                scores = rows.scores(slopes[:, :, q], active + part.start)
                mean[active] += scores * mass[active, q, None]
                if is_observed:
                    scores *= np.sqrt(mass[active, q] * weights[active])[:, None]
                    total -= scores.T @ scores
        total += mean.T @ (mean * weights[:, None])
    return total


def _parts(rows: DenseRows, slopes: FloatArray) -> list[slice]:
    """Return slices of rows whose posteriors and whose scores of all items fit the budget."""
    n_items, _, n_nodes, width = slopes.shape
    return chunks(len(rows.weights), max(n_nodes, n_items * width // SCORES_PER_MASS))


def _products_of_cells(
    rows: SparseRows,
    quadrature: Quadrature,
    logs: FloatArray,
    slopes: FloatArray,
    spread: sp.csr_array,
    is_observed: bool,
) -> FloatArray:
    """Return spread' P spread for the P of :func:`_products`, person by person on the observed cells alone."""
    n_items, n_categories, n_nodes, width = slopes.shape
    table = np.ascontiguousarray(slopes).reshape(n_items * n_categories, n_nodes, width)
    columns = np.full(n_items * width, -1)
    columns[spread.nonzero()[0]] = spread.nonzero()[1]
    columns = np.repeat(columns.reshape(n_items, width), n_categories, axis=0)
    total = np.zeros((spread.shape[1], spread.shape[1]))
    for part in chunks(len(rows.weights), n_nodes):
        mass, _ = posterior(rows, logs, quadrature, part)
        own = rows.indicators[part]
        _add_products(total, own.indptr, own.indices, table, columns, mass, rows.weights[part], is_observed)
    return total


@njit(cache=True)
def _add_products(
    total: FloatArray,
    indptr: IntArray,
    indicators: IntArray,
    table: FloatArray,
    columns: IntArray,
    mass: FloatArray,
    weights: FloatArray,
    is_observed: bool,
) -> None:
    """Add each person's products to the free parameters of the items answered.

    `table` has shape (n_indicators, n_nodes, n_parameters), and `columns` holds the free parameter of each of its
    numbers, shape (n_indicators, n_parameters), -1 for none.
    """
    width = columns.shape[1]
    place = np.full(total.shape[0], -1)
    for i in range(len(weights)):
        nodes = np.flatnonzero(mass[i] > NEGLIGIBLE)
        answered = indicators[indptr[i] : indptr[i + 1]]
        used, n = np.empty(len(answered) * width, dtype=np.int64), 0
        for c in answered:
            for column in columns[c]:
                if column >= 0 and place[column] < 0:
                    place[column], used[n] = n, column
                    n += 1
        half = np.zeros((len(nodes), n))  # scores times the root of the mass
        root = np.sqrt(mass[i][nodes])
        for q in range(len(nodes)):
            for c in answered:
                for h in range(width):
                    if columns[c, h] >= 0:
                        half[q, place[columns[c, h]]] += root[q] * table[c, nodes[q], h]
        mean = root @ half
        products = np.outer(mean, mean)
        if is_observed:
            products -= half.T @ half
        for a in range(n):
            place[used[a]] = -1
            for b in range(n):
                total[used[a], used[b]] += weights[i] * products[a, b]


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
