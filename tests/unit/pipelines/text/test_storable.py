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


def test_what_is_clean_is_not_copied() -> None:
    clean = {"a": ["é", {"b": "\\u0000 in six letters", "n": 1}], "c": None}

    assert storable_deep(clean) == clean
    assert storable_deep(easy := {"a": ["é", {"b": 1}]}) is easy


def test_one_spoilt_string_deep_inside_is_found() -> None:
    for spoilt in ("\0", "\ud800"):
        assert storable_deep({"a": [{"b": f"x{spoilt}"}], f"k{spoilt}": 1}) == {
            "a": [{"b": "x" if spoilt == "\0" else "x�"}],
            "k" if spoilt == "\0" else "k�": 1,
        }
