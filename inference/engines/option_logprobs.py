"""The distribution over an item's choices, read off the tokens of responses that were held to them.

Arithmetic on token texts and log-probabilities; knows no engine. A response tells of the branches that it did not take
only their first token. Where that token still fits several choices the branch stays open, and whoever can ask again may
ask what would have followed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MIN_RESOLVED = 0.999
"""Least probability that must be traced to single options; below it the distribution counts as unknown."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token that could have stood at a place."""

    id: int
    """Number in the vocabulary; 0 where the engine tells texts only."""
    text: str
    """Text; the empty text for one that ends the response."""
    logprob: float
    """Log-probability after masking."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A way that the response could have gone and that still fits several choices."""

    path: tuple[int, ...]
    """Tokens up to and with the one that was not followed."""
    text: str
    """Their text."""
    logprob: float
    """Log-probability of the way so far."""
    options: tuple[str, ...]
    """Choices that it fits."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What one response tells of the distribution."""

    mass: Mapping[str, float]
    """Option -> probability that was traced to it alone."""
    branches: tuple[Branch, ...]
    """Ways that stay open, likeliest first."""


def trace(
    options: Sequence[str], steps: Sequence[Sequence[Token]], written: Sequence[Token], begun: str = ""
) -> Traced:
    """Share out the probability of a response's tokens among the options.

    A token that fits the beginning of one option only gives its probability to that option, whether it was written or
    not. A token that fits several is followed where it was written, and an open branch where it was not.

    Parameters
    ----------
    options
        Texts that the response was held to.
    steps
        For each written token the tokens that could have stood there.
    written
        The written tokens.
    begun
        Text that stood before the first token, as the beginning of an option.
    """
    mass, branches = dict.fromkeys(options, 0.0), []
    before, log_path = begun, 0.0
    path: tuple[int, ...] = ()
    for step, token in zip(steps, written, strict=False):
        for other in step:
            fitting = _fitting(options, before, other.text)
            if len(fitting) == 1:
                mass[fitting[0]] += math.exp(log_path + other.logprob)
            elif fitting and other != token:
                branches.append(
                    Branch((*path, other.id), before + other.text, log_path + other.logprob, tuple(fitting))
                )
        if token not in step or len(_fitting(options, before, token.text)) < 2:
            break
        before, log_path, path = before + token.text, log_path + token.logprob, (*path, token.id)
    return Traced(mass, tuple(sorted(branches, key=lambda branch: -branch.logprob)))


def log_distribution(
    options: Sequence[str], parts: Iterable[tuple[float, Mapping[str, float]]]
) -> dict[str, float] | None:
    """Return the log-probability of each option, or None where it cannot be told.

    Parameters
    ----------
    options
        Texts that the response was held to.
    parts
        (log-probability of the way there, probability traced to each option from there) of every response that was
        traced.

    Returns
    -------
    dict or None
        Option -> log-probability; an option that nothing pointed to is left out. None where less than
        ``MIN_RESOLVED`` of the probability could be traced.
    """
    total = dict.fromkeys(options, 0.0)
    for log_path, mass in parts:
        for option, share in mass.items():
            total[option] += math.exp(log_path) * share
    if sum(total.values()) < MIN_RESOLVED:
        return None
    return {option: math.log(share) for option, share in total.items() if share > 0}


def option_logprobs(
    options: Sequence[str], steps: Sequence[Mapping[str, float]], written: Sequence[str]
) -> dict[str, float] | None:
    """Return the distribution that one response tells of, its tokens given as texts; see :func:`log_distribution`.

    Parameters
    ----------
    options
        Texts that the response was held to.
    steps
        For each written token the log-probabilities of the tokens that could have stood there, by text.
    written
        Text of each written token.
    """
    tokens = [[Token(0, text, logprob) for text, logprob in step.items()] for step in steps]
    followed = [Token(0, text, step.get(text, -math.inf)) for step, text in zip(steps, written, strict=False)]
    return log_distribution(options, [(0.0, trace(options, tokens, followed).mass)])


def _fitting(options: Sequence[str], before: str, text: str) -> list[str]:
    """Return the options that the response may still become after a token."""
    if not text:
        return [before] if before in options else []
    return [option for option in options if option.startswith(before + text)]
