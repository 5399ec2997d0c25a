"""What a data set cannot tell, found before any model is fitted.

Holds the findings that every fit carries: constant and empty items, people without answers, thin items, identical
rows, gaps between categories, unconnected blocks. What a model does about them is the model's affair.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from analytics.irt.responses import FloatArray, IntArray, Responses, row_extremes

FindingKind = Literal[
    "constant_items",
    "empty_items",
    "few_responses",
    "unused_categories",
    "empty_persons",
    "extreme_persons",
    "duplicate_persons",
    "disconnected",
    "few_persons",
    "key_suspect",
    "boundary",
    "information",
    "prior",
]
"""What kind of thing is said about the data or the fit."""

FEWEST_RESPONSES = 10
PREFIX = 64  # cells of a row that are compared first
SHORTEST_DUPLICATE = 20  # identical rows of a short test are ordinary; identical long rows are the same rater twice


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the reader of a result must know.

    Attributes
    ----------
    kind
        See :data:`FindingKind`.
    names
        Labels of the items or persons meant, in input order.
    message
        One sentence: what, how many, which, and what follows.
    """

    kind: FindingKind
    names: tuple[str, ...]
    message: str


def examine(
    responses: Responses,
    counts: FloatArray | None = None,
    *,
    fewest_responses: int = FEWEST_RESPONSES,
    constant_item_has: str = "no finite estimate",
) -> tuple[Finding, ...]:
    """Return the findings about a data set.

    Parameters
    ----------
    responses
        The data as given, before any recoding.
    counts
        Their :meth:`Responses.category_counts`, where the caller has them already.
    fewest_responses
        An item with fewer (weighted) responses is named.
    constant_item_has
        What follows, in the model at hand, for an item that everybody answers alike.
    """
    counts = responses.category_counts() if counts is None else counts
    answered = counts.sum(axis=1)
    in_use = counts > 0
    n_used = in_use.sum(axis=1)
    span = np.where(answered > 0, counts.shape[1] - np.argmax(in_use[:, ::-1], axis=1), 0)
    # a two-category item may lack its 0; a gap is a score below the highest that nobody got, beyond the first category
    gap = (span > 2) & (n_used < span - np.argmax(in_use, axis=1))
    thin = (answered > 0) & (answered < fewest_responses)
    items, persons = np.array(responses.item_ids, dtype=object), np.array(responses.person_ids, dtype=object)
    empty, extreme = responses.answered == 0, extreme_persons(responses, counts) != 0
    found = [
        _finding("empty_items", items[answered == 0], "item(s) without a response", "no estimate"),
        _finding("constant_items", items[n_used == 1], "item(s) with one and the same response", constant_item_has),
        _finding("few_responses", items[thin], f"item(s) with fewer than {fewest_responses} responses", "wide errors"),
        _finding("unused_categories", items[gap], "item(s) with an unused category", "those in use are renumbered"),
        _finding("empty_persons", persons[empty], "person(s) without a response", "no ability"),
        _finding("extreme_persons", persons[extreme], "person(s) at an extreme", "ML infinite"),
        _finding("duplicate_persons", persons[_duplicates(responses)], "person(s) repeat a row", "not independent"),
        _disconnected(responses),
    ]
    return tuple(finding for finding in found if finding is not None)


def extreme_persons(responses: Responses, counts: FloatArray | None = None) -> IntArray:
    """Return -1, 0 or 1: lowest category everywhere, neither, highest category everywhere; shape (n_persons,).

    Lowest and highest are those of the categories in use; constant items decide nothing.
    """
    used = (responses.category_counts() if counts is None else counts) > 0
    low = np.argmax(used, axis=1)
    high = used.shape[1] - 1 - np.argmax(used[:, ::-1], axis=1)
    if responses.dense is not None:
        result = np.empty(responses.n_persons, dtype=np.int64)
        row_extremes(responses.dense, low, high, result)
        return result
    rows, items, values = responses.triples()
    telling = low[items] < high[items]
    rows, items, values = rows[telling], items[telling], values[telling]
    n = np.bincount(rows, minlength=responses.n_persons)
    at_low = np.bincount(rows, weights=values == low[items], minlength=responses.n_persons)
    at_high = np.bincount(rows, weights=values == high[items], minlength=responses.n_persons)
    return np.where(n == 0, 0, np.where(at_low == n, -1, np.where(at_high == n, 1, 0))).astype(np.int64)


def components(responses: Responses) -> tuple[int, IntArray, IntArray]:
    """Return the number of connected blocks and the block of each person and item (-1 where nothing was observed)."""
    rows, items, _ = responses.triples()
    n_persons, n_items = responses.n_persons, responses.n_items
    shape = (n_persons + n_items, n_persons + n_items)
    graph = sp.csr_array((np.ones(len(rows), dtype=np.int8), (rows, n_persons + items)), shape=shape)
    _, block = connected_components(graph, directed=False)
    person_block, item_block = block[:n_persons].astype(np.int64), block[n_persons:].astype(np.int64)
    person_block[responses.answered == 0] = -1
    item_block[np.bincount(items, minlength=n_items) == 0] = -1
    used = np.unique(item_block[item_block >= 0])
    renumber = np.full(len(block) + 1, -1, dtype=np.int64)
    renumber[used] = np.arange(len(used))
    return len(used), renumber[person_block], renumber[item_block]


def _disconnected(responses: Responses) -> Finding | None:
    """Say that blocks of persons and items share nothing, naming the items outside the largest block."""
    if responses.answered.max(initial=0) == responses.n_items:
        return None  # somebody answered everything
    n_blocks, _, item_block = components(responses)
    if n_blocks < 2:
        return None
    largest = int(np.argmax(np.bincount(item_block[item_block >= 0])))
    outside = np.flatnonzero((item_block >= 0) & (item_block != largest))
    names = tuple(responses.item_ids[j] for j in outside)
    return Finding(
        "disconnected",
        names,
        f"the design falls into {n_blocks} blocks that share no person and no item; "
        f"{len(names)} item(s) lie outside the largest ({some(names)}): only the assumption of one "
        "ability distribution makes the blocks comparable",
    )


def _duplicates(responses: Responses) -> IntArray:
    """Return the positions of persons whose long rows repeat an earlier one."""
    seen: set[bytes] = set()
    again = []
    long_enough = responses.answered >= SHORTEST_DUPLICATE
    if responses.dense is not None and responses.n_items:
        # rows that differ in their first cells cannot repeat each other: only the others are compared whole
        starts = np.ascontiguousarray(responses.dense[:, :PREFIX]).view(f"V{min(PREFIX, responses.n_items)}")[:, 0]
        _, kind, times = np.unique(starts, return_inverse=True, return_counts=True)
        long_enough &= times[kind] > 1
    ends = responses.indptr
    for i in np.flatnonzero(long_enough):
        if responses.dense is not None:
            key = responses.dense[i].tobytes()
        else:
            own = slice(ends[i], ends[i + 1])
            key = responses.items[own].tobytes() + responses.values[own].tobytes()
        if key in seen:
            again.append(i)
        seen.add(key)
    return np.array(again, dtype=np.int64)


def _finding(kind: FindingKind, names: FloatArray, what: str, follows: str) -> Finding | None:
    """Return a finding, or None where it names nobody."""
    if len(names) == 0:
        return None
    labels = tuple(str(name) for name in names)
    return Finding(kind, labels, f"{len(labels)} {what} ({some(labels)}): {follows}")


def some(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names, and how many follow."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
