"""Is what a reader counts as one character one?"""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from pipelines.text import graphemes, head, length

ONE_CHARACTER = {
    "family": "👩‍❤️‍💋‍👨",
    "skin tone": "👍🏽",
    "flag": "🇫🇷",
    "flag of England": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "keycap": "1️⃣",
    "combining accent": "e\u0301",
    "Hebrew points": "שָׁ",
    "Arabic vowels": "مَّ",
    "Hindi conjunct": "क्षि",
    "Hindi three": "स्त्री",
    "Bengali conjunct": "ক্ষ",
    "Tamil vowel": "நி",
    "Hangul letters": "\u1112\u1161\u11ab",
    "line end": "\r\n",
}

FLAGS_AND_THEIR_NEIGHBOURS = st.text(st.sampled_from("🇫🇷a\u0301\u200d👩🏽\u0903\u0600क\u094d"), max_size=30)


@pytest.mark.parametrize("cluster", ONE_CHARACTER.values(), ids=list(ONE_CHARACTER))
def test_one_character_is_one_cluster(cluster: str) -> None:
    assert graphemes(f"a{cluster}b") == ["a", cluster, "b"]


@given(FLAGS_AND_THEIR_NEIGHBOURS)
def test_the_quick_way_over_flags_finds_what_the_standard_says(text: str) -> None:
    assert graphemes(text) == regex.findall(r"\X", text)


@given(st.text(max_size=60), st.integers(min_value=0, max_value=60))
def test_a_head_holds_whole_characters(text: str, most: int) -> None:
    assert head(text, most) == "".join(graphemes(text)[:most])
    assert length(text) == len(graphemes(text))
