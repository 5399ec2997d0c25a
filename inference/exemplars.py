"""What a rater is shown or trained on besides the item: exemplars and training sets.

Golds of train items are part of what a rater sees, so they are part of what makes its requests the same; golds of test
items never are. Every choice is made by hashes of a seed and an id: the same on every machine, and no draw of one rater
moves another's.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import polars as pl

from inference.identity import hash_of
from inference.raters import Rater
from inference.registry import Registry
from inference.sources import BankFrames, SourceError

_SEEN = ("item_id", "item_hash", "gold_label", "gold_score", "answer_key")


@dataclass(frozen=True, slots=True)
class Exemplar:
    """An item that is shown with what humans said about it."""

    dataset: str
    """Data set of the item."""
    item_id: str
    """Item."""
    item_hash: str
    """Hash of what is shown of it."""
    answer: str
    """Gold, as a rater would write it."""
    key: str | None
    """Key of a multiple-choice item, for predictions about items."""


def training_items(items: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Return the train items of a data set that have a gold (ItemRow), in order of their ids."""
    has_gold = pl.any_horizontal(pl.col("gold_label", "gold_score", "answer_key").is_not_null())
    return items.filter(pl.col("dataset") == dataset, pl.col("split") == "train", has_gold).sort("item_id")


def training_hash(items: pl.DataFrame, dataset: str) -> str:
    """Return the hash of the train items and their golds."""
    return hash_of([list(row) for row in training_items(items, dataset).select(_SEEN).rows()])


class ExemplarSource:
    """Draws the exemplars of one rater for the items of one data set."""

    def __init__(self, rater: Rater, dataset: str, registry: Registry, banks: Mapping[str, BankFrames]) -> None:
        self._rater, self._dataset = rater, dataset
        self._condition = rater.condition
        self._source = (self._condition.exemplar_dataset if self._condition else None) or dataset
        self._bank = banks[registry.bank_of(self._source).name]
        self._drawn: dict[tuple[str, str | None], tuple[Exemplar, ...]] = {}

    def hash_for(self, testlet_id: str, stratum: str | None) -> str | None:
        """Return the hash of all that the rater sees besides an item of a testlet; None where it sees nothing.

        A local rater learns from the whole train split of the data set.
        """
        if self._rater.row.engine == "baseline":
            return self._training_hash
        drawn = self.exemplars_for(testlet_id, stratum)
        return hash_of([[e.dataset, e.item_id, e.item_hash, e.answer, e.key] for e in drawn]) if drawn else None

    def exemplars_for(self, testlet_id: str, stratum: str | None) -> tuple[Exemplar, ...]:
        """Return the exemplars for the items of a testlet and human population, in the order in which they are shown.

        Raises
        ------
        SourceError
            There are fewer candidates than the condition asks for.
        """
        if self._condition is None or not self._condition.n_shots:
            return ()
        is_prediction = self._rater.row.task.startswith("predict_")
        place = (testlet_id, stratum) if is_prediction else ("", None)
        if place not in self._drawn:
            self._drawn[place] = self._spread(testlet_id, stratum) if is_prediction else self._lowest()
        return self._drawn[place]

    @cached_property
    def _training_hash(self) -> str:
        return training_hash(self._bank.items, self._dataset)

    def _lowest(self) -> tuple[Exemplar, ...]:
        """Draw from the train split, the same for every item: the ids that hash lowest under the seed."""
        rows = training_items(self._bank.items, self._source).to_dicts()
        chosen = sorted(rows, key=lambda row: self._lot(row["item_id"]))[: self._n_shots(len(rows))]
        return tuple(
            Exemplar(self._source, row["item_id"], row["item_hash"], answer_of(row), row["answer_key"])
            for row in chosen
        )

    def _spread(self, testlet_id: str, stratum: str | None) -> tuple[Exemplar, ...]:
        """Draw one item from each equal part of the range of a human statistic: other testlets, the same population."""
        statistic = self._rater.row.task.removeprefix("predict_")
        known = self._bank.human_item_statistics.filter(
            pl.col("dataset") == self._source, pl.col(statistic).is_not_null()
        ).select("item_id", pl.col("stratum").alias("population"), statistic)
        candidates = (
            self._bank.items.filter(pl.col("dataset") == self._source, pl.col("testlet_id") != testlet_id)
            .filter(pl.col("stratum").eq_missing(stratum))
            .join(known, on="item_id")
            .filter(pl.col("population") == pl.col("stratum").fill_null("all"))
            .sort(statistic, "item_id")
            .to_dicts()
        )
        n = self._n_shots(len(candidates))
        edges = [round(part * len(candidates) / n) for part in range(n + 1)]
        parts = [candidates[low:high] for low, high in pairwise(edges)]
        chosen = [min(part, key=lambda row: self._lot(row["item_id"])) for part in parts]
        # shown in an order that does not rise with the statistic
        chosen.sort(key=lambda row: self._lot(row["item_id"]))
        return tuple(
            Exemplar(self._source, row["item_id"], row["item_hash"], f"{row[statistic]:.2f}", row["answer_key"])
            for row in chosen
        )

    def _n_shots(self, n_candidates: int) -> int:
        assert self._condition is not None
        if n_candidates < self._condition.n_shots:
            raise SourceError(
                f"rater {self._rater.row.rater_id!r} needs {self._condition.n_shots} exemplars from {self._source}, "
                f"which has {n_candidates} that fit {self._dataset}; lower n_shots or name another exemplar_dataset"
            )
        return self._condition.n_shots

    def _lot(self, item_id: str) -> bytes:
        assert self._condition is not None
        return hashlib.sha256(f"{self._condition.exemplar_seed or 0}|{item_id}".encode()).digest()


def answer_of(row: Mapping[str, object]) -> str:
    """Return an item's gold as a rater would write it."""
    return str(row["gold_label"] or row["answer_key"] or f"{row['gold_score']:g}")


def ids_of(exemplars: Sequence[Exemplar]) -> tuple[str, ...]:
    """Return the ids of exemplars, in order."""
    return tuple(exemplar.item_id for exemplar in exemplars)
