"""Local raters as an engine: messages in, text out, as a language model would write it.

Opens the method that a rater's settings name, lets it learn from the train split once, and keeps what it learned.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from inference import baselines
from inference.baselines.fields import Fields, all_texts, read_fields
from inference.baselines.graders import Graded, Grader, GraderSettings
from inference.baselines.methods import read_method
from inference.baselines.readers import Keyed, Reader, read_texts
from inference.baselines.storage import Embeddings, cached
from inference.baselines.vectors import Vectors
from inference.engines.base import Completion, RenderedRequest, failed
from inference.exemplars import answer_of, training_hash, training_items
from inference.identity import file_hash, hash_of
from inference.prompts import BankViews, PromptView, load_template, render
from inference.raters import Rater
from inference.registry import Registry
from inference.sources import BankFrames

_FORMS = {"label": "Label: {}", "score": "Score: {}", "choice": "Answer: {}"}


@dataclass(frozen=True, slots=True)
class _Material:
    """What the local raters of one data set share."""

    trained: list[tuple[Fields, str]]
    """Train items with their golds."""
    learned_from: str
    """Hash of the train items and their golds."""
    vectors: Vectors
    """Vectors of the texts, their vocabulary learned from the train items."""


class BaselineEngine:
    """Runs graders and readers."""

    kind = "baseline"

    def __init__(self, registry: Registry, banks: Mapping[str, BankFrames], cache: Path) -> None:
        self._registry, self._banks, self._cache = registry, banks, cache
        self._methods: dict[tuple[str, str], Grader | Reader] = {}
        self._materials: dict[str, _Material] = {}

    @cached_property
    def version(self) -> str:
        """Hash of the methods' code, and the library that fits them; what other code has learned is not used."""
        code = [file_hash(path) for path in sorted(Path(baselines.__file__).parent.glob("*.py"))]
        return f"{hash_of(code)[:12]} (scikit-learn {version('scikit-learn')})"

    @property
    def flags(self) -> Mapping[str, Any]:
        """Nothing here can change how fast or where an answer is made."""
        return {}

    def complete(self, requests: Iterable[RenderedRequest]) -> Iterator[Completion]:
        """Answer requests one by one; a request that its method cannot answer is a permanent error."""
        # the matrices are small: further threads would only wait for one another
        with threadpool_limits(1):
            for request in requests:
                yield self._answered(request)

    def _answered(self, request: RenderedRequest) -> Completion:
        try:
            fields = read_fields(request.messages[-1].content)
            answer = self._method(request.rater, request.dataset).answer(fields)
        except (ValueError, KeyError, IndexError) as problem:
            return failed(request.request_id, "permanent", "cannot_answer", str(problem))
        return Completion(request.request_id, _FORMS[fields.kind].format(answer), "stop")

    def close(self) -> None:
        """Store the embeddings that were new."""
        self._embeddings.save()

    @cached_property
    def _embeddings(self) -> Embeddings:
        return Embeddings(self._cache / "embeddings")

    def _method(self, rater: Rater, dataset: str) -> Grader | Reader:
        key = (rater.row.rater_id, dataset)
        if key not in self._methods:
            assert rater.model is not None
            assert rater.condition is not None
            settings = read_method(rater.model.task, {**rater.model.settings, **rater.condition.settings})
            material = self._material(rater, dataset)
            method: Grader | Reader
            if isinstance(settings, GraderSettings):
                method = Grader(settings, [Graded(*example) for example in material.trained], material.vectors)
            else:
                method = Reader(settings, [Keyed(*example) for example in material.trained], material.vectors)
            depends_on = [self.version, rater.row.settings_hash, dataset, material.learned_from]
            method.use(cached(self._cache / "baselines", depends_on, method.learn))
            self._methods[key] = method
        return self._methods[key]

    def _material(self, rater: Rater, dataset: str) -> _Material:
        """Read the items of a data set as their prompts show them."""
        if dataset not in self._materials:
            bank = self._registry.bank_of(dataset)
            spec, items = bank.datasets[dataset], self._banks[bank.name].items
            labels = tuple(self._registry.label_sets[spec.label_set].labels) if spec.label_set else ()
            template = load_template(str(rater.row.template_version), spec.response_kind)
            views = BankViews(self._banks[bank.name])

            def fields(item_id: str) -> Fields:
                view = PromptView(views.item(dataset, item_id), labels)
                return read_fields(render(template, view)[-1].content)

            trained = [
                (fields(row["item_id"]), answer_of(row)) for row in training_items(items, dataset).iter_rows(named=True)
            ]
            ids = items.filter(items["dataset"] == dataset)["item_id"].to_list()
            learned_from = dict.fromkeys(text for example, _ in trained for text in all_texts(example))
            vectors = Vectors(
                list(learned_from),
                self._embeddings,
                lambda: (t for item_id in ids for t in read_texts(fields(item_id))),
            )
            self._materials[dataset] = _Material(trained, training_hash(items, dataset), vectors)
        return self._materials[dataset]
