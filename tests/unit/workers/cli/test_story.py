"""A bubble in one line, for people who read along."""

import pytest

from schemas.http import CandidateOut
from workers.cli.story import told_by_runs, traced, worded


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


def test_the_runs_of_a_job_are_told_apart() -> None:
    note = {"kind": "note", "note": "coucou", "at": "2026-11-30T10:00:01Z"}
    two = [{**note, "run": "run_1"}, {**note, "run": "run_2", "note": "encore", "at": "2026-11-30T11:30:00Z"}]

    assert [line.text for line in told_by_runs(two)] == [
        "-- run 1 of 2 10:00:01",
        "  coucou",
        "-- run 2 of 2 11:30:00",
        "  encore",
    ]
    assert [line.text for line in told_by_runs(two[:1])] == ["  coucou"]


def test_what_the_rules_decided_is_told_a_line_each() -> None:
    item = {
        "kind": "note",
        "note": "strategy: sell applied",
        "rules": [
            {"rule": "sell", "outcome": "applied"},
            {"rule": "mute", "outcome": "dropped", "reason": "excluded by sell"},
        ],
        "required": ["send_payment"],
        "inject": ["One offer."],
        "intent": None,
    }

    assert [line.text for line in traced(item)] == [
        "  strategy: sell applied",
        "    rule sell applied",
        "    rule mute dropped: excluded by sell",
        "    must use: send_payment",
        "    told: One offer.",
    ]
