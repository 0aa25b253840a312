"""Text made safe for every store."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.llm.text import clean, clean_deep


def test_pairs_are_joined_lone_surrogates_replaced_and_nul_dropped() -> None:
    assert clean("a\0\ud83d\ude00b\ud800c\udfff") == "a😀b\ufffdc\ufffd"


def test_families_and_flags_stay_whole() -> None:
    text = "👨‍👩‍👧 🇫🇷 ❤️ é e\u0301"
    assert clean(text) == text


def test_a_json_value_is_cleaned_in_depth() -> None:
    assert clean_deep({"a\0": ["\ud800", 1, None, {"b": "x\0"}]}) == {"a": ["\ufffd", 1, None, {"b": "x"}]}


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_anything_becomes_utf8(text: str) -> None:
    cleaned = clean(text)

    assert cleaned.encode().decode() == cleaned
    assert clean(cleaned) == cleaned
