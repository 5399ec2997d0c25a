"""Marginal maximum likelihood from responses to result; the fronts of the models call it.

Holds the order of the steps: take what has an estimate, start, search on a rule as fine as the posteriors need. The
numbers come from ``marginal``, the standard errors from ``standard_errors``, the labels from ``reporting``.
"""

from dataclasses import replace

import numpy as np

from analytics.irt.design import examine
from analytics.irt.expectation import Rows, expect, posterior_moments, prepare_rows
from analytics.irt.families import parameters_in_use
from analytics.irt.fit_result import IrtFit
from analytics.irt.items import category_probabilities
from analytics.irt.marginal import STEEPEST, Pass, Problem, Solution, maximise
from analytics.irt.model_spec import MarginalOptions, ModelSpec, Selection
from analytics.irt.quadrature import Quadrature, gauss_hermite, normal_grid, step_for
from analytics.irt.reporting import Estimates, report
from analytics.irt.responses import FloatArray, IntArray, Responses, recode_categories
from analytics.irt.standard_errors import readable, standard_errors

LOWER_STARTS = (0.01, 0.1, 0.25)
MOST_REFINEMENTS = 6


def fit_marginal(responses: Responses, spec: ModelSpec, options: MarginalOptions) -> IrtFit:
    """Fit a model by marginal maximum likelihood.

    Items on which everybody got the same score leave the likelihood: their maximum likelihood estimate is infinite
    and at that limit they contribute exactly 0, so no other estimate changes. They are named in the findings.

    Raises
    ------
    ValueError
        If no item has two categories in use.
    """
    selection = select(responses)
    data = selection.data
    n_categories = np.array([len(selection.scores[j]) for j in selection.kept], dtype=np.int64)
    rows = prepare_rows(data, int(n_categories.max()))
    problem = Problem(spec.family, spec.slope, n_categories, _start(data, spec, n_categories))
    most = int(data.answered.max(initial=0))
    solution, problem, quadrature = search(problem, rows, spec, options, most)
    if spec.slope == "common":  # a slope below 0 is the same likelihood with abilities mirrored
        upright = np.concatenate([np.abs(solution.x[:, :1]), solution.x[:, 1:]], axis=1)
        solution = replace(solution, x=upright)
    errors, common_se, has_errors = standard_errors(spec, problem, solution, rows, quadrature, options.se_method)
    logs, _ = problem.family.tables(solution.x, quadrature.nodes, problem.n_categories)
    estimates = Estimates(
        readable(problem.family, solution.x, problem.n_categories, is_rescaled=spec.is_rescaled),
        errors,
        float(solution.x[0, 0]),
        common_se,
        has_errors,
        *posterior_moments(rows, logs, quadrature),
    )
    return report(responses, selection, spec, options, solution, estimates)


def select(responses: Responses) -> Selection:
    """Examine the data and take the items that have an estimate, their scores numbered without gaps.

    Raises
    ------
    ValueError
        If no item has two categories in use.
    """
    counts = responses.category_counts()
    recoded, scores = recode_categories(responses, counts)
    kept = np.flatnonzero([len(found) > 1 for found in scores])
    if len(kept) == 0:
        raise ValueError("no item has two different responses; there is nothing to fit")
    data = recoded if len(kept) == recoded.n_items else recoded.take_items(kept)
    return Selection(data, scores, kept, counts, examine(responses, counts), float(counts.sum()))


def search(
    problem: Problem, rows: Rows, spec: ModelSpec, options: MarginalOptions, most: int
) -> tuple[Solution, Problem, Quadrature]:
    """Maximise on a rule that is fine enough; a 3PL starts from its 2PL with several lower asymptotes.

    Parameters
    ----------
    problem, rows, spec, options
        What to maximise, and how.
    most
        Largest number of items that a person answered.
    """
    run = _pass(rows, options)
    solution, problem, quadrature = _refine(problem, run, options, most, normal_grid())
    if not spec.has_lower:
        return solution, problem, quadrature
    tries = []
    for lower in LOWER_STARTS:
        column = np.full((len(solution.x), 1), np.log(lower / (1 - lower)))
        start = np.concatenate([solution.x, column], axis=1)
        with_lower = Problem(spec.family, spec.slope, problem.n_categories, start, spec.lower_prior)
        tries.append(_refine(with_lower, run, options, most, quadrature))
    return max(tries, key=lambda found: found[0].log_posterior)


def _refine(
    problem: Problem, run: Pass, options: MarginalOptions, most: int, rough: Quadrature
) -> tuple[Solution, Problem, Quadrature]:
    """Maximise, and again from there on a finer rule while the posteriors are sharper than the rule."""
    if options.quadrature == "gauss_hermite":
        rule = gauss_hermite(options.n_nodes)
        return maximise(problem, run, rule, options.search_tolerance, options.max_iterations), problem, rule
    rule = normal_grid(_step(problem, problem.start, rough, most))
    for _ in range(MOST_REFINEMENTS):
        solution = maximise(problem, run, rule, options.search_tolerance, options.max_iterations)
        needed = _step(problem, solution.x, rule, most)
        if needed > 0.9 * rule.step or np.abs(solution.x[:, 0]).max() > STEEPEST:
            break  # fine enough, or a slope without a maximum, which no rule can follow
        problem, rule = replace(problem, start=solution.x), normal_grid(needed)
    return solution, problem, rule


def _pass(rows: Rows, options: MarginalOptions) -> Pass:
    """Return the E step of the chosen back end."""
    if options.backend == "torch":
        from analytics.irt.torch_backend import TorchPass

        return TorchPass(rows)
    return lambda logs, quadrature: expect(rows, logs, quadrature)


def _start(data: Responses, spec: ModelSpec, n_categories: IntArray) -> FloatArray:
    """Return slopes of 1 and intercepts that give the observed shares, a little spread for the ability's variance."""
    width = int(n_categories.max())
    counts = data.category_counts(width) + 0.5 * parameters_in_use(n_categories, width)
    x = np.ones((data.n_items, width))
    with np.errstate(divide="ignore", invalid="ignore"):
        if spec.family.response_family == "partial_credit":
            x[:, 1:] = 1.2 * np.log(counts[:, 1:] / counts[:, :-1])
        else:
            above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:]
            d = 1.2 * np.log(above / (counts.sum(axis=1, keepdims=True) - above))
            x[:, 1:2] = d[:, :1]
            x[:, 2:] = np.log(np.maximum(d[:, :-1] - d[:, 1:], 1e-3))
    return np.where(parameters_in_use(n_categories, width) > 0, x, 0.0)


def _step(problem: Problem, x: FloatArray, rule: Quadrature, most: int) -> float:
    """Return the step that the sharpest posterior at x needs: that of the `most` items that tell most at a node."""
    items = readable(problem.family, x, problem.n_categories, is_rescaled=False)
    codes = np.arange(len(x))[:, None]
    p, first, _ = category_probabilities(items, codes, rule.nodes[None, :])
    by_item = np.sum(np.divide(first**2, p, out=np.zeros_like(p), where=p > 1e-12), axis=-1)
    return step_for(float(np.sort(by_item, axis=0)[::-1][:most].sum(axis=0).max(initial=0.0)))
