"""Parameter recovery and split halves of the testlet fit.

Holds the refits of simulated responses and of disjoint halves, and how their agreement is summed up. Does not hold
the fit. Standard deviations are those of the fit under study, so that a refit is one search for the mode.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from analytics.correlation import pearson
from analytics.ctt.reliability import spearman_brown
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_result import SMALLEST_SD, TestletFit, TestletOptions
from analytics.literals import check_option
from analytics.matrix import FloatArray, IntArray, ResponseMatrix

Design = Literal["fitted_parameters", "drawn_parameters", "items_by_testlet", "raters_by_model"]
"""Recovery: truth is the estimates, or drawn from the estimated distributions. Split half: what is halved."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Agreement of estimates with truth, or of two halves, for one parameter and replicate.

    Attributes
    ----------
    parameter
        ``theta`` or ``b``.
    design, replicate
        What was simulated or split, and which time.
    n
        Values compared.
    pearson_r, rmse
        Correlation and root mean squared difference; NaN without spread.
    slope
        Least-squares slope of truth on estimate: 1 where the estimate is calibrated. NaN for halves.
    spearman_brown
        Reliability of the whole from the halves' correlation; NaN for recovery.
    """

    parameter: str
    design: Design
    replicate: int
    n: int
    pearson_r: float
    rmse: float
    slope: float
    spearman_brown: float


def parameter_recovery(
    matrix: ResponseMatrix,
    fit: TestletFit,
    *,
    design: Literal["fitted_parameters", "drawn_parameters"],
    n_replicates: int,
    seed: int,
) -> list[Comparison]:
    """Simulate responses from the model, refit, and compare with what they were simulated from.

    Cells missing in the data are missing in every simulation. With ``fitted_parameters`` the truth is the estimates
    themselves, which are less spread than abilities and difficulties are: it says how well the fit repeats itself.
    With ``drawn_parameters`` the truth is drawn anew from the estimated distributions.

    Parameters
    ----------
    matrix, fit
        The responses and their fit.
    design
        What is true in the simulations.
    n_replicates, seed
        Simulations and their seed.
    """
    check_option("design", design, Literal["fitted_parameters", "drawn_parameters"])
    rng = np.random.default_rng(seed)
    missing = np.isnan(matrix.responses)
    options = _fixed(fit)
    rows = []
    for replicate in range(n_replicates):
        theta, b, u = np.nan_to_num(fit.theta), np.nan_to_num(fit.b, nan=fit.mean_b), np.nan_to_num(fit.u)
        if design == "drawn_parameters":
            theta = rng.normal(0.0, fit.sd_theta, theta.size)
            b, u = rng.normal(fit.mean_b, fit.sd_b, b.size), rng.normal(0.0, fit.sd_u, u.shape)
        p = expit(theta[:, None] + u[:, matrix.item_testlet] - b)
        simulated = np.where(missing, np.nan, (rng.random(p.shape) < p).astype(np.float64))
        if np.nanmin(simulated) == np.nanmax(simulated):
            continue
        found = fit_testlet(simulated, matrix.item_testlet, options)
        rows += [
            _compare("theta", design, replicate, theta, found.theta),
            _compare("b", design, replicate, b, found.b),
        ]
    return rows


def split_halves(matrix: ResponseMatrix, fit: TestletFit, *, n_replicates: int, seed: int) -> list[Comparison]:
    """Refit disjoint halves: testlets are halved for theta, models for b.

    Whole testlets and whole models go to one side, since items of one testlet and raters of one model are not
    independent. With few models the halves are unequal (1 against 2 of three) and the splits few; each distinct split
    is used once.

    Parameters
    ----------
    matrix, fit
        The responses and their fit.
    n_replicates, seed
        Splits at most, and their seed.
    """
    rng = np.random.default_rng(seed)
    options = _fixed(fit)
    rows = []
    for replicate, side in enumerate(_splits(len(matrix.testlet_ids), n_replicates, rng)):
        of_item = side[matrix.item_testlet]
        halves = [_refit(matrix.responses[:, of_item == s], matrix.item_testlet[of_item == s], options) for s in (0, 1)]
        if halves[0] is not None and halves[1] is not None:
            rows.append(_compare("theta", "items_by_testlet", replicate, halves[0].theta, halves[1].theta))
    codes = matrix.model_codes()
    for replicate, side in enumerate(_splits(int(codes.max()) + 1, n_replicates, rng)):
        of_rater = side[codes]
        halves = [_refit(matrix.responses[of_rater == s], matrix.item_testlet, options) for s in (0, 1)]
        if halves[0] is not None and halves[1] is not None:
            rows.append(_compare("b", "raters_by_model", replicate, halves[0].b, halves[1].b))
    return rows


def _fixed(fit: TestletFit) -> TestletOptions:
    return TestletOptions(
        variances="given",
        sd_theta=max(fit.sd_theta, SMALLEST_SD),
        sd_b=max(fit.sd_b, SMALLEST_SD),
        sd_u=fit.sd_u,
        tolerance=1e-6,
        standard_errors=False,
    )


def _refit(responses: FloatArray, item_testlet: IntArray, options: TestletOptions) -> TestletFit | None:
    """Fit a half, or None where it has nothing that varies."""
    seen = responses[~np.isnan(responses)]
    if seen.size == 0 or seen.min() == seen.max():
        return None
    _, codes = np.unique(item_testlet, return_inverse=True)
    return fit_testlet(responses, codes.astype(np.int64), options)


def _splits(n: int, n_splits: int, rng: np.random.Generator) -> list[IntArray]:
    """Distinct random halvings of n units, side 0 or 1 of each; unit 0 is always on side 0."""
    if n < 2:
        return []
    found: dict[bytes, IntArray] = {}
    for _ in range(20 * n_splits):
        side = np.ones(n, dtype=np.int64)
        side[rng.permutation(n)[: n // 2]] = 0
        side ^= side[0]
        found.setdefault(side.tobytes(), side)
        if len(found) == n_splits:
            break
    return list(found.values())


def _compare(parameter: str, design: Design, replicate: int, first: FloatArray, second: FloatArray) -> Comparison:
    """Compare truth (or one half) with estimates (or the other), where both exist."""
    both = ~np.isnan(first) & ~np.isnan(second)
    x, y = first[both], second[both]
    is_split = design in ("items_by_testlet", "raters_by_model")
    r = pearson(x, y)
    slope = float("nan") if is_split or np.isnan(r) else r * float(x.std() / y.std())
    return Comparison(
        parameter=parameter,
        design=design,
        replicate=replicate,
        n=int(both.sum()),
        pearson_r=r,
        rmse=float(np.sqrt(np.mean((x - y) ** 2))) if x.size else float("nan"),
        slope=slope,
        spearman_brown=spearman_brown(r) if is_split else float("nan"),
    )
