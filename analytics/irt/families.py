"""Item models in the coordinates in which they are estimated: intercepts, not difficulties, and nothing bounded.

Each family maps a row of free numbers per item to log category probabilities at the quadrature nodes and their
derivatives, and to slope, thresholds and lower asymptote. No data and no optimiser belongs here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from analytics.irt.items import ResponseFamily
from analytics.irt.responses import FloatArray, IntArray

Tables = Callable[[FloatArray, FloatArray, IntArray], tuple[FloatArray, FloatArray]]
"""(x, nodes, n_categories) -> log P of shape (items, categories, nodes) and d log P / dx, one more axis."""

Readable = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray, FloatArray]]
"""(x, n_categories) -> slope, thresholds, lower asymptote."""


@dataclass(frozen=True, slots=True)
class Family:
    """One item model.

    Attributes
    ----------
    response_family
        Its name among :data:`analytics.irt.items.ResponseFamily`.
    tables, readable
        The two maps described at the top; column 0 of x is always the slope.
    """

    response_family: ResponseFamily
    tables: Tables
    readable: Readable


def parameters_in_use(n_categories: IntArray, width: int) -> FloatArray:
    """Return 1 where column h of an item's row is a parameter of that item, shape (n_items, width)."""
    return (np.arange(width)[None, :] < n_categories[:, None]).astype(np.float64)


def logistic_tables(x: FloatArray, nodes: FloatArray, _: IntArray) -> tuple[FloatArray, FloatArray]:
    """Two-parameter logistic: x = (a, d), logit P = a theta + d; with a third column logit(c), the 3PL."""
    z = x[:, :1] * nodes + x[:, 1:2]
    p = expit(z)
    logs = np.stack([log_expit(-z), log_expit(z)], axis=1)
    slopes = np.empty((*logs.shape, x.shape[1]))
    if x.shape[1] == 2:
        slopes[:, 0, :, 1], slopes[:, 1, :, 1] = -p, 1 - p
    else:
        c, log_c, log_rest = expit(x[:, 2:3]), log_expit(x[:, 2:3]), log_expit(-x[:, 2:3])
        log_q, log_p = logs[:, 0].copy(), logs[:, 1].copy()
        logs[:, 0] += log_rest
        logs[:, 1] = np.logaddexp(log_c, log_rest + log_p)
        share = np.exp(log_rest + log_q - logs[:, 1])  # (1 - c)(1 - p) / P, by logarithms: c may come close to 1
        slopes[:, 0, :, 1], slopes[:, 1, :, 1] = -p, share * p
        slopes[:, 0, :, 2], slopes[:, 1, :, 2] = -c, share * c
    slopes[..., 0] = slopes[..., 1] * nodes
    return logs, slopes


