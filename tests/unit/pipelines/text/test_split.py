"""Is a long text cut where a reader pauses, with nothing lost?"""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipelines.text import LIMITS, Limit, Unit, graphemes, split
from schemas.channels import Channel

FAMILY = "👩‍❤️‍💋‍👨"

CUTS = [
    ("Bonjour M. Dupont. Ça va ?", 20, ["Bonjour M. Dupont.", "Ça va ?"]),
    ("« Oui ! » Elle rit. « Non. »", 20, ["« Oui ! » Elle rit.", "« Non. »"]),
    ("Dit-il « oui ! » avec joie ? Non.", 28, ["Dit-il « oui ! » avec joie ?", "Non."]),
    ("Dit-il « oui ! » avec joie ? Non.", 22, ["Dit-il « oui ! » avec", "joie ? Non."]),
    ("Ah bon ! Je… ne sais pas, moi.", 24, ["Ah bon !", "Je… ne sais pas, moi."]),
    ("Ok. Voir p. ex. le n. 3, etc. mais bon.", 36, ["Ok.", "Voir p. ex. le n. 3, etc. mais bon."]),
    ("J'aime l'art. Et mon ex. Non ?", 28, ["J'aime l'art. Et mon ex.", "Non ?"]),
    ("Hi. I like fruit, e.g. Apples. Bye", 30, ["Hi. I like fruit, e.g. Apples.", "Bye"]),
    ("Met J. Smith. He left... Odd.", 22, ["Met J. Smith.", "He left... Odd."]),
    ("1. Un\n2. Deux\n3. Trois", 15, ["1. Un\n2. Deux", "3. Trois"]),
    ("2. Un deux trois", 8, ["2. Un", "deux", "trois"]),
    ("Salut ! 😘😘 Tu viens ?", 14, ["Salut ! 😘😘", "Tu viens ?"]),
    ("ça coûte 3.50 euros. ok", 20, ["ça coûte 3.50 euros.", "ok"]),
    ("salut toi. tu fais quoi", 18, ["salut toi.", "tu fais quoi"]),
    ("un deux trois quatre", 10, ["un deux", "trois", "quatre"]),
    ("mais pourquoi pas ?", 18, ["mais pourquoi", "pas ?"]),
    ("voilà 100\u00a0000 €", 12, ["voilà", "100\u00a0000 €"]),
    ("कैसे हो? मैं ठीक हूँ। तुम बताओ", 12, ["कैसे हो?", "मैं ठीक हूँ।", "तुम बताओ"]),
    ("كيف حالك؟ أنا بخير. شكرا", 20, ["كيف حالك؟ أنا بخير.", "شكرا"]),
    ("שלום. מה שלומך? טוב", 16, ["שלום. מה שלומך?", "טוב"]),
    ("今天很好。明天呢？好的！", 8, ["今天很好。", "明天呢？好的！"]),
    ("regarde:https://ex.fr/abcdefgh", 24, ["regarde:", "https://ex.fr/abcdefgh"]),
    ("https://ex.fr/abcdefghijkl", 14, ["https://ex.fr/", "abcdefghijkl"]),
    ("看https://ex.fr/？a。b c", 20, ["看https://ex.fr/？a。b", "c"]),
    (f"{FAMILY * 3}", 4, [f"{FAMILY * 3}"]),
    ("   \n  ", 4, []),
]


@pytest.mark.parametrize(("text", "most", "pieces"), CUTS, ids=[ascii(cut[0]) for cut in CUTS])
def test_a_text_is_cut_where_a_reader_pauses(text: str, most: int, pieces: list[str]) -> None:
    assert split(text, Limit(most, Unit.GRAPHEME)) == pieces


def test_a_text_that_fits_is_left_as_it_is() -> None:
    assert split("  ça va ?\n", LIMITS[Channel.WEBHOOK]) == ["  ça va ?\n"]


def test_a_limit_counts_what_the_channel_counts() -> None:
    assert {unit: Limit(10, unit).size(f"é{FAMILY}") for unit in Unit} == {
        Unit.GRAPHEME: 2,
        Unit.CODE_POINT: 9,
        Unit.UTF16: 12,
        Unit.BYTE: 29,
    }


def test_no_character_is_cut_while_it_fits() -> None:
    assert split(FAMILY * 3, Limit(23)) == [FAMILY * 2, FAMILY]


def test_a_character_longer_than_the_limit_is_cut_rather_than_refused() -> None:
    assert split("a" + "\u0301" * 5 + "b", Limit(4)) == ["a\u0301\u0301\u0301", "\u0301\u0301b"]


def test_a_limit_too_small_for_any_character_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 4"):
        Limit(3)


SAID = ("oui", "non", "Léo", "M.", "etc.", "!", "?", "…", "...", "«", "»", ".", "。", "क्षि", "स्त्री", "שָׁלוֹם", "مَرْحَبًا")
SPACES = (" ", " ", " ", "\u00a0", "\u202f", "\n", "\t")
SHOWN = ("👍🏽", "🇫🇷", FAMILY, "e\u0301", "\u0301", "\u200d", "\ufe0f", "1️⃣")
LINKS = ("https://ex.fr/a_b", "(https://ex.fr/b)", "www.ex.fr/？c。d")
WORDS = st.sampled_from((*SAID, *SPACES, *SHOWN, *LINKS))
TEXTS = st.one_of(st.lists(WORDS, max_size=60).map("".join), st.text(max_size=80))
LIMITED = st.builds(Limit, st.integers(min_value=4, max_value=60), st.sampled_from(Unit))


def without_blanks(text: str) -> str:
    return "".join(text.split())


def cuts(text: str, pieces: list[str]) -> list[tuple[int, int]]:
    """Where each piece stands in the text, found in order with nothing but white space between."""
    found, position = [], 0
    for piece in pieces:
        begin = text.index(piece, position)
        found.append((begin, begin + len(piece)))
        position = begin + len(piece)
    return found


@given(TEXTS, LIMITED)
def test_every_piece_fits_and_only_white_space_at_the_cuts_is_lost(text: str, limit: Limit) -> None:
    pieces = split(text, limit)

    edges = [0, *(edge for piece in cuts(text, pieces) for edge in piece), len(text)]
    lost = [text[end:begin] for end, begin in zip(edges[::2], edges[1::2], strict=True)]
    assert [piece for piece in pieces if limit.size(piece) > limit.most] == []
    assert [gap for gap in lost if gap.strip()] == []
    assert without_blanks("".join(pieces)) == without_blanks(text)


@given(TEXTS, LIMITED)
def test_no_cut_falls_inside_a_character_that_fits(text: str, limit: Limit) -> None:
    clusters = graphemes(text)
    assume(all(limit.size(cluster) <= limit.most for cluster in clusters))

    assert [cluster for piece in split(text, limit) for cluster in graphemes(piece) if not cluster.isspace()] == [
        cluster for cluster in clusters if not cluster.isspace()
    ]


@given(st.lists(WORDS, max_size=20).map("".join), st.integers(min_value=21, max_value=40))
def test_an_address_that_fits_arrives_in_one_piece(words: str, most: int) -> None:
    address = "https://ex.fr/a_b,c?d=e"[:most]
    text = f"{words} {address} {words}"

    assert any(address in piece for piece in split(text, Limit(most)))


@given(TEXTS, LIMITED)
def test_pieces_need_no_further_cut(text: str, limit: Limit) -> None:
    pieces = split(text, limit)

    assert [part for piece in pieces for part in split(piece, limit)] == pieces
