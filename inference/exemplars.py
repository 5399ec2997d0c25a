"""What a rater is shown or trained on besides the item: exemplars and training sets, drawn from the train split.

Golds of train items are part of what a rater sees, so they are part of what makes its requests the same; golds of test
items never are.
"""

import polars as pl

from inference.identity import hash_of
from inference.raters import Rater

_SEEN = ("item_id", "item_hash", "gold_label", "gold_score", "answer_key")


def training_items(items: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Return the train items of a data set that have a gold (ItemRow), in order of their ids."""
    has_gold = pl.any_horizontal(pl.col("gold_label", "gold_score", "answer_key").is_not_null())
    return items.filter(pl.col("dataset") == dataset, pl.col("split") == "train", has_gold).sort("item_id")


def training_hash(items: pl.DataFrame, dataset: str) -> str:
    """Return the hash of the train items and their golds."""
    return hash_of([list(row) for row in training_items(items, dataset).select(_SEEN).rows()])


def exemplar_set_hash(rater: Rater, items: pl.DataFrame, dataset: str) -> str | None:
    """Return the hash of all that a rater sees besides the item; None where it sees nothing.

    A local rater learns from the whole train split of the data set.
    """
    if rater.model is None or rater.model.engine != "baseline":
        return None
    return training_hash(items, dataset)
