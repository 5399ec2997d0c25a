"""The functions that compiled loops are vectorised with."""

import numpy as np
import pytest

from analytics.irt.vector_math import larger, vector_exp


@pytest.mark.parametrize(("most", "tolerance"), [(1.0, 1e-15), (40.0, 2e-15), (700.0, 4e-14)])
def test_the_exponential_is_that_of_numpy(most, tolerance) -> None:
    x = np.append(np.linspace(-most, most, 20_001), [0.0, np.log(2.0) / 2.0, -np.log(2.0) / 2.0])
    np.testing.assert_allclose([vector_exp(value) for value in x], np.exp(x), rtol=tolerance)


def test_the_exponential_is_finite_beyond_its_range() -> None:
    assert vector_exp(0.0) == 1.0
    assert vector_exp(1e9) == pytest.approx(np.exp(700.0), rel=1e-13)
    assert vector_exp(-1e9) == pytest.approx(np.exp(-700.0), rel=1e-13)


def test_larger_is_the_larger() -> None:
    assert (larger(1.0, 2.0), larger(2.0, 1.0), larger(-3.0, -3.0)) == (2.0, 2.0, -3.0)
