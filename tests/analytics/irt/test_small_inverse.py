"""Inverses and determinants of many small matrices, against numpy's."""

import numpy as np
import pytest

from analytics.irt.small_inverse import invert_all


@pytest.mark.parametrize(("n_matrices", "n"), [(0, 3), (5, 1), (40, 3), (7, 12), (3, 40), (3, 41)])
def test_inverse_and_determinant_are_those_of_numpy(rng, n_matrices, n) -> None:
    x = rng.normal(size=(n_matrices, n, n + 3)) * rng.uniform(0.01, 100, (n_matrices, n, 1))
    matrices = x @ x.transpose(0, 2, 1)
    inverses, log_determinant = invert_all(np.asfortranarray(matrices))
    np.testing.assert_allclose(inverses @ matrices, np.broadcast_to(np.eye(n), matrices.shape), atol=1e-6)
    np.testing.assert_allclose(inverses, np.linalg.inv(matrices), rtol=1e-7)
    assert log_determinant == pytest.approx(np.sum(np.linalg.slogdet(matrices)[1]), abs=1e-8)
