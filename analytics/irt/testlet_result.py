"""Options and result of the testlet fit.

Holds what goes in and what comes out, and the step from a solution in packed order to a result in the caller's order.
Does not hold any estimation (`testlet`).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analytics.irt.testlet_laplace import Information
from analytics.irt.testlet_margins import Margins, Pairs
from analytics.irt.testlet_mode import Backend, Mode
from analytics.irt.testlet_point import Scales
from analytics.irt.testlet_scale import WithMarginalScale
from analytics.literals import check_option
from analytics.matrix import FloatArray

Variances = Literal["given", "laplace"]
"""Whether the standard deviations are taken as given or maximise the Laplace marginal likelihood."""

FLOAT32_GRADIENT = 5e-4
"""Smallest derivative that float32 can promise."""

IDENTIFICATION = "theta and u have prior mean 0; the mean of b is free"

SMALLEST_SD = 0.01
"""Lower bound of the search for a standard deviation; a value there is reported as 0."""

FEW_ANSWERS = 5.0
"""Answers of a rater in a testlet below which a fit warns of its standard deviation of testlet effects."""

LARGEST_SD = 10.0
"""Upper bound of the search for a standard deviation; a result that has reached it says so."""


@dataclass(frozen=True, slots=True)
class TestletOptions:
    """What to fit.

    Attributes
    ----------
    variances
        ``given``: use the three standard deviations. ``laplace``: start from them and maximise the Laplace marginal
        likelihood, in which the mean of b is integrated under a flat prior (as restricted likelihood does).
    sd_theta, sd_b, sd_u
        Standard deviations; ``sd_u = 0`` leaves the testlet effects out.
    max_iterations
        Sweeps allowed for one mode.
    tolerance
        Largest absolute derivative of the penalised objective at convergence.
    backend
        Who runs the passes that find the mode; ``torch`` does it in float32, on the accelerator where there is one, for
        given standard deviations, with a tolerance of 5e-4 at least.
    standard_errors
        With given standard deviations, False leaves out the information: standard errors and the marginal likelihood
        are NaN, and forty million cells take a fraction of a second.
    """

    variances: Variances = "laplace"
    sd_theta: float = 1.0
    sd_b: float = 1.5
    sd_u: float = 0.5
    max_iterations: int = 500
    tolerance: float = 1e-8
    standard_errors: bool = True
    backend: Backend = "numba"

    def __post_init__(self) -> None:
        check_option("variances", self.variances, Variances)
        if self.sd_theta <= 0 or self.sd_b <= 0 or self.sd_u < 0:
            raise ValueError(f"sd_theta and sd_b must be positive and sd_u not negative; got {self}")
        check_option("backend", self.backend, Backend)
        if self.variances == "laplace" and self.backend == "torch":
            raise ValueError("backend='torch' is for given standard deviations: their search needs float64")
        if self.variances == "laplace" and not self.standard_errors:
            raise ValueError("variances='laplace' needs the information: leave standard_errors at True")


DEFAULT_OPTIONS = TestletOptions()
"""Standard deviations estimated, tight tolerance: what a real fit wants."""


@dataclass(frozen=True, slots=True)
class TestletFit(WithMarginalScale):
    """A penalised fit of the 1PL testlet model; input order throughout.

    Attributes
    ----------
    theta, theta_se
        Ability and standard error, shape (n_raters,), of a rater at testlet effect 0 (the conditional scale, which is
        that of b too); NaN for a rater without responses.
    b, b_se
        Difficulty and standard error, shape (n_items,); NaN for an item without responses.
    effects, effect_errors, pairs
        Testlet effects with their standard errors, one for each rater x testlet pair in the layout `pairs`; NaN where
        the rater answered nothing of the testlet. `u` and `u_se` are the same as tables.
    mean_b, mean_b_se
        Mean of the difficulties.
    sd_theta, sd_b, sd_u
        Standard deviations used; 0 where the estimate is at its boundary.
    log_likelihood
        Without penalty, at the mode.
    penalised_objective
        Negative log-likelihood plus penalty, at its minimum.
    marginal_log_likelihood
        Laplace approximation, random effects and mean of b integrated.
    n_iterations, gradient_norm, is_converged
        Sweeps in all, and how the search ended; `is_converged` asks it of the standard deviations too.
    is_extreme_rater, is_extreme_item
        All observed responses right, or all wrong; shape (n_raters,) and (n_items,).
    method
        ``penalised`` with given, ``laplace`` with estimated standard deviations.
    identification
        What fixes the origin of the scale.
    warnings
        What a reader must know before using the numbers.
    """

    theta: FloatArray
    theta_se: FloatArray
    b: FloatArray
    b_se: FloatArray
    effects: FloatArray
    effect_errors: FloatArray
    pairs: Pairs
    mean_b: float
    mean_b_se: float
    sd_theta: float
    sd_b: float
    sd_u: float
    log_likelihood: float
    penalised_objective: float
    marginal_log_likelihood: float
    n_iterations: int
    gradient_norm: float
    is_converged: bool
    is_extreme_rater: NDArray[np.bool_]
    is_extreme_item: NDArray[np.bool_]
    method: str
    identification: str
    warnings: tuple[str, ...]

    @property
    def u(self) -> FloatArray:
        """Testlet effects as a table, shape (n_raters, n_testlets)."""
        return self.pairs.table(self.effects)

    @property
    def u_se(self) -> FloatArray:
        """Standard errors of testlet effects as a table, shape (n_raters, n_testlets)."""
        return self.pairs.table(self.effect_errors)


@dataclass(frozen=True, slots=True)
class Solution:
    """A mode with its standard deviations, information (None when left out), log-likelihood and objectives."""

    mode: Mode
    scales: Scales
    information: Information | None
    log_likelihood: float
    objective: float
    marginal: float


def make_fit(
    cells: Margins, solution: Solution, options: TestletOptions, warnings: list[str], *, is_converged: bool
) -> TestletFit:
    """Put a solution into the caller's order, with its flags and warnings."""
    mode, point = solution.mode, solution.mode.point
    info = solution.information or _no_information(cells)
    back = np.argsort(cells.order)
    right, seen = cells.pairs.by_rater(cells.right_rt), cells.pairs.by_rater(cells.n_rt)
    no_rater, no_item = seen == 0, cells.n_item == 0
    reported, is_u_left_out = {}, bool(warnings)
    for name in ("theta", "b", "u"):
        sd = getattr(solution.scales, name)
        is_boundary = options.variances == "laplace" and sd <= SMALLEST_SD * 1.001
        reported[name] = 0.0 if is_boundary else float(sd)
        if is_boundary and not (name == "u" and is_u_left_out):
            warnings.append(f"sd_{name} is at its boundary and reported as 0")
        if options.variances == "laplace" and sd >= LARGEST_SD * 0.999:
            warnings.append(f"sd_{name} is at the largest value looked at, {LARGEST_SD:g}: the data set it no limit")
    n_answers = float(cells.n_item.sum() / np.count_nonzero(cells.n_rt))
    if options.variances == "laplace" and not is_u_left_out and n_answers < FEW_ANSWERS:
        warnings.append(
            f"a rater answers {n_answers:.1f} items of a testlet on average: with so few Laplace's approximation makes "
            "sd_u too small, of .7 some .6 with four, .4 with two and 0 with one; items taken as fixed (gauss_hermite) "
            "let it be integrated without"
        )
    is_converged = is_converged and mode.is_converged
    if not is_converged:
        warnings.append(f"not converged: gradient norm {mode.gradient_norm:.2e} after {mode.n_iterations} sweeps")
    extreme_item = (cells.n_item > 0) & ((cells.right_item == 0) | (cells.right_item == cells.weight_item))
    return TestletFit(
        theta=np.where(no_rater, np.nan, point.theta),
        theta_se=np.where(no_rater, np.nan, np.sqrt(info.var_theta)),
        b=np.where(no_item, np.nan, point.b)[back],
        b_se=np.where(no_item, np.nan, np.sqrt(info.var_b))[back],
        effects=_where_seen(cells, point.u),
        effect_errors=_where_seen(cells, np.sqrt(info.var_u) if solution.information else info.var_u),
        pairs=cells.pairs,
        mean_b=point.mean_b,
        mean_b_se=float(np.sqrt(info.var_mean_b)),
        sd_theta=reported["theta"],
        sd_b=reported["b"],
        sd_u=reported["u"],
        log_likelihood=solution.log_likelihood,
        penalised_objective=solution.objective,
        marginal_log_likelihood=solution.marginal,
        n_iterations=mode.n_iterations,
        gradient_norm=mode.gradient_norm,
        is_converged=is_converged,
        is_extreme_rater=(seen > 0) & ((right == 0) | (right == seen)),
        is_extreme_item=extreme_item[back],
        method="penalised" if options.variances == "given" else "laplace",
        identification=IDENTIFICATION,
        warnings=tuple(warnings),
    )


def _where_seen(cells: Margins, effects: FloatArray) -> FloatArray:
    """Return testlet effects, NaN where the rater answered nothing of the testlet."""
    return effects if cells.is_complete else np.where(cells.n_rt == 0, np.nan, effects)


def _no_information(cells: Margins) -> Information:
    return Information(
        var_theta=np.full(cells.weight.size, np.nan),
        var_u=np.broadcast_to(np.nan, cells.n_rt.shape),
        var_b=np.full(cells.n_item.size, np.nan),
        var_mean_b=float("nan"),
        half_log_determinant=float("nan"),
        gradient=np.full(3, np.nan),
    )
