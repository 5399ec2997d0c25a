"""The mode of the penalised 1PL testlet model: block Newton.

Holds the search for theta, u, b and the mean of b with the standard deviations given. Does not hold standard errors
or the choice of the standard deviations, nor what a sweep does (`testlet_sweep`).
"""

from dataclasses import dataclass
from typing import Literal

from analytics.irt.testlet_listed import ListedCells
from analytics.irt.testlet_listed_passes import ListedPasses
from analytics.irt.testlet_numba import NumbaPasses
from analytics.irt.testlet_pack import Cells
from analytics.irt.testlet_passes import Passes
from analytics.irt.testlet_point import Point, Scales
from analytics.irt.testlet_sweep import Sweep
from analytics.irt.testlet_torch import TorchPasses

AnyCells = Cells | ListedCells
"""Responses in either layout."""

Backend = Literal["numba", "torch"]
"""Who runs the passes over the cells."""

_FALLS = 0.9
"""A sweep leaves less than this share of the gradient (mostly a tenth) as long as the passes are precise enough."""


@dataclass(frozen=True, slots=True)
class Mode:
    """Where the search ended.

    Attributes
    ----------
    point
        The last point.
    gradient_norm
        Largest absolute derivative of the penalised objective there, per unit of weight as in `Sweep.gradient_norm`.
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
    cells: AnyCells,
    scales: Scales,
    start: Point,
    *,
    tolerance: float,
    max_iterations: int,
    backend: Backend = "numba",
) -> Mode:
    """Minimise the penalised negative log-likelihood from `start`.

    The objective is convex, so a small gradient is the whole proof of convergence. Passes that begin in less than full
    precision end in it: once the gradient is small, or no longer falls.
    """
    way = _passes(cells, scales, start, backend)
    sweep, before = Sweep(cells, scales, start, way), float("nan")  # nothing to compare with yet
    for iteration in range(max_iterations + 1):
        norm, is_last = sweep.gradient_norm(), iteration == max_iterations
        if not way.is_exact and (norm <= tolerance or norm > _FALLS * before or is_last):
            way.refine()
            norm = sweep.gradient_norm()
        if norm <= tolerance or is_last:
            return Mode(sweep.point, norm, iteration, norm <= tolerance)
        sweep.step()
        if not way.is_exact and norm * norm <= tolerance * before:  # the next gradient should be small enough
            way.refine()
        before = norm
    raise AssertionError("the loop returns")


def _passes(cells: AnyCells, scales: Scales, start: Point, backend: Backend) -> Passes:
    """Return the passes over this layout; listed cells have compiled ones alone."""
    if isinstance(cells, ListedCells):
        return ListedPasses(cells, scales, start)
    return (TorchPasses if backend == "torch" else NumbaPasses)(cells, scales, start)
