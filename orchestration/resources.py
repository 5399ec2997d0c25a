"""Dagster resources that are more than a plain object.

Holds how a run gets them and gives them back. Does not hold what is done with them.
"""

from collections.abc import Iterator

from dagster import InitResourceContext, resource

from orchestration.house import House
from orchestration.locks import REFRESH, hold

REFRESH_WAIT_SECONDS = 600.0


@resource(
    required_resource_keys={"house"}, description="The house, with the lock of a refresh held while the run lasts."
)
def locked_house(context: InitResourceContext) -> Iterator[House]:
    """Hold the refresh lock from the first to the last step of a run.

    The in-process executor makes a resource once per run, so one refresh holds the lock over all its steps and the
    published tables are of one generation.
    """
    house: House = context.resources.house
    with hold(house.settings.locks, REFRESH, wait_seconds=REFRESH_WAIT_SECONDS):
        yield house
