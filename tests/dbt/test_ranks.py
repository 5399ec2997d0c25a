"""Ranks of the leaderboard: those of the fit, ties shared, and null with a reason where there is no order."""

import pytest

from analytics.schemas import IRT_FITS, IRT_RATERS

FLAT = "sd_theta is 0: these items cannot tell the raters apart"
UNFIT = "1 item: at least two are needed"
RATERS = {"a": 1.0, "b": 1.0 + 1e-11, "c": -0.5}


@pytest.fixture(scope="module")
def ranked(new_warehouse):
    """Three raters on data sets that are fitted, cannot be ordered, cannot be fitted, and have not been fitted yet."""
    warehouse = new_warehouse()
    for rater_id in RATERS:
        warehouse.rater(rater_id)
    for dataset in ("fitted", "flat", "unfit", "new"):
        warehouse.dataset(dataset, "label", [{"item_id": "1", "gold_label": "correct"}], label_set="three")
        for rater_id in RATERS:
            warehouse.say(dataset, rater_id, "1", "Label: correct")
    warehouse.write()
    fits = [
        {"fit_id": dataset, "dataset": dataset, "pool": "all", "missing_policy": "omit", "is_primary": True} | why
        for dataset, why in (("fitted", {}), ("flat", {}), ("unfit", {"undefined_reason": UNFIT}))
    ]
    raters = [
        {"fit_id": dataset, "dataset": dataset, "rater_id": rater_id, "theta": theta, "rank": rank} | why
        for dataset, ranks, why in (("fitted", (1, 1, 3), {}), ("flat", (None,) * 3, {"undefined_reason": FLAT}))
        for (rater_id, theta), rank in zip(RATERS.items(), ranks, strict=True)
    ]
    for table, rows in ((IRT_FITS, fits), (IRT_RATERS, raters)):
        nothing = dict.fromkeys(table.schema)
        frame = table.frame({name: [(nothing | row)[name] for row in rows] for name in table.schema})
        warehouse.replace(f"psychometrics.{table.name}", frame)
    warehouse.dbt("build", "--quiet", "--select", "+leaderboard", "--indirect-selection", "buildable")
    return warehouse


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("fitted", [(1, None), (1, None), (3, None)]),  # 1e-11 apart is a tie
        ("flat", [(None, FLAT)] * 3),
        ("unfit", [(None, UNFIT)] * 3),
        ("new", [(None, "no fit")] * 3),
    ],
)
def test_a_rank_is_that_of_the_fit_or_null_with_its_reason(ranked, dataset, expected):
    found = ranked.query(
        f"select rank, rank_undefined_reason from marts.leaderboard where dataset = '{dataset}' order by rater_id"
    )
    assert found == expected
