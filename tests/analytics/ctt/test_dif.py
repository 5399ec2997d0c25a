"""Differential item functioning: hand-worked strata, an independent optimiser, and known truth."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from analytics.ctt.dif import logistic_dif, mantel_haenszel


def test_mantel_haenszel_by_hand() -> None:
    # level 0: reference 2 right 1 wrong, focal 1 right 2 wrong; level 1: reference 3 and 1, focal 2 and 2
    cells = [(0, 0, 2, 1), (0, 1, 1, 2), (1, 0, 3, 1), (1, 1, 2, 2)]
    rows = [(level, focal, y) for level, focal, r, w in cells for y in [1] * r + [0] * w]
    level, focal, y = (np.array(column) for column in zip(*rows, strict=True))
    found = mantel_haenszel(y[:, None].astype(float), focal == 1, level.astype(float))
    ratio = (2 * 2 / 6 + 3 * 2 / 8) / (1 * 1 / 6 + 1 * 2 / 8)
    assert found.odds_ratio[0] == pytest.approx(ratio)
    assert found.delta[0] == pytest.approx(-2.35 * np.log(ratio))
    deviation = abs((2 + 3) - (3 * 3 / 6 + 4 * 5 / 8)) - 0.5
    variance = 3 * 3 * 3 * 3 / (36 * 5) + 4 * 4 * 5 * 3 / (64 * 7)
    assert found.chi_square[0] == pytest.approx(deviation**2 / variance)
    assert (found.n_reference[0], found.n_focal[0]) == (7, 7)


def test_an_item_without_information_is_undefined() -> None:
    found = mantel_haenszel(np.ones((6, 1)), np.array([0, 1] * 3) == 1, np.arange(6.0))
    assert np.isnan(found.delta[0])
    assert np.isnan(found.p_value[0])


@pytest.fixture
def groups(rng):
    n = 1500
    focal = np.arange(n) % 2 == 1
    theta = rng.normal(0, 1, n) - 0.3 * focal
    b = np.linspace(-1, 1, 12)
    logit = theta[:, None] - b - np.where(np.arange(12) == 5, 0.9, 0.0) * focal[:, None]
    responses = (rng.random((n, 12)) < expit(logit)).astype(float)
    return responses, focal, responses.sum(axis=1)


def test_both_methods_find_the_one_item_that_differs(groups) -> None:
    responses, focal, total = groups
    mh, logistic = mantel_haenszel(responses, focal, total), logistic_dif(responses, focal, total)
    assert np.argmin(mh.delta) == 5
    assert mh.delta[5] == pytest.approx(-2.35 * 0.9, abs=3 * mh.delta_se[5])
    assert mh.p_value[5] < 1e-4
    assert logistic.uniform_p[5] < 1e-4
    assert np.median(np.delete(mh.p_value, 5)) > 0.05
    assert np.median(logistic.nonuniform_p) > 0.05


def test_logistic_equals_an_independent_fit(groups) -> None:
    responses, focal, total = groups
    score = (total - total.mean()) / total.std()
    design = np.column_stack([score, focal])
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(design, responses[:, 3])
    assert logistic_dif(responses, focal, total).group_effect[3] == pytest.approx(other.coef_[0, 1], abs=1e-4)


def test_separation_is_undefined_not_a_number() -> None:
    score = np.arange(10.0)
    found = logistic_dif((score[:, None] > 4).astype(float), np.array([0, 1] * 5) == 1, score)
    assert np.isnan(found.uniform_p[0])
