"""The one partition definition: a partition per rater.

Partition keys are file names made of rater ids, reversible and readable, because Dagster refuses some characters.
"""

from collections.abc import Iterable

from dagster import DagsterInstance, DynamicPartitionsDefinition

from inference.identity import decode_file_name, encode_file_name

RATERS = DynamicPartitionsDefinition(name="raters")


def partition_of(rater_id: str) -> str:
    """Return the partition key of a rater."""
    return encode_file_name(rater_id)


def rater_of(partition_key: str) -> str:
    """Return the rater of a partition key."""
    return decode_file_name(partition_key)


def sync_partitions(instance: DagsterInstance, rater_ids: Iterable[str]) -> None:
    """Make the partitions those of the raters named: add the new ones, drop the ones that left."""
    assert RATERS.name is not None
    wanted = {partition_of(rater_id) for rater_id in rater_ids}
    existing = set(instance.get_dynamic_partitions(RATERS.name))
    if wanted - existing:
        instance.add_dynamic_partitions(RATERS.name, sorted(wanted - existing))
    for key in sorted(existing - wanted):
        instance.delete_dynamic_partition(RATERS.name, key)
