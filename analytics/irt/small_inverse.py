"""Inverses of many small positive definite matrices.

Holds the inverse of a Cholesky factor, for compiled loops, and the inverses of a stack of matrices made from it. LAPACK
by way of numpy takes the general inverse and the determinant from two factorisations, each with a call for every
matrix: for ten items a testlet that is four times the work of one Cholesky factor.
"""

import numba
import numpy as np

from analytics.irt.vector_math import FAST
from analytics.matrix import FloatArray

_LARGEST = 40  # rows; beyond them blocked LAPACK is faster


def invert_all(matrices: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverses, shape (n_matrices, n, n), and the sum of the log determinants.

    Parameters
    ----------
    matrices
        Symmetric and positive definite, shape (n_matrices, n, n).
    """
    if matrices.shape[1] > _LARGEST:
        determinants = np.linalg.slogdet(matrices)[1]
        return np.asarray(np.linalg.inv(matrices), dtype=np.float64), float(np.sum(determinants))
    inverses = np.empty(matrices.shape)
    return inverses, _invert(np.ascontiguousarray(matrices), inverses)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def invert_root(matrix: FloatArray, n: int, root: FloatArray) -> float:
    """Write the inverse R of the Cholesky factor, so that the inverse is R'R; return the log determinant.

    Parameters
    ----------
    matrix
        Its first n rows and columns are positive definite; read below the diagonal and on it.
    n
        Rows.
    root
        R, written below the diagonal and on it.
    """
    log_determinant = 0.0
    for j in range(n):
        rest = matrix[j, j]
        for k in range(j):
            rest -= root[j, k] ** 2
        log_determinant += np.log(rest)
        root[j, j] = 1.0 / np.sqrt(rest)  # the factor's diagonal is held inverted
        for i in range(j + 1, n):
            rest = matrix[i, j]
            for k in range(j):
                rest -= root[i, k] * root[j, k]
            root[i, j] = rest * root[j, j]
    for j in range(n):
        for i in range(j + 1, n):
            total = 0.0
            for k in range(j, i):
                total += root[i, k] * root[k, j]
            root[i, j] = -total * root[i, i]
    return log_determinant


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _invert(matrices: FloatArray, inverses: FloatArray) -> float:
    """Invert each factor and multiply it with itself; return the sum of the log determinants."""
    n, log_determinant = matrices.shape[1], 0.0
    root = np.empty((n, n))
    for g in range(matrices.shape[0]):
        log_determinant += invert_root(matrices[g], n, root)
        for i in range(n):
            for j in range(i + 1):
                total = 0.0
                for k in range(i, n):
                    total += root[k, i] * root[k, j]
                inverses[g, i, j] = inverses[g, j, i] = total
    return log_determinant
