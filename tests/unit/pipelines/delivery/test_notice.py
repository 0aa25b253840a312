"""When the notice is due, and in which words."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.delivery import notice
from schemas.resources import Disclosure

MARKED = notice.version_of("**An AI** writes {name}'s\r\nreplies")
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
        (Disclosure(profile="us_ny", repeat_hours=48), 3, True),
        (Disclosure(profile="us_ny", repeat_hours=1), 1, True),
    ],
)
def test_it_is_due_once_or_at_each_interval(disclosure: Disclosure, hours_ago: float | None, due: bool) -> None:
    noticed_at = None if hours_ago is None else NOW - timedelta(hours=hours_ago)

    assert notice.is_due(disclosure, noticed_at, NOW) is due


@pytest.mark.parametrize(
    ("texts", "languages", "words", "language", "version"),
    [
        ({}, ["fr-CA", "en"], "Les réponses de Maya sont écrites par un assistant IA.", "fr", "default-1"),
        ({}, [None, "de", "fr"], "Les réponses de Maya sont écrites par un assistant IA.", "fr", "default-1"),
        ({}, [None, None], "The replies of Maya are written by an AI assistant.", "en", "default-1"),
        ({"pt-BR": "Uma IA: {name}"}, ["pt-BR"], "Uma IA: Maya", "pt-br", notice.version_of("Uma IA: {name}")),
        ({"en": "{name} AI {x}"}, [], "Maya AI {x}", "en", notice.version_of("{name} AI {x}")),
        ({"en": "Welcome to {name}!"}, [], "The replies of Maya are written by an AI assistant.", "en", "default-1"),
        ({"en": "**An AI** writes {name}'s\r\nreplies"}, [], "An AI writes Maya's\nreplies", "en", MARKED),
        ({"en": " {name} \u3164"}, [], "The replies of Maya are written by an AI assistant.", "en", "default-1"),
    ],
)
def test_it_speaks_the_first_language_it_has_words_for(
    texts: dict[str, str], languages: list[str | None], words: str, language: str, version: str
) -> None:
    told = notice.worded(Disclosure(texts=texts), "Maya", languages)

    assert told == notice.Notice(words, language, version)


def test_the_version_of_an_own_text_changes_with_its_words_alone() -> None:
    versions = [notice.version_of(words) for words in ("Une IA.", "Une IA.", "Une IA !")]

    assert (versions[0] == versions[1], versions[0] == versions[2]) == (True, False)


@pytest.mark.parametrize(
    "words", ["", " ", "{name}", "…", "\u200b\u3164\u3164\u3164", "\u2800" * 9, "{name} 1 2 3", "IA"]
)
def test_words_that_no_reader_sees_say_nothing(words: str) -> None:
    assert not notice.says_something(words)
