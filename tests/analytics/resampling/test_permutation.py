"""Permutation tests: the plus-one rule, blocks, clusters and size under the null."""

import numpy as np
import pytest

from analytics.resampling.permutation import permutation_test


def test_the_smallest_p_value_is_one_in_draws_plus_one() -> None:
    x = np.arange(30.0)
    found = permutation_test(lambda y: float(np.corrcoef(x, y)[0, 1]), x, np.zeros(30, dtype=int), n_draws=999, seed=1)
    assert found.p_value == pytest.approx(1 / 1000)
    assert found.null_low < 0 < found.null_high


def test_values_stay_inside_their_block() -> None:
    values, block = np.array([1.0, 2.0, 10.0, 20.0, 7.0]), np.array([0, 0, 1, 1, 2])
    sums = []

    def record(y) -> float:
        sums.append((y[:2].sum(), y[2:4].sum(), y[4]))
        return float(y[0])

    found = permutation_test(record, values, block, n_draws=20, seed=2)
    assert set(sums) == {(3.0, 30.0, 7.0)}
    assert found.n_fixed == 1


def test_clusters_of_equal_size_change_places_whole() -> None:
    values, cluster = np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.array([0, 0, 1, 1, 2])
    seen = set()
    found = permutation_test(
        lambda y: seen.add(tuple(y)) or float(y[0]), values, np.zeros(5, dtype=int), n_draws=30, seed=3, cluster=cluster
    )
    assert seen == {(1.0, 2.0, 3.0, 4.0, 9.0), (3.0, 4.0, 1.0, 2.0, 9.0)}
    assert found.n_fixed == 1
    with pytest.raises(ValueError, match="cluster 0 lies in two blocks"):
        permutation_test(lambda _: 0.0, values, np.arange(5), n_draws=1, seed=0, cluster=cluster)


@pytest.mark.slow
def test_size_under_the_null_and_what_clusters_do_to_it() -> None:
    rng = np.random.default_rng(4)
    cluster, block = np.repeat(np.arange(20), 5), np.zeros(100, dtype=int)
    rejected = {"items": 0, "clusters": 0}
    for seed in range(120):
        x, y = rng.normal(size=20)[cluster], rng.normal(size=20)[cluster] + 0.3 * rng.normal(size=100)
        for name, units in (("items", None), ("clusters", cluster)):
            found = permutation_test(
                lambda v, x=x: float(np.corrcoef(x, v)[0, 1]), y, block, n_draws=99, seed=seed, cluster=units
            )
            rejected[name] += found.p_value <= 0.05
    assert rejected["clusters"] / 120 < 0.11  # .05, binomial error .02
    assert rejected["items"] / 120 > 0.15  # clustered values are not exchangeable one by one


def test_an_undefined_statistic_has_no_p_value() -> None:
    found = permutation_test(lambda _: float("nan"), np.arange(4.0), np.zeros(4, dtype=int), n_draws=9, seed=0)
    assert np.isnan(found.p_value)
