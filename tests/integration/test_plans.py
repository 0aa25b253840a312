"""No hot statement reads a big table from end to end: each is explained on a database that has grown.

`REPLIQUE_TEST_PLANS=1 pytest -s` prints the plans.
"""

import json
import os
import sys
from typing import Any

from schemas.claims import Accepted, Refused, Unknown
from schemas.decisions import Failure, Parked, Silence, SilenceReason
from schemas.errors import Code, FailureKind
from schemas.http import CandidatePatch, MessagePatch
from schemas.ids import JobId
from schemas.jobs import Deliver
from tests.builders_storage import Storage, a_reply, a_reservation, a_step, a_storage, open_hours
from tests.overheard import overheard

GROWN = 100_000
BIG = frozenset(
    {
        "contacts",
        "conversations",
        "messages",
        "jobs",
        "job_events",
        "runs",
        "run_steps",
        "candidates",
        "deliveries",
        "ledger",
    }
)
FILL = """
INSERT INTO contacts (org_id, name, profile) SELECT {org}, 'f' || n, '{{}}' FROM {many};
INSERT INTO conversations (org_id, persona_id, contact_id, name, inbound_seq, last_position)
  SELECT {org}, {persona}, id, name, 1, 2 FROM contacts;
UPDATE conversations SET follow_up_at = clock_timestamp() + id * interval '1 min';
INSERT INTO jobs (org_id, conversation_id, queue, state, inbound_seq, first_message_at, due_at)
  SELECT {org}, id, CASE WHEN id % 10 < 9 THEN 'send' ELSE 'reply' END,
         CASE id % 10 WHEN 9 THEN 'queued' WHEN 8 THEN 'held' ELSE 'sent' END, 1, clock_timestamp(),
         CASE WHEN id % 10 > 7 THEN clock_timestamp() + interval '1 h' END FROM conversations;
INSERT INTO job_events (org_id, job_id, conversation_id, who, to_state, why)
  SELECT {org}, id, conversation_id, 'worker', 'sent', 'x' FROM jobs;
INSERT INTO runs (job_id, inbound_seq, outcome) SELECT id, 1, 'decided' FROM jobs;
INSERT INTO run_steps (run_id, n, task, content, trace) SELECT id, 1, 'reply', '[]', '[]' FROM runs;
INSERT INTO ledger (call, org_id, pipeline, task, job_id, run_id, fence, provider, model, state)
  SELECT id || '.1.1', {org}, 'autoreply', 'reply', job_id, id, 1, 'p', 'm', 'settled' FROM runs;
INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text)
  SELECT {org}, id, conversation_id, 0, 'text', CASE state WHEN 'held' THEN 'held' ELSE 'sent' END, 'x' FROM jobs
  WHERE state <> 'queued';
INSERT INTO deliveries (webhook_id, type, org_id, conversation_id, job_id, candidate_id, queue, body, state)
  SELECT 'w' || id, 'message.send', {org}, conversation_id, job_id, id, 'send', '', 'accepted' FROM candidates;
INSERT INTO messages (org_id, conversation_id, name, author, position, seq, text, candidate_id)
  SELECT {org}, id, 'c' || id, 'contact', 1, 1, 'x', NULL FROM conversations
  UNION ALL SELECT {org}, conversation_id, NULL, 'ai', 2, NULL, 'x', id FROM candidates;
ANALYZE
"""


async def grow(storage: Storage) -> None:
    persona = (await storage.row("SELECT id FROM personas"))["id"]
    many = f"generate_series(1, {GROWN}) AS n"
    async with storage.database.transaction() as connection:
        # Foreign keys checked row by row would double the time this takes.
        await connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        for statement in FILL.format(org=storage.org, persona=persona, many=many).split(";"):
            await connection.exec_driver_sql(statement.replace("%", "%%").strip())


async def explained(storage: Storage, statement: str, parameters: Any) -> dict[str, Any]:
    async with storage.database.engine.connect() as connection:
        result = await connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters)
        plan: dict[str, Any] = result.scalar_one()[0]["Plan"]
    if os.environ.get("REPLIQUE_TEST_PLANS"):
        sys.stdout.write(f"\n{statement}\n{json.dumps(plan, indent=1)}\n")
    return plan


def read_through(plan: dict[str, Any]) -> set[str]:
    """The big tables that a plan reads from end to end."""
    own = {plan["Relation Name"]} & BIG if plan["Node Type"] == "Seq Scan" else set()
    return own.union(*(read_through(inner) for inner in plan.get("Plans", [])))


