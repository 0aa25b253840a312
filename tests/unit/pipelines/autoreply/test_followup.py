"""When the AI writes first, and for the last time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pipelines.autoreply import followup
from pipelines.autoreply.followup import Standing
from schemas.agent import TraceKind
from schemas.claims import JobState, NoFollowUp, NoJob
from schemas.conversation import Author, Case, FollowUp, Trigger
from schemas.decisions import Reply, Silence
from schemas.errors import Unavailable
from schemas.ids import ContactId
from tests.builders import NOON, a_case, a_turn
from tests.fakes import calling, done, sending
from tests.replies import FINE, stage

PARIS = ZoneInfo("Europe/Paris")
LEFT = (("leave_on_read", {"reason": "bonne nuit"}),)


def a_follow_up(number: int = 1, **fields: Any) -> Case:
    turns = (a_turn("coucou", answered=True), a_turn("salut", position=2, author=Author.AI))
    return a_case(turns=turns, trigger=Trigger.FOLLOW_UP, follow_up=FollowUp(number), **fields)


def at_night(clock: str, now: str) -> Case:
    """A contact in Paris who always writes at that time of night, and a persona that may write then."""
    moment = datetime.fromisoformat(f"2026-09-01T{clock}").replace(tzinfo=PARIS)
    return a_case(
        turns=(a_turn("encore debout", at=moment),),
        now=datetime.fromisoformat(now).astimezone(UTC),
        persona={"proactive_hours": "00:00-05:00"},
    )


@pytest.mark.parametrize(
    ("clock", "now", "expected"),
    [
        ("02:30", "2027-03-26T20:00+01:00", "2027-03-27T02:00+01:00"),
        ("02:30", "2027-03-27T20:00+01:00", "2027-03-28T03:00+02:00"),
        ("02:30", "2027-03-28T20:00+02:00", "2027-03-29T02:00+02:00"),
        ("02:30", "2026-10-23T20:00+02:00", "2026-10-24T02:00+02:00"),
        ("02:30", "2026-10-24T20:00+02:00", "2026-10-25T02:00+02:00"),
        ("02:30", "2026-10-25T02:00:01+02:00", "2026-10-26T02:00+01:00"),
        ("02:30", "2026-10-25T02:30+01:00", "2026-10-26T02:00+01:00"),
        ("03:10", "2027-03-27T20:00+01:00", "2027-03-28T03:00+02:00"),
        ("01:10", "2026-10-24T20:00+02:00", "2026-10-25T01:00+02:00"),
    ],
)
async def test_across_the_sundays_on_which_the_clocks_change(clock: str, now: str, expected: str) -> None:
    planned = await followup.next_time(at_night(clock, now), None)

    assert planned is not None
    assert planned.astimezone(PARIS).isoformat(timespec="minutes") == expected


@pytest.mark.parametrize("first", ["2027-03-24T12:00+01:00", "2026-10-21T12:00+02:00"], ids=["march", "october"])
async def test_each_day_has_one_follow_up_at_a_time_that_its_clock_shows(first: str) -> None:
    now, planned = datetime.fromisoformat(first), []
    for _ in range(8):
        moment = await followup.next_time(at_night("02:30", now.isoformat()), None)
        assert moment is not None
        assert followup.postponed("00:00-05:00", moment, "Europe/Paris") is None
        planned.append(moment.astimezone(PARIS))
        now = moment + timedelta(seconds=1)

    assert [(later.date() - day.date()).days for day, later in pairwise(planned)] == [1] * 7
    assert {moment.astimezone(UTC).astimezone(PARIS) == moment for moment in planned} == {True}
    assert {f"{moment:%H:%M}" for moment in planned} <= {"02:00", "03:00"}


async def test_a_follow_up_that_is_written_plans_the_second() -> None:
    on = stage(sending("tu vas bien ?"), done())

    decision = await on.run(a_follow_up())

    assert isinstance(decision, Reply)
    assert decision.follow_up_at == datetime(2026, 12, 1, 11, 0, tzinfo=UTC)


@dataclass
class Remembered:
    """A contact's habits, and how often somebody has asked for them."""

    at: Sequence[datetime] | None = ()
    asked: list[ContactId] = field(default_factory=list)

    async def written(self, contact: ContactId) -> Sequence[datetime]:
        self.asked.append(contact)
        if self.at is None:
            raise Unavailable("the database is away")
        return self.at


