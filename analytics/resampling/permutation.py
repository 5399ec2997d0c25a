"""Permutation tests inside blocks, with the plus-one rule.

Holds the permutation of labels between items of one block, and between whole clusters. Does not hold statistics.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analytics.matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """A statistic against its distribution when labels are exchangeable.

    Attributes
    ----------
    observed
        The statistic of the data.
    null_mean, null_low, null_high
        Mean, 2.5 % and 97.5 % points of the permuted statistics.
    p_value
        One-sided, (1 + draws at least as large) / (1 + draws): never 0. NaN when the statistic is undefined.
    n_draws, seed
        Permutations and their seed.
    n_fixed
        Items that no permutation can move: alone in their block, or in a cluster without an equal.
    """

    observed: float
    null_mean: float
    null_low: float
    null_high: float
    p_value: float
    n_draws: int
    seed: int
    n_fixed: int


def permutation_test(
    statistic: Callable[[FloatArray], float],
    values: FloatArray,
    block: IntArray,
    *,
    n_draws: int = 1000,
    seed: int,
    cluster: IntArray | None = None,
) -> PermutationTest:
    """Test a statistic by permuting `values` inside blocks.

    Parameters
    ----------
    statistic
        From values of shape (n,), in item order, to a number; larger is more extreme.
    values
        What is permuted, shape (n,).
    block
        Values move only between items of equal block, shape (n,).
    n_draws, seed
        Permutations and their seed.
    cluster
        With clusters, whole clusters change places, their values in order: what clusters share is then kept. Only
        clusters of one block and of equal size can do so. None moves single items.
    """
    rng = np.random.default_rng(seed)
    units = _units(block, np.arange(block.size) if cluster is None else cluster)
    observed = float(statistic(values))
    draws = np.empty(n_draws)
    for draw in range(n_draws):
        permuted = values.copy()
        for places in units:
            permuted[places] = values[places[rng.permutation(len(places))]]
        draws[draw] = statistic(permuted)
    n_fixed = block.size - sum(places.size for places in units)
    if np.isnan(observed) or np.isnan(draws).any():
        nan = float("nan")
        return PermutationTest(observed, nan, nan, nan, nan, n_draws, seed, n_fixed)
    low, high = np.quantile(draws, [0.025, 0.975])
    at_least = int(np.sum(draws >= observed - 1e-12 * max(1.0, abs(observed))))
    return PermutationTest(
        observed=observed,
        null_mean=float(draws.mean()),
        null_low=float(low),
        null_high=float(high),
        p_value=(1 + at_least) / (1 + n_draws),
        n_draws=n_draws,
        seed=seed,
        n_fixed=n_fixed,
    )


def _units(block: IntArray, cluster: IntArray) -> list[IntArray]:
    """List exchangeable places: arrays (n_clusters, cluster size) of item indices, more than one cluster each."""
    members: dict[tuple[int, int], list[IntArray]] = {}
    for code in np.unique(cluster):
        places = np.flatnonzero(cluster == code)
        if np.any(block[places] != block[places[0]]):
            raise ValueError(f"cluster {code} lies in two blocks: its values cannot move together")
        members.setdefault((int(block[places[0]]), places.size), []).append(places)
    return [np.stack(places) for places in members.values() if len(places) > 1]
