"""The one pass over the data that every marginal model shares: posteriors at the nodes and expected counts.

Holds the dense and the compressed-row form of that pass. What the counts are used for belongs to ``marginal``.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from analytics.irt.quadrature import Quadrature
from analytics.irt.responses import CodeArray, FloatArray, IntArray, Responses

CHUNK_CELLS = 400_000  # persons x nodes held at once: the posterior block stays in the processor's cache


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one pass yields.

    Attributes
    ----------
    log_likelihood
        Weighted marginal log-likelihood.
    counts
        Expected weighted counts, shape (n_items, n_categories, n_nodes).
    """

    log_likelihood: float
    counts: FloatArray


class DenseRows:
    """Distinct rows of a dense table, as one matrix of category indicators.

    The lowest category is the reference, so complete data need one matrix product in each direction; with missing
    cells a second one over the mask of observed cells adds the reference category's share. `weights` are those of the
    distinct rows, and `row_of_person` says which one each person has.
    """

    def __init__(self, dense: CodeArray, weights: FloatArray, n_categories: int) -> None:
        as_bytes = np.ascontiguousarray(dense).view(np.dtype((np.void, max(dense.shape[1], 1))))[:, 0]
        _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
        self.row_of_person: IntArray = inverse.astype(np.int64)
        self.weights: FloatArray = np.bincount(inverse, weights=weights, minlength=len(first)).astype(np.float64)
        self.codes = dense[first]
        categories = np.arange(1, n_categories, dtype=np.int8)
        self.indicators = (self.codes[:, :, None] == categories).reshape(len(first), -1).astype(np.float64)
        observed = self.codes >= 0
        self.observed: FloatArray | None = None if observed.all() else observed.astype(np.float64)

    def log_weights_at_nodes(self, logs: FloatArray, rows: slice) -> FloatArray:
        """Return log P(responses | node) of the rows, shape (n_rows, n_nodes)."""
        contrast = (logs[:, 1:] - logs[:, :1]).reshape(-1, logs.shape[2])
        total = self.indicators[rows] @ contrast
        total += logs[:, 0].sum(axis=0) if self.observed is None else self.observed[rows] @ logs[:, 0]
        return np.asarray(total)

    def add_counts(self, counts: FloatArray, posterior: FloatArray, rows: slice) -> None:
        """Add the posterior mass of the rows to counts of shape (n_items, n_categories, n_nodes)."""
        n_items, n_categories, n_nodes = counts.shape
        # BLAS takes two thirds of the time in this order that it takes the other way round
        upper = (posterior.T @ self.indicators[rows]).T.reshape(n_items, n_categories - 1, n_nodes)
        counts[:, 1:] += upper
        counts[:, 0] += posterior.sum(axis=0) if self.observed is None else (posterior.T @ self.observed[rows]).T
        counts[:, 0] -= upper.sum(axis=1)

    def scores(self, table: FloatArray, rows: IntArray) -> FloatArray:
        """Return each row's score vector from a table (n_items, n_categories, n_parameters), items major."""
        codes = self.codes[rows]
        chosen = table[np.arange(table.shape[0]), np.maximum(codes, 0)]
        chosen[codes < 0] = 0.0
        return np.asarray(chosen.reshape(len(rows), -1))


class SparseRows:
    """Persons as compressed rows of category indicators; memory grows with the observed cells."""

    def __init__(self, responses: Responses, n_categories: int) -> None:
        self.row_of_person: IntArray = np.arange(responses.n_persons)
        self.weights: FloatArray = responses.weights
        self.n_categories = n_categories
        columns = responses.items * n_categories + responses.values
        shape = (responses.n_persons, responses.n_items * n_categories)
        self.indicators = sp.csr_array((np.ones(len(columns)), columns, responses.indptr), shape=shape)

    def log_weights_at_nodes(self, logs: FloatArray, rows: slice) -> FloatArray:
        """Return log P(responses | node) of the rows, shape (n_rows, n_nodes)."""
        return np.asarray(self.indicators[rows] @ logs.reshape(-1, logs.shape[2]))

    def add_counts(self, counts: FloatArray, posterior: FloatArray, rows: slice) -> None:
        """Add the posterior mass of the rows to counts of shape (n_items, n_categories, n_nodes)."""
        counts += np.asarray(self.indicators[rows].T @ posterior).reshape(counts.shape)


Rows = DenseRows | SparseRows
"""Responses prepared for passes; a row is a distinct response pattern (dense) or a person (sparse)."""


def prepare_rows(responses: Responses, n_categories: int) -> Rows:
    """Return the responses in the form that suits their density."""
    if responses.dense is not None:
        return DenseRows(responses.dense, responses.weights, n_categories)
    return SparseRows(responses, n_categories)


def chunks(n_rows: int, n_nodes: int) -> list[slice]:
    """Return slices of rows whose posterior block fits the budget."""
    size = max(64, CHUNK_CELLS // n_nodes)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def posterior(rows: Rows, logs: FloatArray, quadrature: Quadrature, part: slice) -> tuple[FloatArray, FloatArray]:
    """Return each row's posterior over the nodes and its marginal log-likelihood."""
    joint = rows.log_weights_at_nodes(logs, part)
    joint += quadrature.log_weights
    peak = joint.max(axis=1)
    joint -= peak[:, None]
    np.exp(joint, out=joint)
    mass = joint.sum(axis=1)
    joint /= mass[:, None]
    return joint, np.log(mass) + peak


def expect(rows: Rows, logs: FloatArray, quadrature: Quadrature) -> Expectation:
    """Run the pass at the given log category probabilities, shape (n_items, n_categories, n_nodes)."""
    counts = np.zeros(logs.shape)
    total = 0.0
    for part in chunks(len(rows.weights), logs.shape[2]):
        mass, log_likelihood = posterior(rows, logs, quadrature, part)
        weights = rows.weights[part]
        total += float(weights @ log_likelihood)
        mass *= weights[:, None]
        rows.add_counts(counts, mass, part)
    return Expectation(total, counts)


def posterior_moments(rows: Rows, logs: FloatArray, quadrature: Quadrature) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean and standard deviation of each person, in the order of the persons."""
    mean, square = np.empty(len(rows.weights)), np.empty(len(rows.weights))
    for part in chunks(len(rows.weights), logs.shape[2]):
        mass, _ = posterior(rows, logs, quadrature, part)
        mean[part] = mass @ quadrature.nodes
        square[part] = np.einsum("pq,pq->p", mass, (quadrature.nodes - mean[part][:, None]) ** 2)
    return mean[rows.row_of_person], np.sqrt(square)[rows.row_of_person]
