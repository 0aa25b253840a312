"""A document is cut where it changes its subject, and nothing of it is lost."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.memory.documents import LONGEST, MOST, config_of, passages

SENTENCE = "Le studio se trouve à Annecy, au bord du lac, et il est fermé le lundi. "


def bare(text: str) -> str:
    return "".join(text.split())


def test_each_paragraph_is_a_passage_and_a_heading_goes_with_what_follows() -> None:
    text = "# Livraison\n\nLes colis partent le vendredi.\n\n## Retours\n\nQuatorze jours.\n \nRien de plus."
    assert passages(text) == [
        "# Livraison\nLes colis partent le vendredi.",
        "## Retours\nQuatorze jours.",
        "Rien de plus.",
    ]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    cut = passages(SENTENCE * 20)
    assert all(len(piece) <= LONGEST.most and piece.endswith("lundi.") for piece in cut)
    assert "".join(f"{piece} " for piece in cut) == SENTENCE * 20


def test_a_text_of_very_many_lines_is_packed() -> None:
    text = "\n\n".join(f"Ligne {n}." for n in range(9_000))
    assert len(passages(text)) <= MOST
    assert bare("".join(passages(text))) == bare(text)


@given(st.text(st.sampled_from("aé. \n#!«»0"), max_size=3_000))
def test_nothing_is_lost_and_no_passage_is_blank(text: str) -> None:
    found = passages(text)
    assert bare("".join(found)) == bare(text)
    assert all(piece.strip() for piece in found)


def test_every_language_has_rules_for_its_words() -> None:
    assert [config_of(language) for language in ("fr", "fr-CA", "en-GB", "ja")] == [
        "french",
        "french",
        "english",
        "simple",
    ]
