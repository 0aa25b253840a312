"""The catalogue of sentences, and the markup that may hold none of its own."""

import hashlib
import re
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

import workers.gateway.console as console
from schemas.errors import CODES
from schemas.ops import Cause
from workers.gateway.console.parameters import AGENT, CHATTING, CHATTING_OF_ALL, PERSONA
from workers.gateway.console.words import LANGUAGES, Words, catalogue, preferred

ROOT = Path(console.__file__).parent
TEMPLATES = sorted((ROOT / "templates").glob("*.html"))
SOURCES = [*TEMPLATES, *sorted(ROOT.glob("*.py"))]
HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""SHA-256 of htmx.min.js of the npm package htmx.org 2.0.11, 0BSD."""

NOT_WORDS = {"Replique", "replique", "ms", "PLAN", "html", "doctype", "utf", "v", "j", "k", "e", "s", "h", "x", "t"}
WORDY = re.compile(r"(?:title|alt|aria-label|placeholder)=\"([^\"]*)\"")


def named(key: str) -> set[str]:
    return {field for text in [key] for _, field, _, _ in string.Formatter().parse(text) if field}


def without_jinja(text: str) -> str:
    return re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", " ", text, flags=re.S)


def bare_words(template: str) -> set[str]:
    """Letters that a reader would see and that no catalogue holds."""
    rest = without_jinja(template)
    attributes = " ".join(WORDY.findall(rest))
    text = re.sub(r"<script.*?</script>|<style.*?</style>|<!doctype[^>]*>|<[^>]*>", " ", rest, flags=re.S)
    return set(re.findall(r"[^\W\d_]+", f"{attributes} {text}")) - NOT_WORDS


def test_every_language_says_the_same_things() -> None:
    keys = {language: set(catalogue(language)) for language in LANGUAGES}

    assert keys["fr"] == keys["en"]


def test_every_sentence_is_a_text_in_its_file() -> None:
    """Unquoted, `on` and `no` would be read as true and false."""

    def others(tree: Any) -> list[Any]:
        if isinstance(tree, dict):
            return [found for branch in tree.values() for found in others(branch)]
        return [] if isinstance(tree, str) else [tree]

    files = {name: yaml.safe_load((ROOT / "words" / f"{name}.yaml").read_text("utf-8")) for name in LANGUAGES}
    assert {name: others(tree) for name, tree in files.items()} == {name: [] for name in LANGUAGES}


def test_every_language_fills_in_the_same_facts() -> None:
    en, fr = catalogue("en"), catalogue("fr")

    assert {key for key in en if named(en[key]) != named(fr[key])} == set()


def test_nothing_is_left_in_the_other_language() -> None:
    en, fr = catalogue("en"), catalogue("fr")
    same = {key for key in en if en[key] == fr[key] and len(en[key].split()) > 2}

    assert same == {key for key in same if key.endswith(".command") or key in ("unit.moment", "late.newer")}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_words_of_its_own(path: Path) -> None:
    assert bare_words(path.read_text(encoding="utf-8")) == set()


def test_words_in_a_template_would_be_seen() -> None:
    assert bare_words('<p title="Hello">{{ t("x") }} there</p>') == {"Hello", "there"}


def test_every_sentence_that_is_asked_for_is_there() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    asked = set(re.findall(r"(?:\bt|\bwords)\(\s*\"([a-z_]+\.[\w.-]*\w)\"", text))

    assert len(asked) > 150
    assert asked - set(catalogue("en")) == set()


def test_codes_causes_and_parameters_have_words() -> None:
    known = set(catalogue("en"))
    wanted = {
        f"code.{code.value}.{part}" for code, facts in CODES.items() if facts.attention for part in ("what", "do")
    }
    wanted |= {f"cause.{cause.value}" for cause in Cause}
    wanted |= {f"parameter.{one.name}" for one in (*AGENT, *CHATTING, *CHATTING_OF_ALL, *PERSONA)}

    assert wanted - known == set()


def test_nothing_stands_inline() -> None:
    inline = re.compile(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)")

    assert {path.name for path in TEMPLATES if inline.search(path.read_text(encoding="utf-8"))} == set()


def test_htmx_is_the_file_that_was_looked_at() -> None:
    assert hashlib.sha256((ROOT / "static" / "htmx.min.js").read_bytes()).hexdigest() == HTMX


def test_numbers_and_money_as_each_language_writes_them() -> None:
    en, fr = Words("en"), Words("fr")

    assert (en.number(1234.5, 1), fr.number(1234.5, 1)) == ("1,234.5", "1\N{NARROW NO-BREAK SPACE}234,5")
    assert (en.money(2.5, "USD"), fr.money(2.5, "USD")) == ("$2.50", "2,50\N{NO-BREAK SPACE}$")
    assert (en.money(0.0123, "USD"), fr.percent(0.5)) == ("$0.0123", "50\N{NO-BREAK SPACE}%")
    assert (en.count("rules.looked", 0), fr.count("rules.looked", 0)) == (
        "0 replies looked at",
        "0 réponse examinée",
    )


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("fr-FR,fr;q=0.9,en;q=0.8", "fr"),
        ("de, fr;q=0.5", "fr"),
        ("en;q=0.4, fr;q=0.3", "en"),
        ("fr;q=x", "fr"),
    ],
)
def test_the_language_of_the_browser(header: str, language: str) -> None:
    assert preferred(header) == language
