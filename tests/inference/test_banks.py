import polars as pl
import pytest

from inference.registry import BankSpec, load_registry
from inference.sources import SourceError, bank_fingerprint, label_rows, read_bank
from orchestration.settings import SHIPPED_REGISTRY


def test_items_carry_their_scheme_and_their_gold(load):
    items = load()[1]["tiny"].items
    assert items.height == 12
    label = items.row(by_predicate=(pl.col("dataset") == "tiny_labels") & (pl.col("item_id") == "007"), named=True)
    score = items.row(by_predicate=(pl.col("dataset") == "tiny_scores") & (pl.col("item_id") == "007"), named=True)
    assert (label["gold_label"], label["gold_score"], label["max_score"]) == ("right", None, None)
    assert (score["gold_label"], score["gold_score"], score["min_score"], score["max_score"]) == (None, 2.0, 0.0, 2.0)
    assert label["extra"] == '{"note":"a"}'
    assert items.filter(pl.col("item_id") == "52779E469111")["item_text"].to_list() == ["", ""]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("banks/answers.csv", "rises,right,2", "rises,rigth,2", r"line 2, id '007': unknown gold 'rigth'.*'wrong'"),
        ("banks/answers.csv", "rises,right,2", "rises,right,3", r"line 2, id '007': gold '3' is not a score from 0"),
        ("banks/answers.csv", "rises,right,2", "rises,right,", r"line 2, id '007': gold '' is not a score"),
        ("banks/answers.csv", "7,q1,test,Cold", "007,q1,test,Cold", r"id '007' stands on lines 2, 3"),
        ("banks/answers.csv", "t2,q1,train", "t2,q1,dev", r"line 6, id 't2': unknown split 'dev'"),
        ("banks/answers.csv", "t3,q2", "t3,q9", r"line 7, id 't3': testlet 'q9' is not in questions\.csv"),
        ("banks/answers.csv", "id,question", "key,question", r"no column 'id'; it has 'key'"),
        (
            "banks/tiny.yml", "gold: label", "gold: lable",
            r"answers\.csv: no column 'lable' \(did you mean 'label'\?\); it has 'id', .*'label'.*; "
            r"correct the gold's name there, or tiny\.datasets\.tiny_labels\.gold in .*tiny\.yml",
        ),
        ("banks/questions.csv", "q2,What", "q1,What", r"line 3: testlet 'q1' was described otherwise"),
        ("banks/questions.csv", "need?,2", "need?,two", r"line 3: top is 'two'; expected a number"),
        ("label_sets.yml", "half: [partly right]", "half: [Correct]", "spelling 'correct' belongs to 'right' and"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_file_line_and_id(change, load, name, old, new, message):
    change(name, old, new)
    with pytest.raises(SourceError, match=message) as caught:
        load()
    assert "\n" not in str(caught.value)


def test_every_label_is_a_spelling_of_its_own(load):
    rows = label_rows(load()[0])
    assert rows.select("label", "synonym").rows() == [
        ("right", "right"), ("right", "correct"), ("half", "half"), ("half", "partly right"), ("wrong", "wrong"),
    ]  # fmt: skip


def test_the_fingerprint_changes_with_files_description_and_labels(change, load):
    def fingerprint() -> str:
        registry, _ = load()
        return bank_fingerprint(registry.banks["tiny"], registry)

    seen = [fingerprint(), fingerprint()]
    assert len(set(seen)) == 1
    for name, old, new in (
        ("banks/answers.csv", "Cold air", "Cool air"),
        ("banks/tiny.yml", "title: Tiny", "title: Small"),
        ("label_sets.yml", "partly right", "in part right"),
    ):
        change(name, old, new)
        seen.append(fingerprint())
    assert len(set(seen)) == 4


def test_the_demo_reads_with_every_gold():
    registry = load_registry([SHIPPED_REGISTRY], None)
    demo, reading = (read_bank(registry.banks[name], registry) for name in ("demo", "demo_reading"))
    golds = pl.coalesce(pl.col("gold_label"), pl.col("gold_score").cast(pl.String), pl.col("answer_key"))
    assert demo.items.select(golds.is_not_null().all()).item()
    assert reading.items.select(golds.is_not_null().all()).item()
    assert reading.item_options.group_by("item_id").len()["len"].unique().to_list() == [4]


@pytest.fixture(scope="module")
def real(data_dir):
    registry = load_registry([SHIPPED_REGISTRY], data_dir)
    return registry, {name: read_bank(registry.banks[name], registry) for name in ("beetle", "scientsbank")}


def test_s0_01_real_banks_have_the_published_sizes(real):
    sizes = {
        (dataset, split, part): n
        for bank in real[1].values()
        for dataset, split, part, n in bank.items.group_by("dataset", "split", "test_part").len().rows()
    }
    for dataset in ("beetle_5way", "beetle_3way", "beetle_2way"):
        assert sizes[dataset, "train", None] == 3941
        assert sizes[dataset, "test", "unseen_answers"] == 439
        assert sizes[dataset, "test", "unseen_questions"] == 819
    for dataset in ("scientsbank_3way", "scientsbank_2way"):
        assert sizes[dataset, "train", None] == 4969
        assert sizes[dataset, "test", "unseen_answers"] == 540
        assert sizes[dataset, "test", "unseen_questions"] == 733
        assert sizes[dataset, "test", "unseen_domains"] == 4562


def test_coarser_golds_made_from_finer_ones_equal_the_published_ones(real):
    registry, frames = real
    for bank, column, dataset in (
        ("beetle", "label_3way", "beetle_3way"),
        ("beetle", "label_2way", "beetle_2way"),
        ("scientsbank", "label_2way", "scientsbank_2way"),
    ):
        spec = registry.banks[bank].model_copy(update={"datasets": _plain(registry.banks[bank], dataset, column)})
        published = read_bank(spec, registry).items.select("item_id", "gold_label")
        made = frames[bank].items.filter(pl.col("dataset") == dataset).select("item_id", "gold_label")
        assert made.equals(published)


def test_the_original_xml_and_the_csv_give_the_same_rows(real):
    registry, _ = real
    for name, dataset in (("beetle", "beetle_3way"), ("scientsbank", "scientsbank_3way")):
        spec = registry.banks[name].model_copy(update={"datasets": _plain(registry.banks[name], dataset, "label_3way")})
        from_csv, from_xml = read_bank(spec, registry), read_bank(_from_archive(spec), registry)
        for table in ("datasets", "items", "reference_answers"):
            left, right = (getattr(frame, table).drop("load_id") for frame in (from_csv, from_xml))
            assert left.sort(left.columns).equals(right.sort(right.columns)), (name, table)


def _plain(bank: BankSpec, dataset: str, column: str):
    return {dataset: bank.datasets[dataset].model_copy(update={"gold": column, "gold_map": {}})}


def _from_archive(bank: BankSpec) -> BankSpec:
    archive = "semeval2013/semeval-3way.zip"
    return bank.model_copy(
        update={
            "items": bank.items.model_copy(update={"file": archive, "format": "semeval_answers"}),
            "testlets": bank.testlets.model_copy(update={"file": archive, "format": "semeval_references"}),
            "references": bank.references.model_copy(update={"file": archive, "format": "semeval_references"}),
        }
    )
