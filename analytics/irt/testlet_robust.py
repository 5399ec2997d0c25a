"""Standard errors of difficulty that are robust to what raters of one model share.

Holds the cluster-robust errors by model of a penalised testlet fit. Does not hold the model in which the shared part
is an effect of its own (`testlet_facet`). Seven raters of one model are not seven independent raters: errors from the
information alone are too small, and more so the more raters a model has.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from analytics.irt.testlet_cells import cell_sums
from analytics.irt.testlet_laplace import eliminate, make_batches, solve_system
from analytics.irt.testlet_pack import pack_cells
from analytics.irt.testlet_point import Point, Scales
from analytics.irt.testlet_result import SMALLEST_SD, TestletFit
from analytics.matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class RobustErrors:
    """Cluster-robust errors of difficulty.

    Attributes
    ----------
    b_se
        Standard error of each item, shape (n_items,); NaN for items without responses, for extreme items (models that
        all agree show no spread, and an error near 0 would be a fiction), and with one model.
    n_models
        Clusters.
    critical
        Quantile of Student's t with n_models - 1 degrees of freedom that a 95 % interval takes; NaN for one model.
    """

    b_se: FloatArray
    n_models: int
    critical: float


def cluster_robust_errors(
    responses: FloatArray, item_testlet: IntArray, rater_model: IntArray, fit: TestletFit
) -> RobustErrors:
    """Sandwich errors of b, scores summed by model (Liang & Zeger 1986), times M / (M - 1).

    At the mode the score of every theta and u is zero within its own model, so that a model's score is that of the
    items alone: the sum of its raters' residuals. The model's influence on all parameters is the inverse Hessian times
    that score, less the mean over models. The prior's share of the error is not in it; with few models, or items on
    which they nearly agree, `testlet_facet` is the better answer.

    Parameters
    ----------
    responses, item_testlet
        What `fit` was fitted to.
    rater_model
        Model code of each rater, shape (n_raters,).
    fit
        The penalised fit, converged.
    """
    n_models = np.unique(rater_model).size
    if n_models < 2:
        return RobustErrors(np.full(fit.b.size, np.nan), n_models, float("nan"))
    n_raters = len(responses)
    cells = pack_cells(responses, item_testlet, int(item_testlet.max()) + 1, np.ones(n_raters))
    scales = Scales(max(fit.sd_theta, SMALLEST_SD), max(fit.sd_b, SMALLEST_SD), fit.sd_u)
    point = Point(
        theta=np.nan_to_num(fit.theta),
        u=np.nan_to_num(fit.u).T,
        b=np.nan_to_num(fit.b, nan=fit.mean_b)[cells.order],
        mean_b=fit.mean_b,
    )
    batches = make_batches(cells, scales, point)
    solved, dense, _ = eliminate(batches, scales, point, cells.weight)
    cov_z = np.asarray(np.linalg.inv(dense), dtype=np.float64)
    scores = np.stack([_item_score(responses, item_testlet, rater_model == m, point) for m in np.unique(rater_model)])
    scores -= scores.mean(axis=0)
    nothing = np.zeros(point.u.shape)
    influence = np.stack([solve_system(batches, solved, cov_z, nothing, score, cells.weight).b for score in scores])
    variance = n_models / (n_models - 1) * np.sum(influence**2, axis=0)
    b_se = np.full(fit.b.size, np.nan)
    b_se[cells.order] = np.where(cells.n_item > 0, np.sqrt(variance), np.nan)
    b_se[fit.is_extreme_item] = np.nan
    return RobustErrors(b_se, n_models, float(student.ppf(0.975, n_models - 1)))


def _item_score(responses: FloatArray, item_testlet: IntArray, own: IntArray, point: Point) -> FloatArray:
    """Sum of p - y over one model's raters for each packed item."""
    cells = pack_cells(responses[own], item_testlet, point.u.shape[0], np.ones(int(own.sum())))
    return cell_sums(cells, point.b, point.s[:, own]).expected_item - cells.right_item
