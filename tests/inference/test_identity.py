from hypothesis import given
from hypothesis import strategies as st

from inference.identity import (
    attempt_id_of,
    canonical_json,
    decode_file_name,
    decode_id,
    encode_file_name,
    encode_id,
    hash_of,
    request_id_of,
)

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(texts, min_size=1, max_size=4))
def test_composite_ids_come_apart_as_they_were_joined(parts):
    assert decode_id(encode_id(parts)) == tuple(parts)


@given(st.lists(texts, min_size=1, max_size=3), st.lists(texts, min_size=1, max_size=3))
def test_different_parts_never_make_the_same_id(left, right):
    assert (encode_id(left) == encode_id(right)) == (left == right)


@given(texts)
def test_r13_file_names_are_reversible_and_have_no_separators(name):
    encoded = encode_file_name(name)
    assert decode_file_name(encoded) == name
    assert not set(encoded) & set('/\\,:*?"<>| \n')


def test_r13_ids_that_have_broken_partition_keys_stay_readable():
    assert encode_file_name("org/model-a") == "org%2Fmodel-a"
    assert encode_file_name("model, v2 (4-bit)") == "model%2C%20v2%20%284-bit%29"


@given(texts, st.integers(1, 99))
def test_an_attempt_is_its_request_and_its_number(request_id, attempt):
    assert attempt_id_of(request_id, attempt) == hash_of([request_id, attempt])


def test_canonical_json_is_written_in_one_way():
    assert canonical_json({"b": 1, "a": ["é", None]}) == '{"a":["é",null],"b":1}'


def test_every_part_of_a_request_counts():
    base = ("rater", "dataset", "item", 0, "content")
    changed = [
        ("r", *base[1:]),
        (base[0], "d", *base[2:]),
        (*base[:2], "i", *base[3:]),
        (*base[:3], 1, base[4]),
        (*base[:4], "c"),
    ]
    assert len({request_id_of(*parts) for parts in [base, *changed]}) == 6
