"""Running sums: each change counts once, whoever commits first and whoever folds, and no counter ever goes down."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.agent import Step, TraceItem, TraceKind
from schemas.claims import Accepted, Claim, Preparing, Refused, Unknown
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Failure, Parked, Reply
from schemas.errors import Code, FailureKind
from schemas.jobs import Deliver
from schemas.llm import Task
from schemas.speech import Recording
from tests.builders_face import a_gateway
from tests.builders_storage import Storage, a_call, a_reply, a_reservation, a_step, a_storage, job_of
from workers.adapters.postgres import measures, totals
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.measures import Measures
from workers.adapters.postgres.migrate import scripts
from workers.adapters.postgres.totals import Totals

AN_ACTION = "INSERT INTO audit_log (who, action, subject, facts) VALUES ('zoe', 'job.approved', 'job_1', '{}')"


@asynccontextmanager
async def a_database(url: str) -> AsyncIterator[Database]:
    database = Database(url)
    try:
        yield database
    finally:
        await database.close()


async def act(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute(text(AN_ACTION))


async def read(database: Database) -> Measures:
    async with database.transaction() as connection:
        return Measures.of(await totals.read(connection))


async def approvals(database: Database) -> int:
    return (await read(database)).window_actions["approve",]


async def waiting(database: Database) -> int:
    async with database.transaction() as connection:
        return await connection.scalar(text("SELECT count(*) FROM tallies")) or 0


async def test_a_change_that_commits_after_later_ones_were_folded_counts_once(database_url: str) -> None:
    async with a_database(database_url) as database:
        async with database.transaction() as slow:
            await slow.execute(text(AN_ACTION))
            await act(database)
            seen = [await approvals(database)]
            folded = [await Totals(database).fold()]
            seen.append(await approvals(database))
        seen.append(await approvals(database))
        folded.append(await Totals(database).fold())
        seen.append(await approvals(database))

    assert (seen, folded) == ([1, 1, 2, 2], [1, 1])


async def test_a_change_that_is_rolled_back_does_not_count(database_url: str) -> None:
    async with a_database(database_url) as database:
        async with database.engine.connect() as connection:
            await connection.execute(text(AN_ACTION))
            await connection.rollback()
        await act(database)

        assert await approvals(database) == 1


async def test_a_fold_leaves_the_work_to_one_that_is_at_it(database_url: str) -> None:
    async with a_database(database_url) as database:
        await act(database)
        async with database.transaction() as connection:
            await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": totals._LOCK})
            meanwhile = await asyncio.wait_for(Totals(database).fold(), 5)

        assert (meanwhile, await Totals(database).fold(), await waiting(database)) == (0, 1, 0)


async def test_a_scrape_sees_all_that_was_committed_before_it_while_others_write_and_fold(database_url: str) -> None:
    """Three write, two fold a few rows at a time, two gateways read: never less than what was committed before the
    reading, never more than what was begun before its end."""
    begun = committed = 0
    wrong: list[tuple[int, int, int]] = []
    done = asyncio.Event()

    async def write(database: Database) -> None:
        nonlocal begun, committed
        for _ in range(150):
            begun += 1
            await act(database)
            committed += 1

    async def fold(database: Database) -> None:
        while not done.is_set():
            await Totals(database, batch=7).fold()

    async def look(database: Database) -> None:
        while not done.is_set():
            before = committed
            seen = await approvals(database)
            if not before <= seen <= begun:
                wrong.append((before, seen, begun))

    async with a_database(database_url) as one, a_database(database_url) as other:
        around = [asyncio.create_task(work(database)) for work in (fold, look) for database in (one, other)]
        await asyncio.gather(*(write(database) for database in (one, other, one)))
        done.set()
        await asyncio.gather(*around)
        await Totals(one).fold()
        async with one.transaction() as connection:
            folded = await connection.scalar(text("SELECT n FROM totals WHERE metric = 'audit'"))

        assert (wrong, folded, await waiting(one), await approvals(other)) == ([], 450, 0, 450)


def a_tool_call(name: str, **more: Any) -> TraceItem:
    facts = {"tool": name, "args": {}, "result": "queued", "refused": False, "reason": None}
    return TraceItem(1, TraceKind.TOOL, datetime(2026, 1, 1, tzinfo=UTC), facts | more)


def a_told_step(claim: Claim, n: int, *trace: TraceItem) -> Step:
    return Step(n, Task.REPLY, "[]", a_call(claim, n), active_seconds=float(n), trace=trace)


REFUSED = {"result": None, "refused": True, "reason": "no"}


async def everything(storage: Storage) -> None:
    """Replies that are sent, given up and sent again, recalled, dropped, failed; with tools, retries and a pause."""
    transitions, org = storage.transitions, storage.org
    job = job_of(await storage.say())
    claim = await storage.claim()
    await transitions.save_step(claim, None, a_reservation(claim))
    sending, note = a_tool_call("send_message"), TraceItem(1, TraceKind.NOTE, datetime(2026, 1, 1, tzinfo=UTC), {})
    await transitions.save_step(claim, a_told_step(claim, 1, note, sending, sending), a_reservation(claim, 2))
    parked = Parked(FailureKind.OVERLOADED, "529", counts=True, trace=(a_tool_call("set_plan", **REFUSED),))
    await transitions.record(claim, parked)
    await storage.make_newest_due()
    claim = await storage.claim()
    ended = (a_tool_call("send_money", **REFUSED, unknown=True), sending)
    reply = a_reply("un", "deux", "trois")
    await transitions.record(claim, type(reply)(reply.bubbles, call=a_call(claim, 3), trace=ended))
    await transitions.settle(await storage.send(), Accepted())
    dropped = (await storage.row("SELECT max(id) AS id FROM candidates"))["id"]
    await transitions.drop_candidate(org, dropped, "zoe")
    await storage.make_newest_due()
    await transitions.settle(await storage.send(), Unknown("hangs"))
    await storage.rows("UPDATE deliveries SET due_at = clock_timestamp(), first_attempt_at = '2026-01-01'")
    await storage.expire_leases()
    await transitions.settle(await again(storage), Refused("no", final=True))
    await transitions.retry(org, job, "zoe")
    await transitions.settle(await again(storage), Accepted())
    await storage.say("m-2", conversation="c-2")
    await transitions.record(await storage.claim(), a_reply("un", "deux"))
    await storage.say("m-3", conversation="c-2")
    await transitions.record(await storage.claim(), Failure(Code.NO_CANDIDATE, "nothing"))


async def again(storage: Storage) -> Any:
    """The webhook that waits, taken for its next attempt."""
    row = await storage.row("SELECT id, conversation_id FROM deliveries WHERE state = 'waiting' AND type LIKE '%send'")
    posting = await storage.transitions.claim_delivery(Deliver(conversation=row["conversation_id"], delivery=row["id"]))
    assert posting is not None
    return posting


async def test_what_happened_before_the_sums_were_kept_is_counted_the_same(database_url: str) -> None:
    """But a retry leaves no trace of what was given up before it, and a trace none of a tool that never was."""
    config = Config()
    config.set_main_option("script_location", str(scripts()))
    past = ScriptDirectory.from_config(config).get_revision("0002").module.PAST
    async with a_storage(database_url) as storage:
        await everything(storage)
        told = await read(storage.database)
        await storage.rows("TRUNCATE totals, tallies")
        async with storage.database.transaction() as connection:
            for statement in past:
                await connection.execute(text(statement))
        summed = await read(storage.database)

    tools = {("send_message", "ok"): 3, ("set_plan", "refused"): 1}
    assert told.tool_calls == tools | {("unknown", "refused"): 1}
    assert summed.tool_calls == tools | {("send_money", "refused"): 1}
    bubbles = {("text", "sent"): 2, ("text", "dropped"): 1, ("text", "recalled"): 2}
    assert told.candidates == bubbles | {("text", "failed"): 1}
    assert summed.candidates == bubbles
    assert told.webhook_attempts == {("accepted",): 2, ("not_accepted",): 2}
    assert summed.jobs == told.jobs
    assert [summed.job_seconds.counts, summed.run_iterations, summed.send_lateness.counts, summed.ledger] == [
        told.job_seconds.counts,
        told.run_iterations,
        told.send_lateness.counts,
        told.ledger,
    ]
    assert (sum(told.send_lateness.counts), told.run_iterations.total, sum(told.jobs.values())) == (2, 2, 4)


async def test_a_voice_bubble_is_as_late_as_its_audio_makes_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.transitions.record(await storage.claim(), Reply((Bubble(BubbleKind.VOICE, "un"),)))
        await storage.rows("UPDATE jobs SET due_at = clock_timestamp() - interval '20 s'")
        bubble = await storage.try_send()
        assert isinstance(bubble, Preparing)
        before = (await read(storage.database)).send_lateness
        recording = Recording("org_1/speech/a.ogg", "http://it/v1/files/a", "audio/ogg; codecs=opus", 950, "un")
        await storage.transitions.leave(bubble, recording)
        after = (await read(storage.database)).send_lateness

    assert (sum(before.counts), sum(after.counts), 20 <= after.total < 60) == (0, 1, True)


async def test_every_end_of_a_retried_job_counts(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        job = await storage.hold("un")
        await storage.transitions.settle(await storage.send(), Refused("no", final=True))
        first = await read(storage.database)
        await storage.transitions.retry(storage.org, job, "zoe")
        await storage.transitions.settle(await storage.send(), Accepted())
        last = await read(storage.database)

    failed, sent = ("autoreply", "failed", "AR-560"), ("autoreply", "sent", "")
    assert (first.jobs, last.jobs) == ({failed: 1}, {failed: 1, sent: 1})
    assert (first.candidates, last.candidates) == (
        {("text", "failed"): 1},
        {("text", "failed"): 1, ("text", "sent"): 1},
    )
    assert last.webhook_attempts == {("accepted",): 1, ("not_accepted",): 1}


async def thrown_away_while_the_model_answers(storage: Storage) -> Claim:
    """The call of its second iteration is out, and nobody has heard how it ended."""
    await storage.say()
    claim = await storage.claim()
    await storage.transitions.save_step(claim, None, a_reservation(claim))
    await storage.transitions.save_step(claim, a_step(claim), a_reservation(claim, 2))
    await storage.transitions.takeover(storage.org, "c-1", "zoe")
    return claim


def calls(found: Measures) -> dict[str, tuple[int, int, Decimal]]:
    """(how many, tokens read, dollars) by outcome."""
    return {row.outcome: (row.calls, row.tokens["input"], row.usd) for row in found.ledger}


async def test_a_call_whose_answer_comes_after_its_run_was_thrown_away_counts_once(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        claim = await thrown_away_while_the_model_answers(storage)
        meanwhile = await read(storage.database)
        await storage.transitions.save_step(claim, a_step(claim, 2), None)
        later = await read(storage.database)

    assert calls(meanwhile) == {"ok": (1, 100, Decimal("0.001"))}
    assert calls(later) == {"ok": (2, 200, Decimal("0.002"))}


async def test_a_call_that_nobody_hears_of_is_unknown_at_its_reservation_and_stays_so(database_url: str) -> None:
    """An answer after that is impossible; should it come all the same, nothing goes down."""
    async with a_storage(database_url) as storage:
        claim = await thrown_away_while_the_model_answers(storage)
        await storage.rows("UPDATE ledger SET at = at - interval '16 min' WHERE state = 'unknown'")
        lost = await read(storage.database)
        await storage.transitions.save_step(claim, a_step(claim, 2), None)
        after_all = await read(storage.database)

    unknown = (1, 0, Decimal("0.004"))
    assert calls(lost) == {"ok": (1, 100, Decimal("0.001")), "unknown": unknown}
    assert calls(after_all) == {"ok": (1, 200, Decimal("0.001")), "unknown": unknown}


async def test_a_call_that_its_worker_gave_up_counts_at_once(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.transitions.save_step(claim, None, a_reservation(claim))
        call = a_call(claim, outcome="timeout", unknown=True)
        await storage.transitions.record(claim, Parked(FailureKind.OVERLOADED, "slow", counts=True, call=call))

        assert calls(await read(storage.database))["timeout"][0] == 1


async def shown(connection: AsyncConnection, function: str) -> str:
    found = await connection.scalar(text("SELECT prosrc FROM pg_proc WHERE proname = :name"), {"name": function})
    return str(found)


async def test_the_database_has_the_same_buckets_as_the_metrics(database_url: str) -> None:
    async with a_database(database_url) as database, database.transaction() as connection:
        body = await shown(connection, "tally_job_event")

    for bounds in (measures.JOB_SECONDS, measures.LATENESS):
        assert f"ARRAY[{', '.join(format(bound, 'g') for bound in bounds)}]::float8[]" in body


async def test_no_counter_goes_down_when_a_gateway_starts_anew_or_sums_are_folded(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await everything(storage)
        async with a_gateway(database_url) as one, a_gateway(database_url) as other:
            told = [counters((await gateway.call("GET", "/metrics")).text) for gateway in (one, other)]
        folded = await Totals(storage.database).fold()
        async with a_gateway(database_url) as anew:
            told.append(counters((await anew.call("GET", "/metrics")).text))

    assert folded > 20
    assert told[0] == told[1] == told[2]
    tools = 'replique_tool_calls_total{result="ok",tool="send_message"}'
    assert told[2][tools] == "3.0"


def counters(scrape: str) -> dict[str, str]:
    lines = (line.rsplit(" ", 1) for line in scrape.splitlines() if not line.startswith("#"))
    return {name: value for name, value in lines if not name.startswith("replique_oldest_due")}
