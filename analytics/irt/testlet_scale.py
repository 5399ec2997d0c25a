"""The marginal scale of the testlet models: what is left of a logit once random effects are averaged out.

Holds the factor between the two scales. The models' own scale is conditional: theta - b is the logit of a rater whose
testlet effect is 0. Averaged over the effects, success on an item of some new testlet is less sure, so that the same
rater is closer to 0 there; that scale is the one of a Rasch model that knows no testlets. Does not hold any fit.
"""

import numpy as np

from analytics.matrix import FloatArray


def averaging_slope(sd: FloatArray) -> FloatArray:
    """Return the factor by which a logit shrinks when averaged over N(0, sd^2), the shape of `sd`.

    1 / sqrt(1 + pi sd^2 / 8), the usual approximation of a logistic-normal mean (MacKay 1992); 1 where sd is NaN. The
    probability that it gives is off by .005 at most for sd up to 1, and by .014 up to 3.
    """
    return np.asarray(1.0 / np.sqrt(1.0 + np.pi * np.nan_to_num(sd) ** 2 / 8.0))


def marginal_factor(*sds: float) -> float:
    """Return what theta, b and their standard errors are multiplied by to be on the marginal scale.

    Parameters
    ----------
    sds
        Standard deviations of the independent effects that are averaged out: of u, with a model facet of v too.
    """
    return float(averaging_slope(np.hypot.reduce(np.array(sds))))


class WithMarginalScale:
    """What a fit with random effects says of ability on the marginal scale; mixed into its result."""

    __slots__ = ()
    theta: FloatArray
    theta_se: FloatArray
    sd_u: float

    @property
    def effect_sds(self) -> tuple[float, ...]:
        """Standard deviations of the effects that are averaged out."""
        return (self.sd_u,)

    @property
    def theta_marginal(self) -> FloatArray:
        """Ability on the marginal scale, the effects averaged out (`testlet_scale`), shape (n_raters,)."""
        return self.theta * marginal_factor(*self.effect_sds)

    @property
    def theta_marginal_se(self) -> FloatArray:
        """Standard error of `theta_marginal` given the standard deviations of the effects, shape (n_raters,)."""
        return self.theta_se * marginal_factor(*self.effect_sds)
