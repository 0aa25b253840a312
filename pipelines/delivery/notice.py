"""The notice: before the first AI bubble, a contact is told that an AI writes the replies."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from pipelines.honesty.disclosing import discloses
from pipelines.text import clean, fold, rendered
from schemas.resources import Disclosure

TEXTS = {
    "en": "The replies of {name} are written by an AI assistant.",
    "fr": "Les réponses de {name} sont écrites par un assistant IA.",
}
"""By language. An organisation's own stand in `disclosure.texts`, keyed alike."""

DEFAULT_VERSION = "default-1"
"""Of TEXTS: goes up with every change of their words, so that the log says which ones a contact was shown."""

FEWEST_LETTERS = 3
NAME = "{name}"

REPEATS = {"us_ny": timedelta(hours=3)}
"""Profiles whose law wants the notice again after a while."""


def is_due(disclosure: Disclosure, noticed_at: datetime | None, now: datetime) -> bool:
    if not disclosure.notice:
        return False
    if noticed_at is None:
        return True
    repeat = _repeat(disclosure)
    return repeat is not None and now - noticed_at >= repeat


@dataclass(frozen=True, slots=True)
class Notice:
    """The words a contact is shown, in which language, and which version of them it is."""

    text: str
    language: str
    version: str


def worded(disclosure: Disclosure, display_name: str, languages: list[str | None]) -> Notice:
    """In the first of `languages` that has a text, else in English. `fr-CA` is served by `fr`."""
    own = {tag.lower(): words for tag, words in disclosure.texts.items() if tells(words, tag)}
    known = TEXTS | own
    tags = (tag for language in languages for tag in _from_exact_to_base(language))
    tag = next((tag for tag in tags if tag in known), "en")
    version = version_of(own[tag]) if tag in own else DEFAULT_VERSION
    return Notice(shown(known[tag], display_name), tag, version)


def shown(words: str, display_name: str) -> str:
    return rendered(words).replace(NAME, clean(display_name))


def version_of(words: str) -> str:
    """Of an own text: made from its words, so that it changes with them and with nothing else of the persona."""
    return f"own-{sha256(words.encode()).hexdigest()[:12]}"


def says_something(words: str) -> bool:
    """Whether a reader sees letters besides the persona's name."""
    return sum(letter.isalpha() for letter in fold(words.replace(NAME, " "))) >= FEWEST_LETTERS


def tells(words: str, language: str) -> bool:
    """Whether it is a notice at all. One that was kept before this was asked for is not shown."""
    return says_something(words) and discloses(words, language)


def _repeat(disclosure: Disclosure) -> timedelta | None:
    """The shorter of the persona's own interval and its profile's: what a law asks for is not stretched by a number."""
    law = REPEATS.get(disclosure.profile)
    own = None if disclosure.repeat_hours is None else timedelta(hours=disclosure.repeat_hours)
    return min((each for each in (law, own) if each is not None), default=None)


def _from_exact_to_base(language: str | None) -> list[str]:
    if language is None:
        return []
    exact = language.lower()
    return [exact, exact.split("-")[0]]
