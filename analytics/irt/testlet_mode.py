"""The mode of the penalised 1PL testlet model: block Newton.

Holds the search for theta, u, b and the mean of b with the standard deviations given. Does not hold standard errors
or the choice of the standard deviations, nor what a sweep does (`testlet_sweep`).
"""

from dataclasses import dataclass

from analytics.irt.testlet_numba import NumbaPasses
from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_point import Point, Scales
from analytics.irt.testlet_sweep import Sweep
from analytics.irt.testlet_torch import TorchPasses


@dataclass(frozen=True, slots=True)
class Mode:
    """Where the search ended.

    Attributes
    ----------
    point
        The last point.
    gradient_norm
        Largest absolute derivative of the penalised objective there, per unit of rater weight for theta and u.
    n_iterations
        Sweeps done.
    is_converged
        Whether `gradient_norm` is within the tolerance.
    """

    point: Point
    gradient_norm: float
    n_iterations: int
    is_converged: bool


def find_mode(
    cells: Cells,
    scales: Scales,
    start: Point,
    *,
    tolerance: float,
    max_iterations: int,
    passes: type[NumbaPasses] | type[TorchPasses] = NumbaPasses,
) -> Mode:
    """Minimise the penalised negative log-likelihood from `start`.

    The objective is convex, so a small gradient is the whole proof of convergence.
    """
    sweep = Sweep(cells, scales, start, passes(cells, scales, start))
    for iteration in range(max_iterations + 1):
        norm = sweep.gradient_norm()
        if norm <= tolerance or iteration == max_iterations:
            return Mode(sweep.point, norm, iteration, norm <= tolerance)
        sweep.step()
    raise AssertionError("the loop returns")
