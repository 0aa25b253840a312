"""Does a chat without markup show what was meant?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.text import rendered

EMPHASIS = {
    "Coucou **toi** 😘": "Coucou toi 😘",
    "C'est *vraiment* bien, _vraiment_": "C'est vraiment bien, vraiment",
    "***tout*** **_mixte_** _**autre**_ ***a** b*": "tout mixte autre a b",
    '**"Bonjour"**à toi': '"Bonjour"à toi',
    "(**gras**) « *italique* »": "(gras) « italique »",
    "**gras\nsur deux** lignes": "gras\nsur deux lignes",
    "**😘** encore": "😘 encore",
    "**مهم** جدا: *نعم*": "مهم جدا: نعم",
    "**שלום** _עולם_": "שלום עולם",
    "यह **ज़रूरी** है": "यह ज़रूरी है",
    "这是**重要**的": "这是重要的",
    "**Note:** *Really*, don't.": "Note: Really, don't.",
}

ACTIONS = {
    "*rire* t'es bête": "*rire* t'es bête",
    "mdr *rire*": "mdr *rire*",
    "t'es bête ! *elle te pousse*": "t'es bête ! *elle te pousse*",
    "*je souris* 😊 *et je pars*": "*je souris* 😊 *et je pars*",
    "*Smiles* hey you": "*Smiles* hey you",
    "*Vraiment* ?": "Vraiment ?",
    "*remarque* : il pleut": "remarque : il pleut",
}

NOT_MARKDOWN = [
    *("5 * 3 = 15 et 2*4*8", "5 *3 et 4* 2", "2 ** 3 ** 4", "10€* … *hors frais", "* hors frais", "* rire * t'es bête"),
    *(
        "snake_case_name",
        "f**k this sh**t",
        "p*tain de m*rde",
        "sale *m*rde",
        "*…* **!**",
        "^_^ *_* T_T -_- >_< o_O (*_*)",
        "*_* salut *_*",
    ),
    *("prix : ~~50~~ 40 €", "~5 € ~ 6 €", "<3 tu me manques", "a < b > c", "#hashtag", "+ 5 € de frais", "> 18 ans"),
    *("AT&T &foo; a&b", "C:\\Users", "[x]", "[a][1] [vide]()", "1986. Une année", "**a* b", "salut*", "***", "---"),
    *(
        "```\npas fermé",
        "a | b",
        "a | b | c\n--|--",
        "| seul |",
        "",
        "- un\n- deux\n  - trois",
        "1. un\n2) deux",
        "- [ ] à faire",
    ),
]

ADDRESSES = [
    "voir https://ex.fr/a_b_c*d*~e et www.ex.fr/_x_y_",
    "http://ex.fr/?a=1&copy=2&amp;b",
    "(voir https://ex.fr/a_(b)).",
    "https://ex.fr/~moi/**x**/fin",
    "_x https://ex.fr/(a_)",
]

BLOCKS = {
    "# Titre **gras** #\ntexte": "Titre gras\ntexte",
    "Titre\n===\ntexte": "Titre\ntexte",
    "Avant\n\n---\n\nAprès": "Avant\n\nAprès",
    "* **un**\n* deux\n  * trois": "- un\n- deux\n  - trois",
    "- *ananas* : 3 €\n1. **kiwi** : 2 €": "- ananas : 3 €\n1. kiwi : 2 €",
    "a  \nb\\\nc": "a\nb\nc",
    "```py\nx = a*b*c  # **non**\n```\nfin": "x = a*b*c  # **non**\nfin",
    "~~~\n```\n~~~": "```",
    "| Nom | Prix |\n|---|:-:|\n| **Duo** | 20 € |\n| A \\| B | |\nfin": "- Nom: Duo, Prix: 20 €\n- Nom: A | B\nfin",
    "a | b\n--|--\n1 | 2": "- a: 1, b: 2",
    "| a | b |\n|---|---|": "a, b",
    "\n\nseul\n\n": "seul",
    "un\r# Titre": "un\nTitre",
}

SPANS = {
    "[ma **photo**](https://ex.fr/a_b_(c)_d)": "ma photo (https://ex.fr/a_b_(c)_d)",
    "[https://ex.fr](https://ex.fr/)": "https://ex.fr/",
    '![chat](<https://ex.fr/i j.png> "titre")': "chat (https://ex.fr/i j.png)",
    "<https://ex.fr/a_b> <moi@ex.fr> [moi](mailto:moi@ex.fr)": "https://ex.fr/a_b moi@ex.fr moi (moi@ex.fr)",
    "**https://ex.fr/a_b** et _https://ex.fr/x_": "https://ex.fr/a_b et https://ex.fr/x",
    "`code *x*` et ``a`b`` et `` ` ``": "code *x* et a`b et `",
    "\\*pas gras\\* 1\\. \\_x\\_": "*pas gras* 1. _x_",
    "R&amp;D &eacute;t&eacute; &lt;3 &#128536;&#x1F618; &#0;": "R&D été <3 😘😘 \ufffd",
    "¯\\_(ツ)_/¯ ¯\\\\\\_(ツ)\\_/¯": "¯\\_(ツ)_/¯ ¯\\_(ツ)_/¯",
    "un\r\n**de\x00ux**": "un\ndeux",
}


@pytest.mark.parametrize(("text", "shown"), (EMPHASIS | BLOCKS | SPANS).items(), ids=ascii)
def test_marks_go_and_words_stay(text: str, shown: str) -> None:
    assert rendered(text) == shown


@pytest.mark.parametrize(("text", "shown"), ACTIONS.items(), ids=ascii)
def test_an_action_keeps_its_stars_and_stress_does_not(text: str, shown: str) -> None:
    assert rendered(text) == shown


@pytest.mark.parametrize("text", NOT_MARKDOWN + ADDRESSES, ids=ascii)
def test_what_is_no_markdown_is_left_alone(text: str) -> None:
    assert rendered(text) == text


WORDS = ("bon", "jour", "é", "2", "3", "😘", "मैं", "^_^")
MARKS = ("*", "**", "***", "_", "__", "~~", "#", "-", "1.", ">", "(", ")", "---", "* ", "- ", "+", "=", "«", "»", "'")
SPACES = (" ", " ", " ", "\n", "\n\n", "!", ". ", ":")
LINES = st.lists(st.sampled_from((*WORDS, *MARKS, *SPACES)), max_size=40).map("".join)


@given(LINES)
def test_no_letter_digit_or_emoji_is_lost(text: str) -> None:
    assert [char for char in rendered(text) if char.isalnum() or char == "😘"] == [
        char for char in text if char.isalnum() or char == "😘"
    ]


@given(st.text(max_size=60))
def test_something_never_becomes_nothing(text: str) -> None:
    assert bool(rendered(f"a{text}")) is True


@given(LINES, st.sampled_from(["https://ex.fr/a_b_c", "http://ex.fr/*x*/~y", "www.ex.fr/_?q=a*b"]), LINES)
def test_an_address_arrives_whole(before: str, address: str, after: str) -> None:
    assert address in rendered(f"{before} {address} {after}")


def test_a_table_that_its_headings_would_multiply_stays_as_it_is() -> None:
    table = f"| {'a' * 1000} |\n| - |\n" + "| b |\n" * 1000

    assert rendered(table) == table.strip()
