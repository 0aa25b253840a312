"""No hot statement reads a big table from end to end: each is explained on a database that has grown.

`REPLIQUE_TEST_PLANS=1 pytest -s` prints the plans.
"""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.memory.asking import call_of
from schemas.catalogue import MediaSearch, Shelf, Viewer
from schemas.claims import Accepted, Refused, Unknown
from schemas.conversation import BubbleKind, Flag
from schemas.costs import CostGroup
from schemas.decisions import Bubble, Failure, Parked, Reply, Silence, SilenceReason
from schemas.dry_run import DryRunIn
from schemas.errors import Code, FailureKind
from schemas.honesty import Alarm
from schemas.http import CandidatePatch, MessagePatch
from schemas.ids import ContactId, JobId
from schemas.jobs import CloseLinks, DelayedSend, Deliver, Learn, Queue, Summarize
from schemas.lessons import Fact, Learnt
from schemas.llm import Reservation, SettledCall, Task
from schemas.memory import Asker, Passage
from schemas.payments import Link, LinkFailed, Offering, PaymentProvider, PaymentState
from schemas.settings import Settings
from schemas.summaries import Summed
from tests.builders_courier import LATER
from tests.builders_media import EMBEDDER
from tests.builders_shop import a_selling_reply, an_offer
from tests.builders_storage import MODEL, Storage, a_reply, a_reservation, a_step, a_storage, open_hours
from tests.overheard import overheard
from workers.adapters.postgres.catalogue import StoredCatalogue
from workers.adapters.postgres.counts import Counter
from workers.adapters.postgres.dispatch import Dispatch
from workers.adapters.postgres.habits import StoredHabits
from workers.adapters.postgres.memory import StoredMemory
from workers.adapters.postgres.paces import Paces
from workers.adapters.postgres.rights import Rights
from workers.adapters.postgres.shop import StoredShop
from workers.adapters.postgres.totals import Totals
from workers.adapters.postgres.views.changes import Changes
from workers.adapters.postgres.views.costs import Costs
from workers.adapters.postgres.views.desk import MOST, Desk
from workers.adapters.postgres.views.dry_run import DryRuns
from workers.adapters.postgres.views.export import Exports
from workers.adapters.postgres.views.jobs import Sign
from workers.adapters.postgres.views.provisioned import Provisioned
from workers.adapters.postgres.views.snapshot import Snapshots

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
        "chores",
        "summaries",
        "documents",
        "chunks",
        "media_items",
        "media_facts",
        "shown_media",
        "payments",
        "audit_log",
        "dead_letters",
    }
)
FILL = """
INSERT INTO contacts (org_id, name, profile) SELECT {org}, 'f' || n, '{{}}' FROM {many};
INSERT INTO conversations (org_id, persona_id, contact_id, name, inbound_seq, last_position)
  SELECT {org}, {persona}, id, name, 1, 2 FROM contacts;
UPDATE conversations SET follow_up_at = clock_timestamp() + interval '1 d' + id * interval '1 min';
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
INSERT INTO summaries (conversation_id, until, usable_from, text)
  SELECT id, 16, 16, 'x' FROM conversations WHERE name <> 'f7';
INSERT INTO chores (org_id, kind, conversation_id, queue, due_at)
  SELECT {org}, 'learn', id, 'background', clock_timestamp() + interval '1 h' FROM conversations WHERE name <> 'f5';
DROP INDEX chunks_embedding;
INSERT INTO documents (org_id, name, persona_id, contact_id, title, language, text, hash)
  SELECT {org}, 'd' || id, 0, id, '', 'fr', 'x', '' FROM contacts;
INSERT INTO chunks (org_id, persona_id, contact_id, message_id, text, config, words, model, embedding)
  SELECT {org}, {persona}, c.contact_id, m.id, 'x', 'french', '', 'm', array_fill(0.04, ARRAY[512])::vector
  FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE m.author = 'contact' AND m.id % 5 = 0;
INSERT INTO media_items
    (org_id, persona_id, name, type, url, price, currency, description, tags, consent, model, embedding)
  SELECT {org}, {persona} + n % 100, 'ph-' || n, 'photo', 'https://x.example/', CASE WHEN n % 2 = 0 THEN n % 97 + 1 END,
         CASE WHEN n % 2 = 0 THEN 'EUR' END, 'x', '[]', '"yes"', 'm', CAST(array_fill(1, ARRAY[512]) AS vector)
  FROM generate_series(1, 10000) AS n;
INSERT INTO media_facts (org_id, contact_id, persona_id, media_id, what)
  SELECT {org}, id, {persona}, 1 + id % 10000,
         CASE id % 3 WHEN 0 THEN 'received' WHEN 1 THEN 'offered' ELSE 'bought' END FROM contacts;
INSERT INTO shown_media (conversation_id, media_id) SELECT id, 1 + id % 10000 FROM conversations;
INSERT INTO payments
    (org_id, persona_id, contact_id, conversation_id, offer, media_ids, amount, currency, state, provider, reference,
     delivery_job_id, paid_at)
  SELECT {org}, {persona}, contact_id, id, 'o', jsonb_build_array(1 + id % 10000), 5, 'EUR',
         CASE id % 2 WHEN 0 THEN 'open' ELSE 'paid' END, 'webhook', 'r' || id, CASE id % 2 WHEN 1 THEN id END,
         clock_timestamp() FROM conversations;
INSERT INTO audit_log (org_id, who, action, subject, facts)
  SELECT {org}, 'zoe', 'job.held', 'job_' || id, '{{}}' FROM jobs;
INSERT INTO dead_letters (org_id, source, state, job_id, code, error, payload)
  SELECT {org}, 'job', 'retried', id, 'AR-520', 'x', '{{}}' FROM jobs;
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


async def a_day_of_costs(storage: Storage) -> None:
    """Of everybody and of one organisation, long before the many calls of now."""
    until = datetime.now(UTC) - timedelta(days=30)
    costs = Costs(Snapshots(storage.database), Settings())
    for org in (None, storage.org):
        for group in CostGroup:
            await costs.sums(org, group, until - timedelta(days=1), until, 50)


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
    await transitions.record(await storage.claim(), Silence(SilenceReason.LEFT_ON_READ, read=True, flag=Flag.LINKS))
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
    await everything_about_media(storage)
    await everything_about_payments(storage)
    await storage.say("m-7", conversation="new-1", contact={"id": "f5"})
    await storage.say("m-8", conversation="new-2", contact={"id": "new"})
    await everything_that_closes(storage)
    await Counter(storage.database, Settings()).counts()
    await Totals(storage.database).fold()


async def everything_that_closes(storage: Storage) -> None:
    """A contact wants silence, and is locked; consent, and two people who open it."""
    transitions, org, place = storage.transitions, storage.org, {"conversation": "f6", "contact": {"id": "f6"}}
    await storage.rows(
        "UPDATE payments SET provider = 'stripe', expires_at = clock_timestamp() + interval '1 day'"
        " WHERE contact_id = (SELECT id FROM contacts WHERE name = 'f6') AND state = 'open'"
    )
    await storage.say("m-9", **place)
    await storage.say("m-10", text="STOP", **place)
    await transitions.consent(org, "f6", "zoe", "form")
    await storage.say("m-11", **place)
    await transitions.edit_message(org, "m-11", MessagePatch(text="j'ai 15 ans"))
    chore = await storage.row("SELECT id, conversation_id AS conversation FROM chores WHERE kind = 'close_links'")
    hint = CloseLinks(conversation=chore["conversation"], chore=chore["id"])
    for failed in (LinkFailed("away", retryable=True, retry_after=0), None):
        closing = await transitions.claim_closing(hint)
        assert closing is not None
        await transitions.end_closing(closing, failed)
    await transitions.reopen(org, "f6", "zoe", "a typo")
    await transitions.reopen(org, "f6", "yann", None)
    await storage.say("m-12", **place)
    asked = Failure(Code.IDENTITY_QUESTION, "asks_if_machine", prepared=a_reply("une IA").bubbles)
    await transitions.record(await storage.claim(), asked)
    await transitions.approve(org, (await storage.job())["id"], "zoe")
    await storage.say("m-13", **place)
    alarm = Alarm(stop="stop_request", position=1)
    await transitions.record(await storage.claim(), Silence(SilenceReason.OPTED_OUT, alarm=alarm))


async def everything_that_is_tried(storage: Storage) -> None:
    """Dry runs: over the newest replies, over those of one conversation, over those of one persona."""
    dry_runs = DryRuns(Snapshots(storage.database), Settings())
    for wanted in ({}, {"conversation": "f5"}, {"persona": "maya"}):
        _, _, past = await dry_runs.load(storage.org, DryRunIn.model_validate({"limit": 200, **wanted}))
        assert past


async def everything_that_is_watched(storage: Storage) -> None:
    """What the pages of the console read, again and again."""

    async def sign() -> Sign:
        return str

    snapshots, org = Snapshots(storage.database), storage.org
    desk, changes = Desk(snapshots, sign), Changes(storage.database, lambda: 0.0)
    assert len(await desk.window(org)) == MOST
    await desk.some(org, ["job_9", "job_19"])
    await desk.one(org, JobId(9))
    await desk.attention(org)
    assert (await desk.counts(org)).window > MOST
    await changes.since()
    await changes.since()
    await Provisioned(snapshots).media(org, "maya", "", 60)
    await Provisioned(snapshots).changes(org, "maya")


async def everything_about_media(storage: Storage) -> None:
    """Looked for, sent, refused."""
    await storage.say("m-9", conversation="f6", contact={"id": "f6"})
    claim = await storage.claim()
    case = claim.case
    viewer = Viewer(claim.org, case.persona.id, case.contact.id, claim.conversation)
    catalogue = StoredCatalogue(storage.database, EMBEDDER)
    await catalogue.look(MediaSearch(Shelf.PAID, 8, "la mer", opens=True), viewer)
    found = await catalogue.look(MediaSearch(Shelf.FREE, 8, "la mer"), viewer)
    await storage.transitions.record(
        claim, Reply((Bubble(BubbleKind.IMAGE, "", tuple(media.ref for media in found[:1])),))
    )
    await storage.make_newest_due()
    await storage.transitions.settle(await storage.send(), Refused("no", final=True))


async def everything_about_payments(storage: Storage) -> None:
    """Offered, linked, paid, delivered, refunded."""
    await storage.say("m-10", conversation="f7", contact={"id": "f7"})
    claim = await storage.claim()
    case, transitions = claim.case, storage.transitions
    await StoredShop(storage.database).wares(claim.org, case.persona.id, case.contact.id, ["ph-100"])
    await transitions.record(claim, a_selling_reply(an_offer("ph-100", price="4.00")))
    newest = (await storage.row("SELECT max(id) AS id FROM candidates"))["id"]
    price = CandidatePatch.model_validate({"price": {"amount": "5.00", "currency": "EUR"}})
    await transitions.edit_candidate(claim.org, newest, price, "zoe")
    await storage.make_newest_due()
    taken = await storage.transitions.claim_send(DelayedSend(conversation=claim.conversation, job=claim.job))
    assert isinstance(taken, Offering)
    posting = await transitions.leave_linked(taken, Link("https://pay.example/1", "cs_1"))
    assert posting is not None
    await transitions.settle(posting, Accepted())
    payment = await transitions.payment_named(PaymentProvider.WEBHOOK, "cs_1")
    assert payment == taken.order.payment
    await transitions.payment(claim.org, payment, PaymentState.PAID, None, "app")
    await transitions.settle(await storage.send(), Accepted())
    await transitions.payment(claim.org, payment, PaymentState.REFUNDED, None, "app")


async def writing_first(storage: Storage) -> None:
    await storage.rows("UPDATE conversations SET follow_up_at = clock_timestamp() WHERE name IN ('f11', 'f18')")
    assert await storage.transitions.follow_up() == 1
    await storage.transitions.record(await storage.claim(), a_reply("un"))
    assert await StoredHabits(storage.database).written(ContactId(7))
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
    await transitions.edit_candidate(org, newest, CandidatePatch(text="x " * 2500, ordinal=0), "zoe")
    await transitions.drop_candidate(org, newest, "zoe")
    await transitions.settle(await storage.send(), Refused("no", final=True))
    await transitions.retry(org, job, "zoe")
    await transitions.settle(await storage.send(), Refused("no", final=True))
    await transitions.dismiss(org, job, "seen", "zoe")
    await transitions.regenerate(org, job, "zoe")
    await transitions.record(await storage.claim(), a_reply("un"))


class OneDirection:
    """Embeds without a model: plans do not look at what vectors say."""

    name, dims = "m", 512

    async def embed(self, texts: Sequence[str], org: int | None = None) -> list[tuple[float, ...]]:
        return [(0.04,) * self.dims for _ in texts]


async def everything_remembered(storage: Storage) -> None:
    """Something is looked up, and the conversation `f5` is learned from."""
    transitions = storage.transitions
    where = await storage.row(
        "SELECT c.persona_id, c.contact_id, w.id AS chore, c.id FROM conversations c "
        "JOIN chores w ON w.conversation_id = c.id WHERE c.name = 'f5'"
    )
    asker = Asker(storage.org, where["persona_id"], where["contact_id"])
    await StoredMemory(storage.database, OneDirection()).search("le chien", asker, 5)
    hint = Learn(conversation=where["id"], chore=where["chore"])
    await transitions.claim_lesson(hint)
    await storage.rows("UPDATE chores SET due_at = clock_timestamp() WHERE id = :chore", chore=where["chore"])
    await storage.rows("UPDATE conversations SET last_inbound_at = NULL WHERE id = :id", id=where["id"])
    lesson = await transitions.claim_lesson(hint)
    assert lesson is not None
    passage = Passage("x", "x", (0.04,) * 512)
    call = SettledCall(call_of(lesson.chore, lesson.fence), Task.AUXILIARY, MODEL, "ok")
    await transitions.reserve_lesson(lesson, Reservation(call.call, call.task, call.model, None))
    await transitions.end_lesson(lesson, Learnt((Fact(lesson.heard[0], passage),), "m", call))
    await Dispatch(storage.database, 100).admit(Queue.BACKGROUND, 1.0, expire_until=LATER)


async def everything_erased(storage: Storage) -> None:
    """A contact is erased while a reply lies ready, another is exported, and the sweeper looks at conversations."""
    rights = Rights(storage.database, Settings(), storage.courier, "tests")
    await storage.say("m-30", conversation="f21", contact={"id": "f21"})
    await storage.transitions.record(await storage.claim(), a_reply("un"))
    await Exports(Snapshots(storage.database)).of(storage.org, "f22")
    await rights.erase(storage.org, "f21", "app")
    await rights.erase(storage.org, "f21", "app")
    await storage.rows("UPDATE erasures SET due_at = clock_timestamp()")
    while (batch := await rights.advance()) is not None and not batch.finished:
        pass
    await rights.doomed()
    await rights.still_heard("org_1/speech/a.ogg")
    await rights.file_failed("org_1/speech/a.ogg", "away")
    await rights.file_gone("org_1/speech/a.ogg")
    await storage.rows("""UPDATE organizations SET spec = spec || '{"retention_days": 30}'""")
    for table in ("messages", "conversations"):
        number = "conversation_id" if table == "messages" else "id"
        old = "created_at = created_at - interval '1 year'"
        await storage.rows(
            f"UPDATE {table} SET {old} WHERE {number} IN (SELECT id FROM conversations WHERE name LIKE 'f100%')"
        )
    await storage.rows(
        "UPDATE jobs SET ended_at = created_at - interval '1 year' "
        "WHERE conversation_id IN (SELECT id FROM conversations WHERE name LIKE 'f1000%') AND state = 'sent'"
    )
    swept = await rights.sweep()
    assert swept is not None
    assert swept.rows["messages"]
    assert swept.rows["jobs"]


async def everything_summed_up(storage: Storage) -> None:
    """The window of `f7` has grown; what it will cut is summed up, and a message that it tells of is changed."""
    transitions = storage.transitions
    place = {"conversation": "f7", "contact": {"id": "f7"}}
    for n in range(23):
        await storage.say(f"s-{n}", **place)
    await storage.claim()
    chore = await storage.row(
        "SELECT w.id, w.conversation_id FROM chores w JOIN conversations c ON c.id = w.conversation_id "
        "WHERE c.name = 'f7' AND w.kind = 'summarize'"
    )
    hint = Summarize(conversation=chore["conversation_id"], chore=chore["id"])
    folding = await transitions.claim_summary(hint)
    assert folding is not None
    call = SettledCall(call_of(folding.chore, folding.fence), Task.AUXILIARY, MODEL, "ok")
    await transitions.reserve_summary(folding, Reservation(call.call, call.task, call.model, None))
    await transitions.end_summary(folding, Summed("x", call))
    await transitions.edit_message(storage.org, "s-1", MessagePatch(text="y"))
    assert await Paces(storage.database).count() > 0


async def test_no_hot_statement_reads_a_big_table_from_end_to_end(database_url: str) -> None:
    own = {"plan": "pro", "budgets": {"per_run": "1", "per_conversation": "1", "per_month": "1"}}
    async with a_storage(database_url, {"proactive_hours": open_hours()}, own) as storage:
        await grow(storage)
        with overheard(storage) as heard:
            await everything_hot(storage)
            await everything_remembered(storage)
            await everything_that_is_tried(storage)
            await writing_first(storage)
            await everything_erased(storage)
            await everything_summed_up(storage)
            await a_day_of_costs(storage)
            await everything_that_is_watched(storage)

        ours = {
            statement: bound
            for statement, bound in heard
            if "/* test */" not in statement and "SET TRANSACTION" not in statement
        }
        slow = {}
        for statement, bound in ours.items():
            if through := read_through(await explained(storage, statement, bound)):
                slow[statement] = sorted(through)
        assert slow == {}
        assert len(ours) > 30
