"""Local raters as an engine: messages in, text out, as a language model would write it.

Opens the method that a rater's settings name, lets it learn from the train split once, and keeps what it learned.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inference import baselines
from inference.baselines.fields import Fields, read_fields
from inference.baselines.graders import Graded, Grader, GraderSettings
from inference.baselines.readers import Keyed, Reader, ReaderSettings
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


class BaselineEngine:
    """Runs graders and readers."""

    kind = "baseline"

    def __init__(self, registry: Registry, banks: Mapping[str, BankFrames], cache: Path) -> None:
        self._registry, self._banks, self._cache = registry, banks, cache
        self._methods: dict[tuple[str, str], Grader | Reader] = {}
        self._trained: dict[str, list[tuple[Fields, str]]] = {}
        self._vectors: dict[str, Vectors] = {}

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
        for request in requests:
            try:
                fields = read_fields(request.messages[-1].content)
                answer = self._method(request.rater, request.dataset).answer(fields)
            except (ValueError, KeyError, IndexError) as problem:
                yield failed(request.request_id, "permanent", "cannot_answer", str(problem))
            else:
                yield Completion(request.request_id, _FORMS[fields.kind].format(answer), "stop")

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
            settings = {**rater.model.settings, **rater.condition.settings}
            examples, vectors = self._examples(rater, dataset), self._vectors[dataset]
            method: Grader | Reader
            if rater.row.task == "grade":
                method = Grader(GraderSettings.of(settings), [Graded(*example) for example in examples], vectors)
            else:
                method = Reader(ReaderSettings.of(settings), [Keyed(*example) for example in examples], vectors)
            learned_from = training_hash(self._items(dataset), dataset)
            depends_on = [self.version, rater.row.settings_hash, dataset, learned_from]
            method.use(cached(self._cache / "baselines", depends_on, method.learn))
            self._methods[key] = method
        return self._methods[key]

    def _examples(self, rater: Rater, dataset: str) -> list[tuple[Fields, str]]:
        """Return the train items as their prompts show them, with their golds; and learn the words in them."""
        if dataset not in self._trained:
            bank = self._registry.bank_of(dataset)
            spec = bank.datasets[dataset]
            labels = tuple(self._registry.label_sets[spec.label_set].labels) if spec.label_set else ()
            template = load_template(str(rater.row.template_version), spec.response_kind)
            views = BankViews(self._banks[bank.name])
            found = []
            for row in training_items(self._items(dataset), dataset).iter_rows(named=True):
                view = PromptView(views.item(dataset, row["item_id"]), labels)
                found.append((read_fields(render(template, view)[-1].content), answer_of(row)))
            texts = [text for fields, _ in found for text in _texts(fields)]
            self._trained[dataset] = found
            self._vectors[dataset] = Vectors(list(dict.fromkeys(texts)), self._embeddings)
        return self._trained[dataset]

    def _items(self, dataset: str) -> Any:
        return self._banks[self._registry.bank_of(dataset).name].items


def _texts(fields: Fields) -> tuple[str, ...]:
    """Return the texts of an item that a vocabulary is learned from."""
    return (fields.text, *fields.references, fields.stimulus, *(text for _, text in fields.options))
