"""A bubble in one line, for people who read along."""

import pytest

from schemas.http import CandidateOut
from workers.cli.story import worded


@pytest.mark.parametrize(
    ("text", "media", "line"),
    [
        ("coucou", [], "coucou"),
        ("", ["ph-1"], "[ph-1]"),
        ("pour toi", ["ph-1", "v-2"], "[ph-1] [v-2] pour toi"),
    ],
)
def test_what_a_bubble_shows_stands_before_its_words(text: str, media: list[str], line: str) -> None:
    shown = [{"id": name, "url": "https://cdn.example/x", "type": "photo"} for name in media]
    bubble = CandidateOut(id="bub_1", ordinal=0, kind="image", state="held", text=text, media=shown)

    assert worded(bubble) == line
