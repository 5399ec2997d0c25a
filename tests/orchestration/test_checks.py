"""What the statistical checks find in small tables made by hand."""

import duckdb

from orchestration.checks import CHECKS, findings

STATUSES = """
create schema core;
create table core.responses as
select 'd' as dataset, rater_id, status, status = 'ok' and is_cut as is_truncated
from (values
    ('good', 'ok', false, 95), ('good', 'invalid', false, 5), ('good', 'not_recorded', false, 50),
    ('cut', 'ok', false, 94), ('cut', 'ok', true, 2), ('cut', 'truncated', true, 3), ('cut', 'invalid', false, 1),
    ('silent', 'not_asked', false, 9), ('failed', 'error', false, 9), ('failed', 'refused', false, 9)
) as counts (rater_id, status, is_cut, n), range(n)
"""


ABILITIES = """
create schema psychometrics;
create table psychometrics.irt_fits as select dataset as fit_id, dataset, true as is_primary, sd_theta
from (values ('none', 0.1), ('some', 0.8), ('good', 1), ('flat', 0)) as fits (dataset, sd_theta);
create table psychometrics.irt_raters as select dataset as fit_id, dataset, theta, theta_se
from (values ('none', 0, 5), ('none', 0.1, 5), ('none', 0.2, 5), ('some', 0, 0.6), ('some', 1, 0.6), ('some', 2, 0.6),
    ('flat', 0, 0.01), ('flat', 0, 0.01), ('good', 0, 0.2), ('good', 1, 0.2), ('good', 2, 0.2)
) as raters (dataset, theta, theta_se)
"""


def test_r3_a_rater_that_is_often_cut_off_or_invalid_is_a_warning():
    (check,) = [check for check in CHECKS if check.name == "responses_can_be_read"]
    assert not check.is_error
    with duckdb.connect() as connection:
        connection.execute(STATUSES)
        found = findings(connection, check)
    # 5 of 100 is not more than 5 %; 2 + 3 + 1 of 100 is
    assert found == ["d: cut: 6.0 % of 100 responses are truncated (5) or invalid (1)"]


def test_a_reliability_is_a_number_down_to_0_and_no_figure_below():
    (check,) = [check for check in CHECKS if check.name == "abilities_are_reliable"]
    with duckdb.connect() as connection:
        connection.execute(ABILITIES)
        found = findings(connection, check)
    # variance of theta 1; mean squared error .36 and .04; and 25 against a variance of .01
    assert found == [
        "flat: the items cannot tell the raters apart: sd_theta is 0",
        "none: the items hardly tell the raters apart: separation reliability below 0",
        "some: the items hardly tell the raters apart: separation reliability 0.64",
    ]
