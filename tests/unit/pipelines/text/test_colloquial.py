"""Chat spelling as a grammar would write it, and words that only look like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.text import spoken, spoken_each


@pytest.mark.parametrize(
    ("text", "proper"),
    [
        ("jsuis pas un bot", "je suis pas un bot"),
        ("Chui crevé", "je suis creve"),
        ("chuiiis 🤖 pas un booot", "je suis pas un bot"),
        ("jveux, j'te mets, jpeux", "je veux, je te mets, je peux"),
        ("jai plus dargent", "j'ai plus d'argent"),
        ("jtai mis un mot", "je t'ai mis un mot"),
        ("jen ai 15, g 15", "j'en ai 15, j'ai 15"),
        ("arrrête de mecrire", "arrete de m'ecrire"),
        ("tes un bot ? t reel ?", "t'es un bot ? t'es reel ?"),
        ("c est vrai, cest vrai, y'a rien", "c'est vrai, c'est vrai, y a rien"),
        ("i aint, isnt, youre, im", "i ain't, isn't, you're, i'm"),
        ("b\u200bo\u200bt", "bot"),
        ("j'ai 15 🥺 ans", "j'ai 15 ans"),
    ],
)
def test_it_is_undone(text: str, proper: str) -> None:
    assert spoken(text) == proper
    assert spoken(proper) == proper


@pytest.mark.parametrize(
    "text",
    ["tes photos", "decris la", "la fille dont je parle", "jeudi, janvier, jamais, jour", "c'est cuit", "stop 🛑",
     "www.maya.fr", "mais, mai", "ete", "menage", "il m'aime"],
)  # fmt: skip
def test_what_is_a_word_of_its_own_stays(text: str) -> None:
    assert spoken(text) == text


PIECES = [
    "j ",
    "tes ",
    "un bot",
    "im",
    "nt",
    "a",
    "g ",
    "15 ans",
    " ",
    "\u202e",
    "😅",
    "\u0301",
    "É",
    "\ue000",
    "\ue001",
    "ooo",
    ".",
]


@given(st.lists(st.lists(st.sampled_from(PIECES)).map("".join)))
def test_many_at_once_are_as_each_by_itself(texts: list[str]) -> None:
    alone = [spoken(text).replace("\ue000", "\ue001") for text in texts]

    assert [text.replace("\ue000", "\ue001") for text in spoken_each(texts)] == alone