EVENING = [NOON.replace(hour=19, minute=30) - timedelta(days=n) for n in range(1, 4)]


@pytest.mark.parametrize(
    ("remembered", "hour"),
    [(EVENING, 19), ([], 11), (None, 11)],
    ids=["long before the window", "nothing is known", "nobody can be asked"],
)
async def test_the_hour_is_that_of_all_that_the_contact_wrote(remembered: list[datetime] | None, hour: int) -> None:
    on, habits = stage(calling(*LEFT)), Remembered(remembered)
    on.pipeline.habits = habits

    silence = await on.run(a_case("coucou"))

    assert isinstance(silence, Silence)
    assert silence.follow_up_at is not None
    assert silence.follow_up_at.hour == hour
    assert habits.asked == [1]


async def test_a_reply_that_plans_nothing_looks_nothing_up() -> None:
    reply, last = stage(sending("salut"), done()), stage(calling(*LEFT))
    reply.pipeline.habits = last.pipeline.habits = habits = Remembered(EVENING)

    await reply.run()
    await last.run(a_follow_up(2))

    assert habits.asked == []


async def test_the_second_is_the_last() -> None:
    written, left = stage(sending("tu vas bien ?"), done()), stage(calling(*LEFT))

    reply, silence = await written.run(a_follow_up(2)), await left.run(a_follow_up(2))

    assert isinstance(reply, Reply)
    assert isinstance(silence, Silence)
    assert (reply.follow_up_at, silence.follow_up_at) == (None, None)
    assert left.trace(silence, TraceKind.NOTE) == [
        {"note": "the contact is left on seen", "follow_up_at": None, "reason": "bonne nuit"}
    ]


async def test_an_answer_plans_nothing() -> None:
    decision = await stage(sending("tu vas bien ?"), done()).run()

    assert isinstance(decision, Reply)
    assert decision.follow_up_at is None


async def test_who_was_left_on_seen_before_is_not_told_again() -> None:
    silence = await stage(calling(*LEFT)).run(a_follow_up())

    assert isinstance(silence, Silence)
    assert (silence.read, silence.follow_up_at) == (False, datetime(2026, 12, 1, 11, 0, tzinfo=UTC))


async def test_the_reviewer_knows_that_nobody_wrote() -> None:
    on = stage(sending("tu vas bien ?"), done(), reviews=(FINE,))

    await on.run(a_follow_up())

    (question,) = on.heard[-1].messages
    assert question.blocks[0].text.endswith(  # type: ignore[union-attr]
        "The contact has not written since: this reply writes first, as it was planned."
    )


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (Standing(None, JobState.SILENT, 0), None),
        (Standing(None, JobState.SENT, 1), None),
        (Standing(None, JobState.SENT, 2), NoFollowUp.UNANSWERED),
        (Standing(None, JobState.HELD, 0), NoFollowUp.ON_ITS_WAY),
        (Standing(None, JobState.QUEUED, 0), NoFollowUp.ON_ITS_WAY),
        (Standing(None, JobState.CANCELLED, 0), NoFollowUp.CANCELLED),
        (Standing(None, JobState.FAILED, 0), NoFollowUp.FAILED),
        (Standing(NoJob.OPTED_OUT, JobState.HELD, 2), NoJob.OPTED_OUT),
    ],
)
def test_why_it_is_dropped(standing: Standing, expected: object) -> None:
    assert followup.dropped(standing) is expected


@pytest.mark.parametrize(
    ("hours", "expected"),
    [("09:00-21:00", None), ("13:00-21:00", datetime(2026, 11, 30, 12, 0, tzinfo=UTC))],
)
def test_outside_of_the_hours_it_waits_for_them(hours: str, expected: datetime | None) -> None:
    assert followup.postponed(hours, NOON, None, "Europe/Paris") == expected


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        (NOON + timedelta(hours=1), NOON + timedelta(hours=1)),
        (NOON - timedelta(minutes=1), NOON + timedelta(days=1, minutes=-1)),
        (NOON - timedelta(days=40, minutes=1), NOON + timedelta(minutes=59)),
    ],
    ids=["ahead", "passed", "passed in summer"],
)
def test_an_hour_that_has_passed_comes_again(planned: datetime, expected: datetime) -> None:
    assert followup.renewed(planned, NOON, "Europe/Paris") == expected
