"""From a rater and an item to the messages that are sent: the only place where both meet a template.

Used for asking, and for showing a person what would be asked. Does not know engines.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from inference.prompts import BankViews, Message, PromptView, load_template, render
from inference.raters import Rater
from inference.registry import Registry
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

    def render(self, rater: Rater, dataset: str, item_id: str) -> Rendered:
        """Return what a rater is shown of an item."""
        if rater.condition is None or rater.row.template_version is None:
            return Rendered((), (), ())
        spec = self._registry.bank_of(dataset).datasets[dataset]
        labels = tuple(self._registry.label_sets[spec.label_set].labels) if spec.label_set else ()
        item = self.views(dataset).item(dataset, item_id, rater.condition.option_rotation)
        view = PromptView(
            item=item,
            labels=labels,
            exemplars=(),
            persona=rater.condition.persona,
            strategy=rater.condition.strategy,
        )
        messages = render(load_template(rater.row.template_version, spec.response_kind), view)
        letters = tuple(option.letter for option in item.options)
        return Rendered(messages, labels or letters or _whole_scores(item.min_score, item.max_score), ())

    def views(self, dataset: str) -> BankViews:
        """Return the views of the bank that a data set is made from."""
        bank = self._registry.bank_of(dataset).name
        if bank not in self._views:
            self._views[bank] = BankViews(self._banks[bank])
        return self._views[bank]


def _whole_scores(low: float | None, high: float | None) -> tuple[str, ...]:
    """Return the scores of a scale that counts in ones; nothing for any other scale."""
    if low is None or high is None or not low.is_integer() or not high.is_integer():
        return ()
    return tuple(str(score) for score in range(int(low), int(high) + 1))
