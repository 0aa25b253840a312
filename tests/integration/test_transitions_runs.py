"""A reply worker's life: claim, save, overtaken, pinned, lost, parked, given back, poison; and what it cost."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from schemas.agent import Kept, SavedStep, TraceItem, TraceKind
from schemas.claims import Accepted, Claim, Ended, JobState, Lost, MustBeAlone, Requeued, Unknown
from schemas.conversation import Author, Trigger
from schemas.decisions import Failure, Parked, Stopped
from schemas.errors import Code, FailureKind
from schemas.jobs import AutoReply
from schemas.llm import Task
from tests.builders_storage import Storage, a_call, a_reply, a_reservation, a_step, a_storage

SLOW = {"debounce": {"quiet_seconds": 8, "max_wait_seconds": 45}}


async def ledger(storage: Storage) -> list[tuple[str, str, Decimal | None, bool]]:
    """(call, state, cost, discarded), by call."""
    rows = await storage.rows("SELECT call, state, cost_usd, discarded FROM ledger ORDER BY call")
    return [tuple(row.values()) for row in rows]


async def job_facts(storage: Storage) -> dict[str, Any]:
    return await storage.row("SELECT state, inbound_seq, fence, claims, crashes, restarts, pinned FROM jobs")


async def runs(storage: Storage) -> list[tuple[int, str | None]]:
    return [tuple(r.values()) for r in await storage.rows("SELECT inbound_seq, outcome FROM runs ORDER BY id")]


async def thinking(storage: Storage, calls: int = 1) -> Claim:
    """A claimed job that has saved `calls - 1` steps and reserved the next call."""
    claim = await storage.claim()
    await storage.transitions.save_step(claim, None, a_reservation(claim))
    for n in range(1, calls):
        await storage.transitions.save_step(claim, a_step(claim, n), a_reservation(claim, n + 1))
    return claim


async def test_a_claim_takes_the_newest_count_a_lease_and_a_new_run(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.say("m-2", text="tu es là ?")
        await storage.make_due()

        claim = await storage.claim()

        row = await storage.row(
            "SELECT state, inbound_seq, fence, claims, crashes, leased_by, due_at,"
            " lease_until BETWEEN clock_timestamp() + interval '14 s' AND clock_timestamp() + interval '15 s' AS leased"
            " FROM jobs"
        )
        assert row == {
            "state": "running",
            "inbound_seq": 2,
            "fence": 1,
            "claims": 1,
            "crashes": 1,
            "leased_by": "tests",
            "due_at": None,
            "leased": True,
        }
        assert (claim.fence, claim.resume.steps, claim.case.trigger) == (1, (), Trigger.MESSAGE)
        assert [(turn.text, turn.answered) for turn in claim.case.turns] == [("coucou", False), ("tu es là ?", False)]


async def test_a_step_that_is_handed_in_again_is_one_step(database_url: str) -> None:
    """The answer to the first time was lost on its way: the worker cannot know that it was kept."""
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.make_due()
        claim = await thinking(storage)

        kept = [await storage.transitions.save_step(claim, a_step(claim, 1), a_reservation(claim, 2)) for _ in range(2)]
        recorded = [await storage.transitions.record(claim, a_reply("salut")) for _ in range(2)]

        assert kept == [Kept.FRESH, Kept.FRESH]
        assert [row["n"] for row in await storage.rows("SELECT n FROM run_steps")] == [1]
        assert [(call, state) for call, state, *_ in await ledger(storage)] == [("1.1.1", "settled")]
        assert (type(recorded[0]).__name__, recorded[1]) == ("Held", Lost())
        assert len(await storage.rows("SELECT id FROM candidates")) == 1


async def test_a_job_is_claimed_once(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.claim()

        assert await storage.try_claim() is None
        assert (await job_facts(storage))["fence"] == 1


async def test_a_hint_that_comes_early_gives_the_row_back_to_the_clock(database_url: str) -> None:
    async with a_storage(database_url, SLOW) as storage:
        await storage.say()
        await storage.rows("UPDATE jobs SET dispatched_at = clock_timestamp()")

        assert await storage.try_claim() is None

        job = await storage.job()
        assert (job["state"], job["dispatched_at"]) == ("queued", None)


async def test_a_hint_for_nothing_is_nothing(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("salut")

        claims = [
            await storage.transitions.claim_run(AutoReply(conversation=conversation, job=job))
            for conversation, job in [(1, 1), (1, 99), (99, 1)]
        ]
        assert claims == [None, None, None]


async def test_a_run_waits_for_the_bubble_that_is_being_posted(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un", "deux")
        posting = await storage.send()
        await storage.say("m-2")

        assert await storage.try_claim() is None
        job = await storage.job()
        assert (job["state"], job["dispatched_at"], job["due_at"] > job["created_at"]) == ("queued", None, True)

        await storage.transitions.settle(posting, Unknown("timed out"))
        await storage.make_due()
        claim = await storage.claim()
        assert [(turn.author, turn.text) for turn in claim.case.turns] == [
            (Author.CONTACT, "coucou"),
            (Author.AI, "un"),
            (Author.CONTACT, "coucou"),
        ]


async def test_a_saved_step_settles_reserves_and_renews(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage)
        await storage.rows("UPDATE jobs SET lease_until = clock_timestamp(), tries = 3")

        kept = await storage.transitions.save_step(claim, a_step(claim), a_reservation(claim, 2))

        step = await storage.row("SELECT n, task, CAST(content AS text) AS content FROM run_steps")
        row = await storage.row(
            "SELECT crashes, tries, lease_until > clock_timestamp() + interval '14 s' AS leased,"
            " (SELECT active_seconds FROM runs) AS active FROM jobs"
        )
        assert (kept, step, row, await ledger(storage)) == (
            Kept.FRESH,
            {"n": 1, "task": "reply", "content": '[{"b":1,"a":1e2}]'},
            {"crashes": 0, "tries": 0, "leased": True, "active": 1.0},
            [("1.1.1", "settled", Decimal("0.001"), False), ("1.2.1", "reserved", None, False)],
        )


async def test_another_worker_resumes_the_run_and_pays_no_step_twice(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await thinking(storage, calls=2)
        await storage.expire_leases()

        claim = await storage.claim()

        assert (claim.resume.run, claim.fence, claim.resume.active_seconds) == (1, 2, 1.0)
        assert claim.resume.steps == (SavedStep(1, Task.REPLY, '[{"b":1,"a":1e2}]'),)
        assert await ledger(storage) == [
            ("1.1.1", "settled", Decimal("0.001"), False),
            ("1.2.1", "unknown", Decimal("0.004"), False),
        ]


async def test_the_worker_that_lost_its_lease_settles_its_call_and_nothing_else(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        old = await thinking(storage)
        await storage.expire_leases()
        new = await storage.claim()

        kept = await storage.transitions.save_step(old, a_step(old), a_reservation(old, 2))
        recorded = await storage.transitions.record(old, a_reply("trop tard"))

        assert (kept, recorded, await ledger(storage)) == (
            Kept.LOST,
            Lost(),
            [("1.1.1", "settled", Decimal("0.001"), False)],
        )
        assert (await storage.rows("SELECT n FROM run_steps"), await storage.candidates()) == ([], [])
        assert await storage.transitions.save_step(new, None, a_reservation(new)) is Kept.FRESH


async def test_a_lease_the_clock_took_back_is_renewed_while_nobody_else_has_claimed(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage)
        await storage.expire_leases()

        assert await storage.transitions.save_step(claim, a_step(claim), None) is Kept.FRESH
        assert await storage.try_claim() is None


async def test_a_message_during_a_run_puts_the_job_back_with_debounce(database_url: str) -> None:
    async with a_storage(database_url, SLOW) as storage:
        await storage.say()
        await storage.make_due()
        claim = await thinking(storage)
        await storage.say("m-2")

        kept = await storage.transitions.save_step(claim, a_step(claim), a_reservation(claim, 2))

        due = await storage.row("SELECT due_at - clock_timestamp() AS wait, lease_until FROM jobs")
        assert (kept, await runs(storage), await ledger(storage)) == (
            Kept.OVERTAKEN,
            [(1, "discarded")],
            [("1.1.1", "settled", Decimal("0.001"), True)],
        )
        assert await job_facts(storage) == {
            "state": "queued",
            "inbound_seq": 2,
            "fence": 2,
            "claims": 1,
            "crashes": 0,
            "restarts": 1,
            "pinned": False,
        }
        assert (timedelta(seconds=7) < due["wait"] <= timedelta(seconds=8), due["lease_until"]) == (True, None)
        assert await storage.transitions.record(claim, Stopped()) == Lost()


async def test_after_two_restarts_the_run_stands_and_reserves_its_next_call(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        for number in range(2):
            claim = await thinking(storage)
            await storage.say(f"m-{number + 2}")
            assert await storage.transitions.save_step(claim, a_step(claim), None) is Kept.OVERTAKEN
        claim = await thinking(storage)
        await storage.say("m-9")

        kept = await storage.transitions.save_step(claim, a_step(claim), a_reservation(claim, 2))

        job = await job_facts(storage)
        assert (kept, job["state"], job["pinned"], job["inbound_seq"]) == (Kept.FRESH, "running", True, 3)
        assert (await ledger(storage))[-1] == ("3.2.5", "reserved", None, False)
        await storage.say("m-10")
        assert await storage.transitions.save_step(claim, a_step(claim, 2), None) is Kept.FRESH


async def test_a_dead_workers_run_on_old_news_is_thrown_away(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await thinking(storage)
        await storage.say("m-2")
        await storage.expire_leases()

        assert await storage.try_claim() is None

        assert (await job_facts(storage), await runs(storage), await ledger(storage)) == (
            {
                "state": "queued",
                "inbound_seq": 2,
                "fence": 2,
                "claims": 1,
                "crashes": 1,
                "restarts": 1,
                "pinned": False,
            },
            [(1, "discarded")],
            [("1.1.1", "unknown", Decimal("0.004"), True)],
        )


async def test_a_job_that_kills_its_worker_three_times_is_given_up(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        for _ in range(3):
            await thinking(storage)
            await storage.expire_leases()

        assert await storage.try_claim() is None

        row = await storage.row(
            "SELECT j.state, j.code, j.attention, r.outcome, l.source, l.code AS letter, l.attempts, l.payload"
            " FROM jobs j JOIN runs r ON r.job_id = j.id JOIN dead_letters l ON l.job_id = j.id"
        )
        assert row == {
            "state": "failed",
            "code": "AR-571",
            "attention": "open",
            "outcome": "failed",
            "source": "job",
            "letter": "AR-571",
            "attempts": 3,
            "payload": {"job": "job_1", "conversation": "c-1"},
        }


async def test_after_two_deaths_only_a_worker_that_is_alone_with_it_takes_a_job(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        hint = AutoReply(conversation=1, job=1)
        for _ in range(2):
            assert await storage.transitions.claim_run(hint, alone=False) is not None
            await storage.expire_leases()

        with pytest.raises(MustBeAlone):
            await storage.transitions.claim_run(hint, alone=False)

        assert (await job_facts(storage))["state"] == "running"
        assert await storage.transitions.claim_run(hint, alone=True) is not None


async def test_a_job_that_must_be_alone_is_put_off_or_kept_for_its_process(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        hint = AutoReply(conversation=1, job=1)
        look = (
            "SELECT dispatched_at > clock_timestamp() + interval '15 s' AS kept,"
            " due_at > clock_timestamp() + interval '1 s' AS put_off FROM jobs"
        )

        await storage.transitions.expect(hint)
        expected = await storage.row(look)
        await storage.transitions.put_off(hint)
        put_off = await storage.row(look)

    assert (expected, put_off) == ({"kept": True, "put_off": False}, {"kept": None, "put_off": True})


async def test_a_gate_that_closed_meanwhile_ends_the_job_with_its_reason(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.rows("UPDATE personas SET version = 2, spec = jsonb_set(spec, '{autonomy}', '\"off\"')")

        assert await storage.try_claim() is None

        job = await storage.job()
        assert (job["state"], job["reason"]) == ("cancelled", "autonomy_off")


async def test_a_429_with_a_date_parks_the_job_and_costs_no_try(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage, calls=2)
        parked = Parked(
            FailureKind.RATE_LIMITED, "429", counts=False, retry_after=40, call=a_call(claim, 2, outcome="rate_limited")
        )

        recorded = await storage.transitions.record(claim, parked)

        job = await storage.row(
            "SELECT state, reason, tries, crashes, due_at - clock_timestamp() AS wait, due_at, parked_until FROM jobs"
        )
        assert (job["state"], job["reason"], job["tries"], job["crashes"]) == ("queued", "rate_limited", 0, 0)
        assert timedelta(seconds=39) < job["wait"] < timedelta(seconds=50)
        assert (recorded, job["parked_until"] - job["due_at"] < timedelta(seconds=1)) == (Requeued(job["due_at"]), True)
        assert (await runs(storage), (await ledger(storage))[-1]) == (
            [(1, None)],
            ("1.2.1", "settled", Decimal("0.001"), False),
        )


async def test_a_parked_run_is_resumed_when_nothing_new_was_said(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage, calls=2)
        await storage.transitions.record(claim, Parked(FailureKind.OVERLOADED, "529", counts=True))
        await storage.make_due()

        again = await storage.claim()

        assert (again.resume.run, len(again.resume.steps), await ledger(storage)) == (
            1,
            1,
            [("1.1.1", "settled", Decimal("0.001"), False)],
        )


@pytest.mark.parametrize("kind", [FailureKind.OVERLOADED, FailureKind.SPEND_CAP])
async def test_failed_tries_back_off_doubling_and_end_as_a_dead_letter(database_url: str, kind: FailureKind) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        waits = []
        for _ in range(7):
            await storage.transitions.record(await storage.claim(), Parked(kind, "529", counts=True))
            row = await storage.row("SELECT EXTRACT(EPOCH FROM due_at - clock_timestamp()) AS wait FROM jobs")
            waits.append(float(row["wait"]))
            await storage.make_due()

        recorded = await storage.transitions.record(await storage.claim(), Parked(kind, "529", counts=True))

        steady = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0]
        most = [min(1.25 * base, 120.0) for base in steady]
        assert [0.95 * base < wait <= top for base, wait, top in zip(steady, waits, most, strict=True)] == [True] * 7
        letter = await storage.row("SELECT source, code, error FROM dead_letters")
        assert (recorded, letter) == (
            Ended(JobState.FAILED, Code.MODELS_FAILED),
            {"source": "job", "code": "AR-520", "error": "529"},
        )


@pytest.mark.parametrize("kind", [FailureKind.OVERLOADED, FailureKind.SPEND_CAP, FailureKind.RATE_LIMITED])
async def test_a_date_beside_a_failed_try_sets_the_pause_and_forgives_nothing(
    database_url: str, kind: FailureKind
) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        recorded = []
        for _ in range(8):
            await storage.make_due()
            parked = Parked(kind, "503", counts=True, retry_after=40)
            recorded.append(await storage.transitions.record(await storage.claim(), parked))

        waits = await storage.row("SELECT bool_and((facts ->> 'pause')::float >= 40) AS kept FROM job_events")
        letter = await storage.row("SELECT source, code, error FROM dead_letters")
        assert (recorded[-1], [type(was) for was in recorded[:-1]], waits, letter) == (
            Ended(JobState.FAILED, Code.MODELS_FAILED),
            [Requeued] * 7,
            {"kept": True},
            {"source": "job", "code": "AR-520", "error": "503"},
        )


async def test_a_dated_429_never_wears_a_job_out(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        for _ in range(9):
            await storage.make_due()
            parked = Parked(FailureKind.RATE_LIMITED, "429", counts=False, retry_after=40)
            await storage.transitions.record(await storage.claim(), parked)

        job = await storage.job()
        assert (job["state"], job["tries"], job["code"]) == ("queued", 0, None)


@pytest.mark.parametrize(("chance", "pause"), [(0.0, 40.0), (0.5, 45.0), (1.0, 50.0)])
async def test_jobs_sent_away_together_come_back_over_a_quarter_more(
    database_url: str, chance: float, pause: float
) -> None:
    async with a_storage(database_url, chance=lambda: chance) as storage:
        await storage.say()
        parked = Parked(FailureKind.RATE_LIMITED, "429", counts=False, retry_after=40)

        await storage.transitions.record(await storage.claim(), parked)

        row = await storage.row("SELECT EXTRACT(EPOCH FROM due_at - clock_timestamp()) AS wait FROM jobs")
        assert pause - 2 < float(row["wait"]) <= pause


@pytest.mark.parametrize("kind", [FailureKind.PERMANENT, FailureKind.CONTEXT_OVERFLOW])
async def test_what_no_try_can_mend_fails_at_once(database_url: str, kind: FailureKind) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()

        recorded = await storage.transitions.record(await storage.claim(), Parked(kind, "400", counts=True))

        assert recorded == Ended(JobState.FAILED, Code.MODELS_FAILED)


async def test_a_drained_run_is_kept_and_due_at_once(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage, calls=2)

        await storage.transitions.give_back(claim)

        again = await storage.claim()
        assert (again.resume.run, len(again.resume.steps), again.fence) == (1, 1, 3)
        await storage.transitions.give_back(claim)
        assert (await job_facts(storage))["state"] == "running"


async def test_what_was_worked_before_a_pause_counts_against_the_limit(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        parked = Parked(FailureKind.OVERLOADED, "529", counts=True, active_seconds=70.5)
        await storage.transitions.record(await thinking(storage, calls=2), parked)
        await storage.make_due()

        again = await storage.claim()
        await storage.transitions.record(again, replace(parked, active_seconds=60.0))
        await storage.make_due()

        assert (again.resume.active_seconds, (await storage.claim()).resume.active_seconds) == (70.5, 70.5)


async def test_the_trace_of_a_run_that_was_parked_twice_is_kept_as_it_was_written(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        items = [TraceItem(1, TraceKind.NOTE, datetime(2026, 11, 30, 12, n, tzinfo=UTC), {"note": n}) for n in range(3)]
        for found in (items[:2], items[2:], []):
            parked = Parked(FailureKind.OVERLOADED, "529", counts=True, trace=tuple(found))
            await storage.transitions.record(await storage.claim(), parked)
            await storage.make_due()

        row = await storage.row("SELECT CAST(trace AS text) AS trace FROM runs")

        assert json.dumps(json.loads(row["trace"])) == json.dumps([item.shown() for item in items])


async def test_what_was_worked_before_a_drain_counts_over_every_claim(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        worked = []
        for _ in range(2):
            claim = await storage.claim()
            began = claim.case.now - timedelta(seconds=30)
            await storage.transitions.give_back(replace(claim, case=replace(claim.case, now=began)))
            worked.append((await storage.row("SELECT active_seconds FROM runs"))["active_seconds"])

        resumed = (await storage.claim()).resume
        assert (30 <= worked[0] < 40, 60 <= worked[1] < 80, resumed.active_seconds) == (True, True, worked[1])


async def test_a_reservation_that_was_not_used_is_forgotten(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage, calls=2)

        await storage.transitions.record(claim, a_reply("salut"))

        assert await ledger(storage) == [("1.1.1", "settled", Decimal("0.001"), False)]


async def test_a_call_whose_answer_was_lost_costs_its_reservation(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage)
        lost = a_call(claim, outcome="timeout", cost_usd=None, unknown=True)

        await storage.transitions.record(claim, Failure(Code.TIMEOUT, "timeout", call=lost))

        assert await ledger(storage) == [("1.1.1", "unknown", Decimal("0.004"), False)]


async def test_a_cancelled_runs_late_answer_is_paid_and_marked_discarded(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage)
        await storage.transitions.cancel(storage.org, claim.job, "zoe")
        before = await ledger(storage)

        kept = await storage.transitions.save_step(claim, a_step(claim), a_reservation(claim, 2))

        assert (before, kept, await ledger(storage)) == (
            [("1.1.1", "unknown", Decimal("0.004"), True)],
            Kept.LOST,
            [("1.1.1", "settled", Decimal("0.001"), True)],
        )


async def test_renewing_answers_what_is_still_ones_own(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        claims = []
        for number in range(3):
            await storage.say(f"m-{number}", conversation=f"c-{number}")
            claims.append(await storage.claim())
        await storage.transitions.cancel(storage.org, claims[1].job, "zoe")
        await storage.rows("UPDATE jobs SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL")

        mine, none = await storage.transitions.renew([(claim.job, claim.fence) for claim in claims], [])

        leased = await storage.rows("SELECT id FROM jobs WHERE lease_until > clock_timestamp() ORDER BY id")
        assert (mine, none, [row["id"] for row in leased]) == ({1, 3}, set(), [1, 3])


async def test_what_a_dead_process_had_leased_is_due_at_once(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un")
        await storage.send()
        await storage.say("m-2", conversation="c-2")
        await storage.claim()

        released = [await storage.transitions.release(name) for name in ("stranger", "tests", "tests")]

        rows = await storage.rows(
            "SELECT state, lease_until, due_at IS NOT NULL AS due FROM jobs WHERE state = 'running'"
            " UNION ALL SELECT state, lease_until, due_at IS NOT NULL FROM deliveries"
        )
        assert (released, rows) == (
            [0, 2, 0],
            [
                {"state": "running", "lease_until": None, "due": True},
                {"state": "posting", "lease_until": None, "due": True},
            ],
        )


async def test_what_the_queue_could_not_read_is_kept(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.keep_unreadable("reply", "\x00{not json", "JSONDecodeError")

        letter = await storage.row("SELECT org_id, source, code, error, state, payload FROM dead_letters")
        assert letter == {
            "org_id": None,
            "source": "queue",
            "code": "AR-570",
            "error": "JSONDecodeError",
            "state": "open",
            "payload": {"queue": "reply", "message": "{not json", "whole": False},
        }


async def test_the_case_shows_what_was_said_and_how_often(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un", "deux")
        for text in ("un", "deux"):
            posting = await storage.send()
            assert text in posting.body
            await storage.transitions.settle(posting, Accepted())
        await storage.say("m-2", text="et toi ?")
        await storage.say("m-3", text="oups")
        await storage.transitions.delete_message(storage.org, "m-3")
        await storage.make_due()

        case = (await storage.claim()).case

        assert [(turn.position, turn.author, turn.text, turn.candidate, turn.answered) for turn in case.turns] == [
            (1, "contact", "coucou", None, True),
            (2, "ai", "un", 1, True),
            (3, "ai", "deux", 2, True),
            (4, "contact", "et toi ?", None, False),
        ]
        assert (case.sent_texts, case.replies_last_minute, case.conversation_name) == (("un", "deux"), 1, "c-1")


async def test_the_case_holds_fifteen_messages_whatever_else_took_a_place(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        for n in range(1, 21):
            await storage.say(f"m-{n}", text=f"message {n}")
        await storage.rows(
            "INSERT INTO messages (org_id, conversation_id, author, position, kind, text)"
            " SELECT org_id, id, CASE WHEN n % 2 = 0 THEN 'system' ELSE 'ai' END, 20 + n,"
            " CASE WHEN n % 2 = 0 THEN 'text' ELSE 'notice' END, 'left on read'"
            " FROM conversations, generate_series(1, 100) AS n"
        )
        await storage.rows("UPDATE conversations SET last_position = 120")
        await storage.say("m-21", text=" \n")
        await storage.say("m-22", text="enfin")
        await storage.make_due()

        case = (await storage.claim()).case

        assert [turn.text for turn in case.turns] == [*(f"message {n}" for n in range(1, 21)), "enfin"]


async def test_a_call_that_was_settled_stays_so(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await thinking(storage, calls=2)
        await storage.transitions.cancel(storage.org, claim.job, "zoe")

        lost = a_call(claim, 1, outcome="timeout", cost_usd=None, unknown=True)
        await storage.transitions.record(claim, Failure(Code.TIMEOUT, "timeout", call=lost))

        assert (await ledger(storage))[0] == ("1.1.1", "settled", Decimal("0.001"), True)
