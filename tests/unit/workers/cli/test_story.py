"""A bubble in one line, for people who read along."""

import pytest

from schemas.http import CandidateOut, UsageOut
from workers.cli.story import cost, told_by_runs, traced, worded


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


def test_the_plan_that_was_read_is_told_in_one_line() -> None:
    item = {"kind": "note", "note": "the plan from last time was read", "plan": "parler de Lyon\npuis du chien"}

    assert [line.text for line in traced(item)] == ["  [PLAN] parler de Lyon puis du chien"]


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (1, "1 model call, $0.001000; 0 % of 1 input token from the cache, 1 token out"),
        (2, "2 model calls, $0.001000; 0 % of 2 input tokens from the cache, 2 tokens out"),
    ],
)
def test_one_is_told_as_one(calls: int, told: str) -> None:
    assert cost(UsageOut(calls=calls, input=calls, output=calls, cost_usd="0.001")) == told
