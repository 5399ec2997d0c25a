"""What a compiled loop needs so that it can take several numbers at a time.

Holds the flags and the two functions. The C library's exponential is a call for each number, which keeps the loop
around it from being vectorised and costs four times as much.
"""

import numba
import numpy as np

# Without nnan and ninf: a compiler told that there are no NaN or infinities may fold a check for them away.
FAST = {"reassoc", "contract", "arcp", "nsz"}
_LARGEST = 700.0
_LOG2_E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.693145751953125, 1.4286068203094172e-06
_C12, _C11, _C10, _C9, _C8 = 1 / 479001600, 1 / 39916800, 1 / 3628800, 1 / 362880, 1 / 40320
_C7, _C6, _C5, _C4, _C3 = 1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6


@numba.njit(inline="always", error_model="numpy", fastmath=FAST)
def vector_exp(x: float) -> float:
    """Return exp(x), x clipped at 700 either way; to 1e-15 of its value, to 3e-14 at the ends.

    With n the whole number next to x / ln 2 and r what is left of x, it is 2^n, written into the exponent's bits, times
    Taylor's polynomial at r, which is .35 at most.
    """
    clipped = min(max(x, -_LARGEST), _LARGEST)
    n = np.floor(clipped * _LOG2_E + 0.5)
    r = (clipped - n * _LN2_HIGH) - n * _LN2_LOW
    high = ((((_C12 * r + _C11) * r + _C10) * r + _C9) * r + _C8) * r + _C7
    series = ((((((high * r + _C6) * r + _C5) * r + _C4) * r + _C3) * r + 0.5) * r + 1.0) * r + 1.0
    bits = (np.int64(np.int32(n)) + 1023) << 52  # by way of 32 bits, for which there is a vector instruction
    result: float = series * np.int64(bits).view(np.float64)
    return result


@numba.njit(fastmath={"nnan", "nsz"})
def larger(a: float, b: float) -> float:
    """Return the larger one; that neither is NaN is what lets the loop around it be vectorised."""
    return a if a > b else b
