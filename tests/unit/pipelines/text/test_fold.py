"""Are texts alike that look alike, and different that read differently?"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.text import fold, holds

FOLDED = {
    "L’ÉTÉ à l`hôtel": "l'ete a l'hotel",
    "ｆｕｌｌ　ｗｉｄｔｈ": "full width",
    "b\u200ba\u00adn\u2060n\ufeffe\u034fd": "banned",
    "\u202edennab\u202c!": "banned!",
    "\u202eשלום\u202c": "שלום",
    "cœur Straße ﬁn ŁÓDŹ ø": "coeur strasse fin lodz o",
    "İstanbul ISPARTA ılık": "istanbul isparta ilik",
    "\u200fשָׁלוֹם\u200e": "שלום",
    "مَرْحَبًا مـــرحبا": "مرحبا مرحبا",
    "कि": "कि",
    "น้ำ": "น\u0e49\u0e4dา",
    " a\u3164b\u00a0\u00a0c\u2800d\n\te ": "a b c d e",
    "👩‍❤️‍👨": "👩❤👨",
    "𝓵𝓸𝓿𝓮 ⓛⓞⓥⓔ": "love love",
    "\u200b\u200e ": "",
}


@pytest.mark.parametrize(("text", "expected"), FOLDED.items(), ids=ascii)
def test_folding_leaves_what_the_eye_compares(text: str, expected: str) -> None:
    assert fold(text) == expected


LATIN = st.characters(max_codepoint=0x24F) | st.characters(min_codepoint=0x2010, max_codepoint=0x2027)


@given(st.text(LATIN | st.sampled_from("´`’ŉİıſß½€…\x00\x1c\r\n\xa0\xad")))
def test_latin_text_folds_by_characters_as_it_does_as_a_whole(text: str) -> None:
    beyond = "\u0416"
    assert fold(f"{text} {beyond}").removesuffix("\u0436").rstrip() == fold(text)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
@example("\u1fb3\u0345")
@example("\u03d2\u0301")
@example("\u0130\u0307")
@example("\u202e\u202e\u202ca")
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("Je te DÉTESTE!", "déteste", True),
        ("je te dé\u200bteste", "déteste", True),
        ("va   mou\u00adrir", "va mourir", True),
        ("détestable", "déteste", False),
        ("un con", "con", True),
        ("un concert", "con", False),
        ("du bacon", "con", False),
        ("वह कि है", "क", False),
        ("वह क है", "क", True),
        ("c.n", "con", False),
        ("n'importe quoi", "", False),
        ("n'importe quoi", "\u200b", False),
    ],
)
def test_a_phrase_is_found_as_whole_words_however_it_is_written(text: str, phrase: str, expected: bool) -> None:
    assert holds(text, phrase) is expected
