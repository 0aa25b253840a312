"""Values for tests: name what matters, default the rest."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.agent import Resume, SavedStep
from schemas.conversation import Author, Case, Contact, Organization, Persona, Trigger, Turn
from schemas.ids import CandidateId, ContactId, ConversationId, JobId, OrgId, PersonaId, RunId
from schemas.resources import OrganizationSpec, PersonaSpec
from schemas.settings import Settings, read_settings

NOON = datetime(2026, 11, 30, 11, 0, tzinfo=UTC)
"""Midday in Paris."""


def settings(**environ: str) -> Settings:
    return read_settings({"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", **environ})


def a_turn(
    text: str = "coucou",
    *,
    position: int = 1,
    author: Author = Author.CONTACT,
    answered: bool = False,
    candidate: int | None = None,
    at: datetime = NOON,
    **fields: Any,
) -> Turn:
    ours = candidate is None and author is Author.AI
    candidate = 1000 + position if ours else candidate
    return Turn(
        position,
        author,
        text,
        at,
        candidate=None if candidate is None else CandidateId(candidate),
        answered=answered or author is not Author.CONTACT,
        **fields,
    )


def dialogue(
    *pairs: tuple[str, str], newest: Sequence[str] = ("et toi ?",), start: datetime = NOON
) -> tuple[Turn, ...]:
    """Answered pairs (theirs, ours), then messages that wait for a reply; a minute between any two."""
    spoken = [
        (author, text) for theirs, ours in pairs for author, text in ((Author.CONTACT, theirs), (Author.AI, ours))
    ]
    waiting = [(Author.CONTACT, text) for text in newest]
    return tuple(
        a_turn(
            text,
            position=n,
            author=author,
            answered=n <= len(spoken),
            at=start + timedelta(minutes=n),
        )
        for n, (author, text) in enumerate([*spoken, *waiting], 1)
    )


def a_case(
    *said: str,
    turns: Sequence[Turn] | None = None,
    persona: dict[str, Any] | None = None,
    organization: dict[str, Any] | None = None,
    contact: dict[str, Any] | None = None,
    now: datetime = NOON + timedelta(hours=1),
    trigger: Trigger = Trigger.MESSAGE,
    **fields: Any,
) -> Case:
    """One conversation; `said` are the contact's unanswered messages."""
    if turns is None:
        turns = dialogue(newest=said or ("coucou",))
    return Case(
        now=now,
        organization=Organization(OrgId(1), "acme", OrganizationSpec(**(organization or {}))),
        persona=Persona(PersonaId(1), "maya", PersonaSpec(**{"display_name": "Maya", **(persona or {})})),
        contact=Contact(
            ContactId(1),
            "fan-7",
            **{"display_name": "Léo", "locale": "fr", "timezone": "Europe/Paris", **(contact or {})},
        ),
        conversation=ConversationId(1),
        conversation_name="c-12",
        job=JobId(1),
        trigger=trigger,
        turns=tuple(turns),
        **fields,
    )


def a_resume(*steps: SavedStep, fence: int = 1, active_seconds: float = 0.0, run: int = 7) -> Resume:
    return Resume(RunId(run), fence, steps, active_seconds)
