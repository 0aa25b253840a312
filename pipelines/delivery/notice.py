"""The notice: before the first AI bubble, a contact is told that an AI writes the replies."""

from datetime import datetime, timedelta

from schemas.resources import Disclosure

TEXTS = {
    "en": "The replies of {name} are written by an AI assistant.",
    "fr": "Les réponses de {name} sont écrites par un assistant IA.",
}
"""By language. An organisation's own stand in `disclosure.texts`, keyed alike."""

REPEATS = {"us_ny": timedelta(hours=3)}
"""Profiles whose law wants the notice again after a while."""


def is_due(disclosure: Disclosure, noticed_at: datetime | None, now: datetime) -> bool:
    if not disclosure.notice:
        return False
    if noticed_at is None:
        return True
    repeat = _repeat(disclosure)
    return repeat is not None and now - noticed_at >= repeat


def text(disclosure: Disclosure, display_name: str, languages: list[str | None]) -> str:
    """In the first of `languages` that has a text, else in English. `fr-CA` is served by `fr`."""
    known = TEXTS | {tag.lower(): own for tag, own in disclosure.texts.items()}
    for language in languages:
        for tag in _from_exact_to_base(language):
            if tag in known:
                return known[tag].replace("{name}", display_name)
    return known["en"].replace("{name}", display_name)


def _repeat(disclosure: Disclosure) -> timedelta | None:
    if disclosure.repeat_hours is not None:
        return timedelta(hours=disclosure.repeat_hours)
    return REPEATS.get(disclosure.profile)


def _from_exact_to_base(language: str | None) -> list[str]:
    if language is None:
        return []
    exact = language.lower()
    return [exact, exact.split("-")[0]]
