"""In which language the reply should be: the persona's own, else the contact's last clear one."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.text import KNOWN_LANGUAGES, clear_language
from schemas.conversation import Author, Case

FEWEST_WORDS = 5
"""A shorter bubble may borrow all its words."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """`tag` as `fr` or `fr-CA`. Not `sure`: the contact has never written clearly, their app says so."""

    tag: str
    sure: bool

    @property
    def base(self) -> str:
        return self.tag.split("-")[0]


def wanted(case: Case) -> Wanted | None:
    """None: nobody knows."""
    pin, locale = case.persona.spec.language, case.contact.locale
    if pin is not None:
        return Wanted(pin, True)
    heard = (clear_language(turn.text) for turn in reversed(case.turns) if turn.author is Author.CONTACT)
    spoken = next((language for language in heard if language is not None), None)
    if spoken is None:
        return None if locale is None else Wanted(locale, False)
    return Wanted(locale if locale is not None and locale.split("-")[0] == spoken else spoken, True)


def in_another(texts: Sequence[str], language: Wanted | None) -> int | None:
    """The first text that is clearly in another language; None when none is, or nobody is sure of the one wanted."""
    if language is None or not language.sure or language.base not in KNOWN_LANGUAGES:
        return None
    for n, text in enumerate(texts):
        spoken = clear_language(text) if len(text.split()) >= FEWEST_WORDS else None
        if spoken is not None and spoken != language.base:
            return n
    return None
