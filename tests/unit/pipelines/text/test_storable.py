"""Text made safe for every store."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.text import storable, storable_deep


def test_pairs_are_joined_lone_surrogates_replaced_and_nul_dropped() -> None:
    assert storable("a\0\ud83d\ude00b\ud800c\udfff") == "a😀b\ufffdc\ufffd"


def test_families_and_flags_stay_whole() -> None:
    text = "👨‍👩‍👧 🇫🇷 ❤️ é e\u0301"
    assert storable(text) == text


def test_a_json_value_is_cleaned_in_depth() -> None:
    assert storable_deep({"a\0": ["\ud800", 1, None, {"b": "x\0"}]}) == {"a": ["\ufffd", 1, None, {"b": "x"}]}


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_anything_becomes_utf8(text: str) -> None:
    cleaned = storable(text)

    assert cleaned.encode().decode() == cleaned
    assert storable(cleaned) == cleaned
