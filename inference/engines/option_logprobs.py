"""The distribution over an item's choices, read off the tokens of a response that was held to them.

Arithmetic on token texts and log-probabilities; knows no engine.
"""

import math
from collections.abc import Mapping, Sequence

MIN_RESOLVED = 0.999
"""Least probability that must be traced to single options; below it the distribution counts as unknown."""


def option_logprobs(
    options: Sequence[str], steps: Sequence[Mapping[str, float]], written: Sequence[str]
) -> dict[str, float] | None:
    """Return the log-probability of each option, or None where it cannot be told.

    A token that fits the beginning of one option only gives its probability to that option, whether it was written or
    not. A token that fits several is followed where it was written; where it was not, its probability stays unknown.

    Parameters
    ----------
    options
        Texts that the response was held to.
    steps
        For each written token the log-probabilities of the tokens that could have stood there, after masking; the text
        of a token that ends the response is the empty text.
    written
        Text of each written token.

    Returns
    -------
    dict or None
        Option -> log-probability; an option that nothing pointed to is left out. None where less than
        ``MIN_RESOLVED`` of the probability could be traced.
    """
    mass = dict.fromkeys(options, 0.0)
    before, log_path = "", 0.0
    for step, token in zip(steps, written, strict=False):
        for text, logprob in step.items():
            option = _only_option(options, before, text)
            if option is not None:
                mass[option] += math.exp(log_path + logprob)
        if _only_option(options, before, token) is not None or token not in step:
            break
        before, log_path = before + token, log_path + step[token]
    if sum(mass.values()) < MIN_RESOLVED:
        return None
    return {option: math.log(share) for option, share in mass.items() if share > 0}


def _only_option(options: Sequence[str], before: str, text: str) -> str | None:
    """Return the one option that the response is bound to become after a token."""
    if not text:
        return before if before in options else None
    fitting = [option for option in options if option.startswith(before + text)]
    return fitting[0] if len(fitting) == 1 else None
