"""The two passes of a sweep over the testlet model: what they take and what they give.

Holds the records and the protocol. Does not hold the passes themselves (`testlet_numba`, `testlet_torch`), nor the
Newton steps between them (`testlet_sweep`).
"""

from dataclasses import dataclass
from typing import Protocol

from analytics.matrix import FloatArray


@dataclass(frozen=True, slots=True)
class Shift:
    """A move that leaves every logit as it is, still to be carried out on u.

    Attributes
    ----------
    theta
        Move of every theta; u moves against it.
    testlet
        Move of each testlet's u and b, shape (n_testlets,).
    """

    theta: float
    testlet: FloatArray


@dataclass(frozen=True, slots=True)
class RaterSums:
    """What a Newton step of the raters needs.

    Attributes
    ----------
    residual
        Right answers less expected ones, shape (n_raters,).
    information
        Information on theta that u leaves, shape (n_raters,).
    correction
        What the gradients of u add to theta's step, shape (n_raters,).
    expected_item
        Weighted expected right answers, shape (n_items,).
    largest
        Largest absolute derivative by a u.
    """

    residual: FloatArray
    information: FloatArray
    correction: FloatArray
    expected_item: FloatArray
    largest: float


@dataclass(frozen=True, slots=True)
class ItemSums:
    """What a Newton step of the items needs.

    Attributes
    ----------
    expected, info
        Weighted sums of p and p(1 - p), shape (n_items,).
    sum_u
        Weighted sum of the u of each testlet, shape (n_testlets,).
    """

    expected: FloatArray
    info: FloatArray
    sum_u: FloatArray


class Passes(Protocol):
    """Two passes over the cells that keep u between them."""

    @property
    def u(self) -> FloatArray:
        """Testlet effects, shape (n_testlets, n_raters)."""
        ...

    @property
    def is_exact(self) -> bool:
        """Whether the passes are as precise as they can be."""
        ...

    def refine(self) -> None:
        """Make the passes as precise as they can be."""
        ...

    def towards_raters(self, theta: FloatArray, b: FloatArray, shift: Shift) -> RaterSums:
        """Carry out the shift on u, then sum at theta, b and u."""
        ...

    def towards_items(self, theta: FloatArray, d_theta: FloatArray, b: FloatArray) -> ItemSums:
        """Step u given the step of theta, then sum at the new theta, the new u and b."""
        ...
