"""Who looks after an asset: the rooms as Dagster's owners.

Holds the one mapping of rooms to teams. Does not hold assets.
"""

OWNERS = {
    "inference": ["team:ml_engineers"],
    "dbt_project": ["team:analysts"],
    "analytics": ["team:statisticians"],
    "orchestration": ["team:data_engineers"],
}
"""Owners of the assets that a room's code makes."""