async def everything_hot(storage: Storage) -> None:
    """Each transition once, on conversation `f5`, whose newest job is sent."""
    transitions, place = storage.transitions, {"conversation": "f5", "contact": {"id": "f5", "locale": "fr"}}
    await storage.say("m-1", **place)
    claim = await storage.claim()
    await transitions.save_step(claim, None, a_reservation(claim))
    await transitions.save_step(claim, a_step(claim), a_reservation(claim, 2))
    await storage.expire_leases()
    claim = await storage.claim()
    await transitions.record(claim, a_reply("un", "deux"))
    await storage.say("m-2", **place)
    await storage.say("m-3", **place)
    await transitions.edit_message(storage.org, "m-3", MessagePatch(text="x"))
    await transitions.delete_message(storage.org, "m-3")
    await storage.make_newest_due()
    await transitions.record(await storage.claim(), Parked(FailureKind.OVERLOADED, "529", counts=True))
    await storage.make_newest_due()
    claim = await storage.claim()
    await transitions.renew([(claim.job, claim.fence)], [])
    await transitions.give_back(claim)
    await transitions.record(await storage.claim(), a_reply("un", "deux", "trois"))
    await transitions.settle(await storage.send(), Accepted())
    posting = await storage.send()
    await transitions.settle(posting, Unknown("hangs"))
    await storage.rows("UPDATE deliveries SET due_at = clock_timestamp() WHERE state = 'waiting'")
    again = await transitions.claim_delivery(Deliver(conversation=posting.conversation or 0, delivery=posting.delivery))
    assert again is not None
    await transitions.renew([], [(again.delivery, again.fence)])
    await transitions.settle(again, Refused("no", final=True))
    await storage.say("m-4", **place)
    await transitions.record(await storage.claim(), Silence(SilenceReason.LEFT_ON_READ, read=True))
    await storage.say("m-5", **place)
    await transitions.record(await storage.claim(), Failure(Code.NO_CANDIDATE, "nothing"))
    await storage.say("m-6", **place)
    await transitions.takeover(storage.org, "f5", "zoe")
    job = await transitions.resume(storage.org, "f5", "zoe")
    assert job is not None
    await transitions.record(await storage.claim(), a_reply("un"))
    await everything_an_operator_does(storage, job)
    await transitions.approve(storage.org, job, "zoe")
    await transitions.cancel(storage.org, job, "zoe")
    await transitions.release("tests")
    await storage.say("m-7", conversation="new-1", contact={"id": "f5"})
    await storage.say("m-8", conversation="new-2", contact={"id": "new"})


async def writing_first(storage: Storage) -> None:
    await storage.rows("UPDATE conversations SET follow_up_at = clock_timestamp() WHERE name IN ('f11', 'f18')")
    assert await storage.transitions.follow_up() == 1
    await storage.transitions.record(await storage.claim(), a_reply("un"))
    silence = Silence(SilenceReason.LEFT_ON_READ, read=True)
    await storage.rows('UPDATE personas SET version = version + 1, spec = spec || \'{"autonomy": "draft"}\'')
    await storage.say("m-20", conversation="f12", contact={"id": "f12"})
    await storage.transitions.record(await storage.claim(), silence)
    await storage.transitions.approve(storage.org, JobId((await storage.job())["id"]), "zoe")


async def everything_an_operator_does(storage: Storage, job: JobId) -> None:
    """To a held reply."""
    transitions, org = storage.transitions, storage.org
    await transitions.hold(org, job, "zoe")
    await transitions.release_hold(org, job, "zoe")
    await transitions.regenerate(org, job, "zoe")
    await transitions.record(await storage.claim(), a_reply("un", "deux"))
    newest = (await storage.row("SELECT max(id) AS id FROM candidates"))["id"]
    await transitions.edit_candidate(org, newest, CandidatePatch(text="x", ordinal=0), "zoe")
    await transitions.drop_candidate(org, newest, "zoe")
    await transitions.settle(await storage.send(), Refused("no", final=True))
    await transitions.retry(org, job, "zoe")
    await transitions.settle(await storage.send(), Refused("no", final=True))
    await transitions.dismiss(org, job, "seen", "zoe")
    await transitions.regenerate(org, job, "zoe")
    await transitions.record(await storage.claim(), a_reply("un"))


async def test_no_hot_statement_reads_a_big_table_from_end_to_end(database_url: str) -> None:
    async with a_storage(database_url, {"proactive_hours": open_hours()}) as storage:
        await grow(storage)
        with overheard(storage) as heard:
            await everything_hot(storage)
            await writing_first(storage)

        ours = {statement: bound for statement, bound in heard if "/* test */" not in statement}
        slow = {}
        for statement, bound in ours.items():
            if through := read_through(await explained(storage, statement, bound)):
                slow[statement] = sorted(through)
        assert slow == {}
        assert len(ours) > 30
