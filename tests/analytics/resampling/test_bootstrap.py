"""Cluster bootstrap: multiplicities, coverage, strata, the two-way form and the jackknife."""

import numpy as np
import pytest

from analytics.resampling.bootstrap import (
    cluster_bootstrap,
    draw_multiplicities,
    jackknife_se,
    make_interval,
    two_way_bootstrap,
)

CLUSTER = np.array([0, 0, 1, 2, 2, 2])


def mean_of(x):
    return lambda weights: weights @ x / weights.sum(axis=1)


def test_items_of_a_cluster_are_drawn_together(rng) -> None:
    times = draw_multiplicities(CLUSTER, n_draws=50, rng=rng)
    assert np.all(times[:, 0] == times[:, 1])
    assert np.all(times[:, 3] == times[:, 5])
    assert np.all(times[:, [0, 2, 3]].sum(axis=1) == 3)


def test_strata_keep_their_number_of_clusters(rng) -> None:
    stratum = np.array([0, 0, 0, 1, 1, 1])
    times = draw_multiplicities(CLUSTER, n_draws=50, rng=rng, stratum=stratum)
    assert np.all(times[:, 0] + times[:, 2] == 2)
    assert np.all(times[:, 3] == 1)
    with pytest.raises(ValueError, match="two strata"):
        draw_multiplicities(CLUSTER, n_draws=1, rng=rng, stratum=np.array([0, 1, 0, 1, 1, 1]))


def test_same_seed_same_interval(rng) -> None:
    x = rng.normal(size=6)
    first = cluster_bootstrap(mean_of(x), CLUSTER, n_draws=200, seed=5)
    assert first == cluster_bootstrap(mean_of(x), CLUSTER, n_draws=200, seed=5)
    assert first != cluster_bootstrap(mean_of(x), CLUSTER, n_draws=200, seed=6)
    assert (first.n, first.n_clusters, first.n_draws, first.seed) == (6, 3, 200, 5)


def test_clustered_intervals_cover_where_naive_ones_do_not() -> None:
    rng = np.random.default_rng(11)
    cluster = np.repeat(np.arange(40), 6)
    hits = {"clustered": 0, "naive": 0}
    for seed in range(200):
        x = rng.normal(size=40)[cluster] + 0.5 * rng.normal(size=240)
        for name, units in (("clustered", cluster), ("naive", np.arange(240))):
            found = cluster_bootstrap(mean_of(x), units, n_draws=300, seed=seed)
            hits[name] += found.ci_low <= 0 <= found.ci_high
    assert 0.88 <= hits["clustered"] / 200 <= 0.98  # nominal .95; percentile intervals of 40 clusters are a bit short
    assert hits["naive"] / 200 < 0.75


def test_two_way_is_wider_when_models_differ(rng) -> None:
    model = np.repeat(np.arange(3), 7)
    x = rng.normal(size=(3, 1))[model] + 0.1 * rng.normal(size=(21, 120))
    items = np.repeat(np.arange(30), 4)
    both = two_way_bootstrap(lambda i, r: float(r @ x @ i / (r.sum() * i.sum())), items, model, n_draws=300, seed=1)
    one = cluster_bootstrap(mean_of(x.mean(axis=0)), items, n_draws=300, seed=1)
    assert both.se > 5 * one.se
    assert both.resampled_unit == "item cluster x model"
    assert both.n_clusters == 3


def test_jackknife_of_a_mean_is_its_standard_error(rng) -> None:
    x = rng.normal(size=25)
    assert jackknife_se(mean_of(x), np.arange(25)) == pytest.approx(x.std(ddof=1) / 5)
    assert np.isnan(jackknife_se(mean_of(x), np.zeros(25, dtype=int)))


@pytest.mark.parametrize(("method", "expected"), [("percentile", (1.0, 9.0)), ("basic", (-1.0, 7.0))])
def test_intervals_are_read_off_by_name(method, expected) -> None:
    found = make_interval(4.0, np.arange(11.0), n=1, n_clusters=1, seed=0, resampled_unit="x", method=method, level=0.8)
    assert (found.ci_low, found.ci_high) == pytest.approx(expected)


def test_undefined_draws_are_counted_and_too_many_leave_no_interval() -> None:
    some = make_interval(1.0, np.array([0.0, 1.0, 2.0, np.nan]), n=1, n_clusters=1, seed=0, resampled_unit="x")
    assert some.n_undefined == 1
    assert some.ci_high <= 2.0
    most = make_interval(1.0, np.array([0.0, np.nan, np.nan, np.nan]), n=1, n_clusters=1, seed=0, resampled_unit="x")
    assert np.isnan(most.ci_low)
    with pytest.raises(ValueError, match="unknown method 'bca'"):
        make_interval(1.0, np.zeros(3), n=1, n_clusters=1, seed=0, resampled_unit="x", method="bca")  # type: ignore[arg-type]
