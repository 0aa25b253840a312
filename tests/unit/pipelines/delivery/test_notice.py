"""When the notice is due, and in which words."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.delivery import notice
from schemas.resources import Disclosure

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("disclosure", "hours_ago", "due"),
    [
        (Disclosure(), None, True),
        (Disclosure(), 10_000, False),
        (Disclosure(notice=False), None, False),
        (Disclosure(repeat_hours=24), 23.9, False),
        (Disclosure(repeat_hours=24), 24, True),
        (Disclosure(profile="us_ny"), 2.9, False),
        (Disclosure(profile="us_ny"), 3, True),
        (Disclosure(profile="us_ny", repeat_hours=48), 3, False),
    ],
)
def test_it_is_due_once_or_at_each_interval(disclosure: Disclosure, hours_ago: float | None, due: bool) -> None:
    noticed_at = None if hours_ago is None else NOW - timedelta(hours=hours_ago)

    assert notice.is_due(disclosure, noticed_at, NOW) is due


@pytest.mark.parametrize(
    ("texts", "languages", "words"),
    [
        ({}, ["fr-CA", "en"], "Les réponses de Maya sont écrites par un assistant IA."),
        ({}, [None, "de", "fr"], "Les réponses de Maya sont écrites par un assistant IA."),
        ({}, [None, None], "The replies of Maya are written by an AI assistant."),
        ({"pt-BR": "IA: {name}"}, ["pt-BR"], "IA: Maya"),
        ({"en": "{name} {other}"}, [], "Maya {other}"),
    ],
)
def test_it_speaks_the_first_language_it_has_words_for(
    texts: dict[str, str], languages: list[str | None], words: str
) -> None:
    assert notice.text(Disclosure(texts=texts), "Maya", languages) == words
