"""The torch pass gives the numbers of the numpy pass to float32's precision."""

import numpy as np
import pytest

from analytics.irt.logistic import fit_logistic
from analytics.irt.model_spec import MarginalOptions
from analytics.irt.reading import responses_from_long, responses_from_matrix
from tests.analytics.irt.simulate import draw, some_items

RELATIVE = 1e-4


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_two_parameter_fit_on_torch(missing: float, rng: np.random.Generator) -> None:
    data = responses_from_matrix(draw(some_items("logistic", 10, rng), rng.normal(size=400), rng, missing=missing))
    ours, theirs = fit_logistic(data), fit_logistic(data, options=MarginalOptions(backend="torch"))
    assert theirs.log_likelihood == pytest.approx(ours.log_likelihood, rel=RELATIVE)
    np.testing.assert_allclose(theirs.items.slope, ours.items.slope, atol=3e-4)
    np.testing.assert_allclose(theirs.items.thresholds, ours.items.thresholds, atol=5e-4)
    np.testing.assert_allclose(theirs.theta, ours.theta, atol=3e-4)
    assert theirs.is_converged


def test_torch_wants_dense_rows() -> None:
    data = responses_from_long([0, 1, 2], [0, 0, 5], [1, 0, 1], person_ids=range(3), item_ids=range(6))
    with pytest.raises(ValueError, match="dense"):
        fit_logistic(data, options=MarginalOptions(backend="torch"))
