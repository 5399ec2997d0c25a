"""Labels that begin alike: what one response leaves open is asked for, and the distribution comes out whole."""

import math

import numpy as np
import pytest

from inference.engines.base import Completion
from inference.engines.jobs import Job
from inference.engines.option_followups import MAX_FOLLOWED, FollowUps
from inference.engines.option_logprobs import Token

VOCABULARY = ["", "co", "con", "cor", "correct", "contra", "tradictory", "rect", "in", "complete", *"c102retadioynmpl"]
ROOT = [900, 901]
LABELS = ["correct", "contradictory", "incorrect", "incomplete"]


class Model:
    """A model that says any token that keeps to the options, each with a probability of its own at each place."""

    def __init__(self, options):
        self.options = options

    def step(self, text, options):
        fitting = [
            (token_id, token)
            for token_id, token in enumerate(VOCABULARY)
            if (token and any(option.startswith(text + token) for option in options)) or (not token and text in options)
        ]
        weights = np.random.default_rng([len(text), *map(ord, text)]).dirichlet(np.full(len(fitting), 0.7))
        shares = np.maximum(weights, 1e-9) / np.maximum(weights, 1e-9).sum()
        return [Token(token_id, token, math.log(p)) for (token_id, token), p in zip(fitting, shares, strict=True)]

    def say(self, text, options):
        """Write greedily from a text on; return steps and what was written."""
        steps, written = [], []
        while True:
            step = self.step(text, options)
            best = max(step, key=lambda token: token.logprob)
            steps.append(step)
            written.append(best)
            if not best.text:
                return steps, written
            text += best.text

    def exact(self, text=""):
        """Return the probability of each option, all ways together."""
        total = dict.fromkeys(self.options, 0.0)
        for token in self.step(text, self.options):
            if not token.text:
                total[text] += math.exp(token.logprob)
                continue
            for option, share in self.exact(text + token.text).items():
                total[option] += math.exp(token.logprob) * share
        return total


def run(options, *, deaf=False):
    """Ask the model, follow up as long as something is wanted; return the completion and how often it was asked."""
    model, follow_ups, n_asked = Model(options), FollowUps(), 0
    job = Job("r", [], {}, {"choice": options}, options)
    wanted, done = follow_ups.first(Completion("r", "x", "stop"), job, list(ROOT), *model.say("", options))
    while wanted:
        asked = wanted.pop()
        n_asked += 1
        assert asked.id in follow_ups
        assert asked.token_ids[:2] == ROOT
        begun = "".join(VOCABULARY[token_id] for token_id in asked.token_ids[2:])
        rest = asked.constraint.get("choice") or asked.constraint["regex"].split("|")
        assert sorted(begun + end for end in rest) == sorted(o for o in options if o.startswith(begun))
        more, done = follow_ups.later(asked.id, *([], []) if deaf else model.say(begun, options))
        wanted += more
    assert len(follow_ups) == 0
    return done, n_asked


@pytest.mark.parametrize("options", [LABELS, ["correct", "contradictory"], ["1", "2", "10"], ["in", "incorrect"]])
def test_the_distribution_is_the_models_own(options):
    done, n_asked = run(options)
    assert n_asked > 0
    exact = Model(options).exact()
    assert {option: math.exp(p) for option, p in done.option_logprobs.items()} == pytest.approx(exact, abs=2e-3)


def test_options_that_begin_apart_need_no_second_question():
    done, n_asked = run(["1", "2"])
    assert n_asked == 0
    assert sum(map(math.exp, done.option_logprobs.values())) == pytest.approx(1)


def test_what_no_follow_up_tells_stays_unknown():
    done, n_asked = run(LABELS, deaf=True)
    assert 0 < n_asked <= MAX_FOLLOWED
    assert (done.text, done.option_logprobs) == ("x", None)
