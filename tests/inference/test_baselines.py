"""Local raters: real graders and readers, each its own, the same on every run."""

import numpy as np
import polars as pl
import pytest

from inference.asking import ask, models_to_ask
from inference.baselines.graders import Linear
from inference.baselines.methods import read_method
from inference.baselines.storage import Embeddings, cached
from inference.baselines.vectors import Vectors
from inference.baselines.words import n_negations, sentences, share_found, words
from inference.encoders.minilm import SentenceEncoder
from inference.landing import Journal, chunk_files
from inference.planning import plan_requests, to_ask
from inference.raters import resolve_raters
from inference.registry import load_registry
from inference.sources import read_bank
from orchestration.settings import SHIPPED_REGISTRY

NOTHING = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})


@pytest.fixture(scope="module")
def demo():
    registry = load_registry([SHIPPED_REGISTRY], None)
    return registry, {bank.name: read_bank(bank, registry) for bank in registry.banks.values()}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def _answers(demo, folder, cache, keep=True) -> pl.DataFrame:
    """Ask the local raters of the demo; returns rater_id, dataset, item_id, text, error_message."""
    registry, banks = demo
    raters, plan = resolve_raters(registry), plan_requests(registry, banks).filter(keep)
    for model, requests in models_to_ask(to_ask(plan, NOTHING), raters):
        ask(model, requests, registry, raters, banks, Journal(folder), progress=_ignore, cache=cache)
    columns = ["rater_id", "dataset", "item_id", "text", "error_message", "messages"]
    return pl.concat([pl.read_parquet(path, columns=columns) for path in chunk_files(folder)]).sort(columns[:3])


def _ignore(n: int) -> None:
    """Take progress and do nothing with it."""


@pytest.fixture(scope="module")
def answers(demo, tmp_path_factory, cache):
    return _answers(demo, tmp_path_factory.mktemp("landing"), cache)


def test_at_least_sixteen_graders_and_sixteen_readers_answer_everything(answers):
    counts = answers.group_by("dataset").agg(pl.col("rater_id").n_unique(), pl.len()).sort("dataset")
    assert counts.rows() == [("demo_labels", 23, 23 * 196), ("demo_mcq", 21, 21 * 50), ("demo_scores", 23, 23 * 196)]
    assert answers["error_message"].null_count() == answers.height


def test_answers_have_the_form_that_a_language_model_is_told_to_use(answers):
    forms = {
        "demo_labels": r"^Label: (correct|partially_correct_incomplete|contradictory|irrelevant|non_domain)$",
        "demo_scores": r"^Score: [0-3]$",
        "demo_mcq": r"^Answer: [A-D]$",
    }
    for (dataset,), part in answers.partition_by("dataset", as_dict=True).items():
        assert part["text"].str.contains(forms[dataset]).all(), dataset


def test_no_two_raters_give_the_same_answers(answers):
    for (dataset,), part in answers.partition_by("dataset", as_dict=True).items():
        vectors = {tuple(own["text"]) for own in part.partition_by("rater_id")}
        assert len(vectors) == part["rater_id"].n_unique(), dataset


def test_graders_differ_in_ability(answers, demo):
    golds = pl.concat([bank.items.select("dataset", "item_id", "gold_label") for bank in demo[1].values()])
    graded = answers.filter(pl.col("dataset") == "demo_labels").join(golds, on=["dataset", "item_id"])
    is_right = pl.col("text") == "Label: " + pl.col("gold_label")
    accuracy = graded.group_by("rater_id").agg(is_right.mean().alias("accuracy"))["accuracy"]
    assert accuracy.min() < 0.35
    assert accuracy.max() > 0.5


@pytest.mark.parametrize(
    "raters",
    [
        ["char-tfidf|logistic", "word-overlap|all", "word-tfidf|nearest", "word-reader|passage"],
        pytest.param(["minilm|logistic", "combined|thresholds", "combined-reader|learned"], marks=pytest.mark.slow),
    ],
)
def test_an_answer_does_not_depend_on_what_else_is_asked(answers, demo, tmp_path, raters):
    few = pl.col("rater_id").is_in(raters) & pl.col("item_id").str.ends_with("3")
    again = _answers(demo, tmp_path / "landing", tmp_path / "another cache", few)
    assert again.height > 20
    key = ["rater_id", "dataset", "item_id"]
    assert again.equals(answers.join(again.select(key), on=key, how="semi").sort(key))


def test_a_rater_reads_only_what_is_sent(answers):
    sent = answers.filter(pl.col("dataset") == "demo_labels")["messages"]
    assert sent.null_count() == 0
    assert not sent.str.contains("gold").any()


