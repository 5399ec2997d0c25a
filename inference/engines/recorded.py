"""Recorded responses as an engine: the answer to a request is the cell that somebody collected.

Kept verbatim. A blank is what its registry entry declares; an item without a row was not recorded.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inference.engines.base import Completion, RenderedRequest


class RecordedEngine:
    """Looks responses up."""

    kind = "recorded"
    version = "1"

    @property
    def flags(self) -> Mapping[str, Any]:
        """Nothing about a look-up is worth recording."""
        return {}

    def complete(self, requests: Iterable[RenderedRequest]) -> Iterator[Completion]:
        """Yield the recorded cell of each request."""
        for request in requests:
            spec, recorded = next(pair for pair in request.rater.recorded if pair[0].dataset == request.dataset)
            cell = recorded.cells.get(request.item_id)
            if cell is None or (not cell.strip() and spec.blank == "not_recorded"):
                yield Completion(request.request_id, None, "not_recorded")
            else:
                is_cut_off = request.item_id in recorded.cut_off
                yield Completion(request.request_id, cell, "length" if is_cut_off else "stop")

    def close(self) -> None:
        """Hold nothing, free nothing."""