def logistic_readable(x: FloatArray, _: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a, b = -d / a and c."""
    lower = expit(x[:, 2]) if x.shape[1] == 3 else np.zeros(len(x))
    return x[:, 0], -x[:, 1:2] / x[:, :1], lower


def graded_tables(x: FloatArray, nodes: FloatArray, n_categories: IntArray) -> tuple[FloatArray, FloatArray]:
    """Graded response: x = (a, d_1, log of the drops d_1 - d_2, ...), logit P(X >= k) = a theta + d_k."""
    drops = np.exp(x[:, 2:])
    d = np.concatenate([x[:, 1:2], x[:, 1:2] - np.cumsum(drops, axis=1)], axis=1)
    z = x[:, 0, None, None] * nodes + d[:, :, None]  # (items, boundaries, nodes)
    n_items, width = d.shape
    logs = np.zeros((n_items, width + 1, len(nodes)))
    by_upper, by_lower = np.zeros_like(logs), np.zeros_like(logs)
    for k in range(width + 1):
        # log(expit(x) - expit(y)) = log expit(x) + log expit(-y) + log(1 - exp(y - x)), exact for close boundaries
        top, bottom = k == n_categories[:, None] - 1, k == 0
        if not bottom:
            logs[:, k] += log_expit(z[:, k - 1])
            by_lower[:, k] = expit(-z[:, k - 1])
        if k < width:
            gap = np.full(z[:, k].shape, np.inf) if bottom else np.broadcast_to(drops[:, k - 1, None], z[:, k].shape)
            closeness = -np.expm1(-gap)
            logs[:, k] += np.where(top, 0.0, log_expit(-z[:, k]) + np.log(closeness))
            ratio = np.where(bottom, 0.0, np.exp(-gap) / closeness)
            by_upper[:, k] = np.where(top, 0.0, -expit(z[:, k]) - ratio)
            by_lower[:, k] += np.where(top, 0.0, ratio)
    return _graded_chain(logs, by_lower, by_upper, drops, nodes, n_categories)


def _graded_chain(
    logs: FloatArray,
    by_lower: FloatArray,
    by_upper: FloatArray,
    drops: FloatArray,
    nodes: FloatArray,
    n_categories: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Turn derivatives by a category's two boundaries into derivatives by slope, first intercept and log drops."""
    n_all = logs.shape[1]
    slopes = np.zeros((*logs.shape, n_all))
    slopes[..., 0] = (by_lower + by_upper) * nodes
    slopes[..., 1] = by_lower + by_upper
    for h in range(n_all - 2):  # log drop h moves every boundary after the first h + 1
        for k in range(h + 1, n_all):
            moved = by_upper[:, k] + (by_lower[:, k] if k - 1 > h else 0.0)
            slopes[:, k, :, h + 2] = -drops[:, h, None] * moved
    outside = np.arange(n_all)[None, :] >= n_categories[:, None]
    logs[outside] = 0.0
    slopes[outside] = 0.0
    return logs, slopes


def graded_readable(x: FloatArray, n_categories: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a and b_k = -d_k / a."""
    d = np.concatenate([x[:, 1:2], x[:, 1:2] - np.cumsum(np.exp(x[:, 2:]), axis=1)], axis=1)
    return x[:, 0], _padded(-d / x[:, :1], n_categories), np.zeros(len(x))


def partial_credit_tables(x: FloatArray, nodes: FloatArray, n_categories: IntArray) -> tuple[FloatArray, FloatArray]:
    """Generalised partial credit: x = (a, d_1, d_2, ...), log P(k) = k a theta + d_1 + ... + d_k - log of the sum."""
    n_items, width = x.shape
    score = np.arange(width, dtype=np.float64)
    outside = score[None, :] >= n_categories[:, None]
    steps = np.concatenate([np.zeros((n_items, 1)), np.cumsum(x[:, 1:], axis=1)], axis=1)
    exponent = x[:, 0, None, None] * score[:, None] * nodes + steps[:, :, None]
    exponent = np.where(outside[:, :, None], -np.inf, exponent)
    peak = exponent.max(axis=1, keepdims=True)
    logs = exponent - peak - np.log(np.sum(np.exp(exponent - peak), axis=1, keepdims=True))
    p = np.exp(logs)
    slopes = np.empty((*logs.shape, width))
    slopes[..., 0] = nodes * (score[:, None] - np.einsum("jkq,k->jq", p, score)[:, None])
    for h in range(1, width):
        slopes[..., h] = (score >= h)[None, :, None] - p[:, h:].sum(axis=1)[:, None]
    logs[outside] = 0.0
    slopes[outside] = 0.0
    return logs, slopes


def partial_credit_readable(x: FloatArray, n_categories: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a and b_h = -d_h / a."""
    return x[:, 0], _padded(-x[:, 1:] / x[:, :1], n_categories), np.zeros(len(x))


def _padded(thresholds: FloatArray, n_categories: IntArray) -> FloatArray:
    """Return the thresholds with NaN behind each item's own."""
    own = np.arange(thresholds.shape[1])[None, :] < n_categories[:, None] - 1
    return np.where(own, thresholds, np.nan)


LOGISTIC = Family("logistic", logistic_tables, logistic_readable)
GRADED = Family("graded", graded_tables, graded_readable)
PARTIAL_CREDIT = Family("partial_credit", partial_credit_tables, partial_credit_readable)
