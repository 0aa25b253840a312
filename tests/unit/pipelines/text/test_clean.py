"""Does a text come out storable, and otherwise as it went in?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.text import clean

ANY_TEXT = st.text(st.characters(categories=("L", "M", "N", "P", "S", "Z", "C"), codec=None), max_size=80)

CHANGED = [
    ("a\x00b", "ab"),
    ("\x1b[31mrouge\x07", "[31mrouge"),
    ("a\x80\x9fb\x7f", "ab"),
    (
        "un\r\ndeux\rtrois\x0bquatre\x0ccinq\x85six\u2028sept\u2029huit",
        "un\ndeux\ntrois\nquatre\ncinq\nsix\nsept\nhuit",
    ),
    ("\ud83d\ude18", "😘"),
    ("\ud83d\x00\ude18", "😘"),
    ("a\ud83db", "a\ufffdb"),
    ("\ude18\ud83d", "\ufffd\ufffd"),
    ("Léo\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065", "Léo"),
    ("\U000e0001\U0001f3f4\U000e0067", "\U0001f3f4"),
]

KEPT = [
    "tab\tet\nligne",
    "👩‍❤️‍💋‍👨 👍🏽 🇫🇷 1️⃣",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "می‌خواهم",
    "क्‍ष",
    "\u200fשלום\u200e \u2067مرحبا\u2069",
    "e\u0301 é ﬁ",
    "\ufffe",
]


@pytest.mark.parametrize(("text", "expected"), CHANGED, ids=ascii)
def test_what_nobody_can_store_or_see_goes(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize("text", KEPT, ids=ascii)
def test_what_a_reader_sees_stays(text: str) -> None:
    assert clean(text) == text


@given(ANY_TEXT)
def test_a_clean_text_is_storable_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)

    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert [char for char in cleaned if char < " " and char not in "\n\t"] == []
    assert clean(cleaned) == cleaned
