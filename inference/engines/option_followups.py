"""Asking on where one response cannot tell the distribution over its choices.

Labels often begin with the same token. Where the response did not take such a token, nobody knows which label it would
have led to; a short response that starts there tells. Decides what is asked and puts the answers together; knows no
engine.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inference.engines.base import Completion
from inference.engines.jobs import Job
from inference.engines.option_logprobs import MIN_RESOLVED, Branch, Token, Traced, log_distribution, trace

MAX_FOLLOWED = 64
"""Most branches that are followed for one response."""
LEAST_LOGPROB = math.log((1 - MIN_RESOLVED) / 20)
"""Branches that are less likely than this are left alone."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A short response that is wanted."""

    id: str
    """Its number."""
    job: Job
    """Job that it belongs to; sampling is the same."""
    token_ids: list[int]
    """Tokens of the prompt and of the way to the branch."""
    constraint: dict[str, Any]
    """What may follow: the rest of each option that fits."""


@dataclass(slots=True)
class _Held:
    """A response that waits for its distribution."""

    completion: Completion
    job: Job
    prompt: list[int]
    n_asked: int = 0
    waiting: dict[str, Branch] = field(default_factory=dict)
    parts: list[tuple[float, Any]] = field(default_factory=list)


class FollowUps:
    """Responses on their way to a distribution."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}
        self._owner: dict[str, str] = {}

    def __len__(self) -> int:
        """Return how many follow-ups are under way."""
        return len(self._owner)

    def __contains__(self, request_id: str) -> bool:
        """Return whether a request is a follow-up under way."""
        return request_id in self._owner

    def first(
        self,
        completion: Completion,
        job: Job,
        prompt: list[int],
        steps: Sequence[Sequence[Token]],
        written: Sequence[Token],
    ) -> tuple[list[FollowUp], Completion | None]:
        """Take in a response; return what is to be asked, or the response with its distribution.

        Parameters
        ----------
        completion, job, prompt
            Response, its job and the tokens that were asked.
        steps, written
            See :func:`inference.engines.option_logprobs.trace`.
        """
        held = self._held[job.id] = _Held(completion, job, prompt)
        return self._take(held, (), 0.0, trace(job.options, steps, written))

    def later(
        self, request_id: str, steps: Sequence[Sequence[Token]], written: Sequence[Token]
    ) -> tuple[list[FollowUp], Completion | None]:
        """Take in what a follow-up has told; without tokens, nothing. Returns as :meth:`first`."""
        held = self._held[self._owner.pop(request_id)]
        branch = held.waiting.pop(request_id)
        traced = trace(branch.options, steps, written, begun=branch.text)
        return self._take(held, branch.path, branch.logprob, traced)

    def _take(
        self, held: _Held, path: tuple[int, ...], log_path: float, traced: Traced
    ) -> tuple[list[FollowUp], Completion | None]:
        held.parts.append((log_path, traced.mass))
        wanted = []
        for found in traced.branches:
            branch = replace(found, path=(*path, *found.path), logprob=log_path + found.logprob)
            if branch.logprob < LEAST_LOGPROB or held.n_asked == MAX_FOLLOWED:
                continue
            held.n_asked += 1
            follow_up = FollowUp(
                f"{held.job.id}+{held.n_asked}", held.job, [*held.prompt, *branch.path], _constraint(branch)
            )
            held.waiting[follow_up.id], self._owner[follow_up.id] = branch, held.job.id
            wanted.append(follow_up)
        if held.waiting:
            return wanted, None
        del self._held[held.job.id]
        found_all = log_distribution(held.job.options, held.parts)
        return [], replace(held.completion, option_logprobs=found_all)


def _constraint(branch: Branch) -> dict[str, Any]:
    rest = [option[len(branch.text) :] for option in branch.options]
    # an option may end here while another goes on; a choice cannot be empty
    return {"choice": rest} if all(rest) else {"regex": "|".join(map(re.escape, rest))}