def test_a_grader_without_references_says_so_and_harms_nobody(folder, change, load, tmp_path):
    change("banks/references.csv", "q2,r1,Plants need light and water.\n", "")
    change("banks/answers.csv", "t3,q2,train", "t3,q1,train")
    answers = _answers(load(), tmp_path, tmp_path, pl.col("rater_id") == "overlap|recall")
    failed = answers.filter(pl.col("error_message").is_not_null())
    assert set(failed["item_id"]) == {"52779E469111"}
    message = "measure 'recall' needs a reference answer, and the question has none"
    assert failed["error_message"].unique().to_list() == [message]
    assert answers.height == 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head": "magic"}, r"unknown head 'magic'; expected one of \['thresholds', 'logistic', 'neighbours'\]"),
        ({"head": "thresholds", "measures": ["luck"]}, "unknown measure 'luck'; expected one of"),
        (
            {"head": "logistic", "vector": "bert"},
            r"unknown vector 'bert'; expected one of \['word', 'char', 'minilm'\]",
        ),
        ({"head": "logistic", "k": 3}, "unknown grader setting 'k'; allowed:"),
        ({}, r"no head; expected one of \['thresholds', 'logistic', 'neighbours'\]"),
        ({"head": "thresholds"}, "'thresholds' needs measures, or a vector"),
        ({"head": "neighbours", "measures": ["recall"]}, "'neighbours' needs a vector"),
        ({"head": "thresholds", "measures": "recall"}, "measures is 'recall'; expected a list of names"),
        ({"head": "neighbours", "vector": "word", "n_neighbours": 0}, "n_neighbours is 0; expected a whole number"),
        ({"head": "logistic", "vector": "word", "share": 0}, "share is 0; expected a number above 0"),
    ],
)
def test_a_setting_that_a_grader_does_not_know_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        read_method("grade", settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs either weights .* or measures"),
        ({"weights": {"passage_words": 1}, "measures": ["length"]}, "needs either weights .* or measures"),
        ({"weights": {"luck": 1}}, "unknown measure 'luck'"),
        ({"weights": {"passage_words": "much"}}, "weight of 'passage_words' is 'much'; expected a number"),
        ({"weights": ["passage_words"]}, r"weights is \['passage_words'\]; expected names of measures, each with"),
    ],
)
def test_a_setting_that_a_reader_does_not_know_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        read_method("answer", settings)


def test_overlap_by_hand():
    # {warm, air, rise} against {air, rise, fast}: two of three found
    assert share_found(words("Warm air rises"), words("air rises fast")) == 2 / 3
    assert share_found([], ["a"]) == 0.0
    assert n_negations("It doesn't rise, and never did without heat.") == 3
    assert sentences('He left. "Why?" she asked. It was 3.5 km.') == (
        "He left.",
        '"Why?',
        "she asked.",
        "It was 3.5 km.",
    )


def test_tfidf_by_hand(tmp_path):
    vectors = Vectors(["sun moon", "sun sea"], Embeddings(tmp_path))
    # idf: sun 1 + log(3/3) = 1; moon 1 + log(3/2) = 1.405
    expected = np.array([1.0, 1 + np.log(1.5)]) / np.hypot(1.0, 1 + np.log(1.5))
    assert np.sort(vectors.of("word", "moon sun"))[-2:] == pytest.approx(expected)
    assert vectors.similarity("word", "star", "sun") == 0.0


def test_a_linear_head_takes_the_largest_score():
    head = Linear(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 0.5]), ("left", "right"))
    assert head.predict(np.array([[1.0, 0.4], [1.0, 0.6]])) == ["left", "right"]


def test_what_was_learned_is_kept_and_a_broken_file_is_computed_anew(tmp_path):
    calls = []

    def compute() -> str:
        calls.append(1)
        return "learned"

    assert [cached(tmp_path, ["key"], compute) for _ in range(2)] == ["learned", "learned"]
    assert len(calls) == 1
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:4])
    assert cached(tmp_path, ["key"], compute) == "learned"
    assert len(calls) == 2
    assert [path.suffix for path in tmp_path.iterdir()] == [".pickle"]


def test_embeddings_survive_a_broken_file_and_join_what_others_stored(tmp_path):
    first, second = Embeddings(tmp_path), Embeddings(tmp_path)
    vector = first.of("Warm air rises.")
    second.of("Plants need light.")
    first.save()
    second.save()
    assert np.array_equal(Embeddings(tmp_path).of("Warm air rises."), vector)
    (file,) = tmp_path.iterdir()
    assert len(Embeddings(tmp_path)._known) == 2
    file.write_bytes(b"broken")
    assert np.array_equal(Embeddings(tmp_path).of("Warm air rises."), vector)


def test_embeddings_have_length_one_and_see_meaning():
    encoder = SentenceEncoder()
    texts = ["It is raining.", "Rain is falling outside.", "Taxes were cut.", ""]
    rain, wet, tax, empty = encoder.encode(texts)
    assert np.linalg.norm(rain) == pytest.approx(1, abs=1e-5)
    assert rain @ wet > 0.7 > 0.3 > rain @ tax
    assert empty.shape == (384,)
    assert encoder.encode(["It is raining."])[0] == pytest.approx(rain, abs=1e-6)


@pytest.mark.slow
def test_embeddings_equal_the_published_implementation(demo):
    from sentence_transformers import SentenceTransformer

    from inference.encoders.minilm import _shipped_folder

    texts = ["", "Ünïcode ½ 漢字 🙂", "word " * 400, *demo[1]["demo"].items["item_text"].unique().sort()[:40]]
    published = SentenceTransformer(str(_shipped_folder()), device="cpu", local_files_only=True)
    ours = SentenceEncoder().encode(texts)
    assert ours == pytest.approx(published.encode(texts, batch_size=1, show_progress_bar=False), abs=2e-6)
