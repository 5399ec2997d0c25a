"""Resources of Dagster's runs that are more than a plain object.

Holds how a run gets them and gives them back. Does not hold what is done with them.
"""

from collections.abc import Iterator

from dagster import InitResourceContext, ResourceDefinition, resource

from orchestration.house import House
from orchestration.locks import REFRESH, REFRESH_WAIT_SECONDS, hold
from orchestration.runs import own_tags


def house_resource(house: House) -> ResourceDefinition:
    """Return the house; a run that gets it notes in which process it runs, so that a kill is noticed."""

    @resource(description="The installation, and how its work is reported.")
    def noted(context: InitResourceContext) -> House:
        if context.instance is not None and context.dagster_run is not None:
            context.instance.add_run_tags(context.dagster_run.run_id, own_tags())
        return house

    return noted


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
