"""From a rater and an item to the messages that are sent: the only place where both meet a template.

Used for asking, and for showing a person what would be asked. Does not know engines.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from inference.exemplars import Exemplar, ExemplarSource, ids_of
from inference.prompts import BankViews, ExemplarView, ItemView, Message, PromptView, load_template, render
from inference.raters import Rater
from inference.registry import ConditionSpec, Registry
from inference.sources import BankFrames


@dataclass(frozen=True, slots=True)
class Rendered:
    """What one request shows to a rater."""

    messages: tuple[Message, ...]
    """Messages; empty for recorded responses."""
    choices: tuple[str, ...]
    """Labels, option letters or whole scores that may be answered; empty where the scheme is not a finite set."""
    exemplar_ids: tuple[str, ...]
    """Items shown with their golds."""


class Renderer:
    """Renders requests of the data sets of a registry."""

    def __init__(self, registry: Registry, banks: Mapping[str, BankFrames]) -> None:
        self._registry, self._banks = registry, banks
        self._views: dict[str, BankViews] = {}
        self._exemplars: dict[tuple[str, str], ExemplarSource] = {}
        self._keys: dict[str, dict[str, str]] = {}

    def render(self, rater: Rater, dataset: str, item_id: str) -> Rendered:
        """Return what a rater is shown of an item."""
        condition, template = rater.condition, rater.row.template_version
        if condition is None or template is None:
            return Rendered((), (), ())
        spec = self._registry.bank_of(dataset).datasets[dataset]
        labels = tuple(self._registry.label_sets[spec.label_set].labels) if spec.label_set else ()
        is_prediction = rater.row.task.startswith("predict_")
        exemplars = self._exemplars_for(rater, dataset, item_id)
        item = self._item(dataset, item_id, condition)
        view = PromptView(
            item=item,
            labels=labels,
            exemplars=tuple(self._exemplar_view(exemplar, condition, is_prediction) for exemplar in exemplars),
            persona=condition.persona,
            strategy=condition.strategy,
            population=condition.population,
            key=self._key(dataset, item_id) if is_prediction else None,
        )
        messages = render(load_template(template, spec.response_kind), view)
        return Rendered(messages, () if is_prediction else _choices(item, labels), ids_of(exemplars))

    def _item(self, dataset: str, item_id: str, condition: ConditionSpec) -> ItemView:
        views = self._views_of(dataset)
        rotation, shows_stratum = condition.option_rotation, condition.shows_stratum
        return views.item(dataset, item_id, rotation=rotation, shows_stratum=shows_stratum)

    def _exemplars_for(self, rater: Rater, dataset: str, item_id: str) -> tuple[Exemplar, ...]:
        place = (rater.row.rater_id, dataset)
        if place not in self._exemplars:
            self._exemplars[place] = ExemplarSource(rater, dataset, self._registry, self._banks)
        return self._exemplars[place].exemplars_for(*self._views_of(dataset).place(dataset, item_id))

    def _exemplar_view(self, exemplar: Exemplar, condition: ConditionSpec, is_prediction: bool) -> ExemplarView:
        views = self._views_of(exemplar.dataset)
        item = views.item(exemplar.dataset, exemplar.item_id, shows_stratum=condition.shows_stratum)
        return ExemplarView(item, exemplar.answer, exemplar.key if is_prediction else None)

    def _views_of(self, dataset: str) -> BankViews:
        bank = self._registry.bank_of(dataset).name
        if bank not in self._views:
            self._views[bank] = BankViews(self._banks[bank])
        return self._views[bank]

    def _key(self, dataset: str, item_id: str) -> str | None:
        if dataset not in self._keys:
            items = self._banks[self._registry.bank_of(dataset).name].items.filter(pl.col("dataset") == dataset)
            self._keys[dataset] = dict(items.select("item_id", "answer_key").iter_rows())
        return self._keys[dataset][item_id]


def _choices(item: ItemView, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return what may be answered, where that is a finite set; scores count in ones."""
    letters = tuple(option.letter for option in item.options)
    low, high = item.min_score, item.max_score
    if labels or letters:
        return labels or letters
    if low is None or high is None or not low.is_integer() or not high.is_integer():
        return ()
    return tuple(str(score) for score in range(int(low), int(high) + 1))
