"""Erasure, export and retention on the rows, with workers that are in the middle of something."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from schemas.claims import Accepted, Lost, Posting
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Reply
from schemas.errors import NotFound, Unavailable
from schemas.ids import ErasureId, PaymentId, number_of
from schemas.media import FilesUnavailable
from schemas.payments import PaymentState
from schemas.resources import OrganizationSpec, stored
from tests.builders_storage import Storage, a_reply, a_reservation, a_step, a_storage
from workers.adapters.postgres.gone import MESSAGES
from workers.adapters.postgres.rights import Rights
from workers.adapters.postgres.views.export import Exports
from workers.adapters.postgres.views.snapshot import Snapshots
from workers.clock.sweep import Sweeper


class Shelf:
    """A file store that only remembers what it was told to delete; away while `away`."""

    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.away = False

    async def delete(self, key: str) -> None:
        if self.away:
            raise FilesUnavailable("the file store did not do it (Timeout)")
        self.deleted.append(key)


def rights_of(storage: Storage) -> Rights:
    return Rights(storage.database, storage.transitions._settings, storage.courier, "test")


async def erased(storage: Storage, shelf: Shelf | None = None) -> Any:
    """The contact of the conversation, erased to the end."""
    rights = rights_of(storage)
    asked = await rights.erase(storage.org, "fan-7", "app")
    await swept(storage, shelf)
    return await rights.erasure(storage.org, number(asked.id))


async def swept(storage: Storage, shelf: Shelf | None = None) -> None:
    sweeper = Sweeper(rights_of(storage), shelf or Shelf())  # type: ignore[arg-type]
    await storage.rows("UPDATE erasures SET due_at = clock_timestamp() WHERE due_at IS NOT NULL")
    while await sweeper():
        await storage.rows("UPDATE erasures SET due_at = clock_timestamp() WHERE due_at IS NOT NULL")


def number(reference: str) -> ErasureId:
    found = number_of("era", reference)
    assert found is not None
    return ErasureId(found)


async def counts(storage: Storage) -> dict[str, int]:
    tables = await storage.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    found = {
        row["tablename"]: (await storage.row(f"SELECT count(*) AS n FROM {row['tablename']}"))["n"] for row in tables
    }
    kept = {"alembic_version", "installation", "organizations", "personas", "tallies", "totals", "audit_log", "ledger"}
    return {table: n for table, n in found.items() if n and table not in kept}


async def test_a_live_job_ends_and_what_its_worker_brings_is_dropped(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        reservation = a_reservation(claim)
        await storage.transitions.save_step(claim, None, reservation)

        asked = await rights_of(storage).erase(storage.org, "fan-7", "app")
        job = await storage.job()
        assert (job["state"], job["code"], job["reason"], job["attention"]) == ("silent", "AR-404", "erased", None)
        assert await storage.transitions.save_step(claim, a_step(claim), None) == "lost"
        assert isinstance(await storage.transitions.record(claim, a_reply("trop tard")), Lost)

        await swept(storage)
        assert isinstance(await storage.transitions.record(claim, a_reply("trop tard")), Lost)
        assert await counts(storage) == {"contacts": 1, "erasures": 1}
        paid = await storage.row("SELECT * FROM ledger")
        assert (paid["state"], paid["input"] > 0, paid["cost_usd"] > 0) == ("settled", True, True)
        assert (paid["conversation_id"], paid["job_id"], paid["run_id"]) == (None, None, None)
        assert (await rights_of(storage).erasure(storage.org, number(asked.id))).state == "done"


async def test_a_reply_that_lies_ready_is_recalled_and_goes(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("Coucou.")
        await rights_of(storage).erase(storage.org, "fan-7", "app")
        assert [state for _, _, state, _ in await storage.candidates()] == ["recalled"]
        assert (await storage.job())["reason"] == "erased"
        await swept(storage)
        assert await counts(storage) == {"contacts": 1, "erasures": 1}


async def test_a_bubble_in_the_air_is_settled_before_its_rows_go(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("Coucou.")
        await storage.make_due()
        posting = await storage.send()
        rights = rights_of(storage)
        asked = await rights.erase(storage.org, "fan-7", "app")
        await storage.rows("UPDATE erasures SET due_at = clock_timestamp()")
        batch = await rights.advance()
        assert batch is not None
        assert (dict(batch.rows), batch.finished) == ({}, False)

        await storage.transitions.settle(posting, Accepted(platform_id="p-1"))
        assert [state for _, _, state, _ in await storage.candidates()] == ["sent"]
        await swept(storage)
        assert await counts(storage) == {"contacts": 1, "erasures": 1}
        assert (await rights.erasure(storage.org, number(asked.id))).state == "done"


async def test_a_bubble_that_may_have_been_shown_is_not_repeated_after_the_erasure(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("Coucou.")
        await storage.make_due()
        await storage.send()
        await storage.rows("UPDATE deliveries SET state = 'waiting', ambiguous = true, lease_until = NULL")
        await storage.make_due()
        await rights_of(storage).erase(storage.org, "fan-7", "app")
        assert await storage.row("SELECT state, due_at FROM deliveries") == {"state": "failed", "due_at": None}


async def test_who_writes_again_is_somebody_new(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        first = await storage.say(contact={"id": "fan-7", "name": "Léo"})
        await rights_of(storage).erase(storage.org, "fan-7", "app")
        again = await storage.say("m-2")
        assert (again.conversation, again.reason, again.job == first.job) == ("c-1", None, False)
        new = await storage.row("SELECT display_name, erased_at, locked_at FROM contacts WHERE name = 'fan-7'")
        assert new == {"display_name": None, "erased_at": None, "locked_at": None}
        await swept(storage)
        assert [row["name"] for row in await storage.rows("SELECT name FROM messages")] == ["m-2"]


async def test_erasing_is_no_way_around_a_safety_lock(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(text="j'ai 15 ans")
        assert (await storage.row("SELECT locked_at FROM contacts"))["locked_at"] is not None
        await erased(storage)
        again = await storage.say("m-2")
        assert (again.job, again.reason) == (None, "safety_lock")
        await erased(storage)
        assert (await storage.say("m-3", conversation="c-2")).reason == "safety_lock"


async def test_asked_again_it_is_the_same_erasure_and_a_stranger_knows_nothing_of_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        done = await erased(storage)
        rights = rights_of(storage)
        assert (await rights.erase(storage.org, "fan-7", "app")).id == done.id
        with pytest.raises(NotFound):
            await rights.erase(storage.org, "fan-8", "app")
        with pytest.raises(NotFound):
            await rights.erasure(storage.org + 1, number(done.id))  # type: ignore[arg-type]
        with pytest.raises(NotFound):
            await rights.erase(storage.org + 1, "fan-7", "app")  # type: ignore[arg-type]


WAITING = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


async def test_it_goes_on_after_a_crash_in_the_middle(database_url: str) -> None:
    """The line is cut while a batch is being erased: it waits for a row that somebody reads, and is ended there."""
    async with a_storage(database_url) as storage:
        await storage.hold("Coucou.")
        rights = rights_of(storage)
        await rights.erase(storage.org, "fan-7", "app")
        await storage.rows("UPDATE erasures SET due_at = clock_timestamp()")
        first = await rights.advance()
        assert first is not None
        assert first.rows["jobs"] == 1
        async with storage.database.engine.connect() as somebody:
            await somebody.exec_driver_sql("SELECT id FROM messages FOR UPDATE")
            advancing = asyncio.create_task(rights.advance())
            async with asyncio.timeout(20):
                while not await storage.rows(WAITING):
                    await asyncio.sleep(0.02)
            with pytest.raises(Unavailable):
                await advancing
        assert (await storage.row("SELECT count(*) AS n FROM messages WHERE name IS NOT NULL"))["n"] == 1
        await swept(storage)
        assert await counts(storage) == {"contacts": 1, "erasures": 1}


async def test_a_file_store_that_is_away_is_named_and_asked_again(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        shelf = Shelf()
        await storage.hold("Coucou.")
        await storage.rows("""UPDATE candidates SET kind = 'voice', audio = '{"key": "org_1/speech/a.ogg"}'""")
        shelf.away = True
        running = await erased(storage, shelf)
        files = next(store for store in running.stores if store.store == "files")
        assert (running.state, files.state) == ("running", "failed")
        assert files.note == "the file store did not do it (Timeout)"
        assert shelf.deleted == []

        shelf.away = False
        await storage.rows("UPDATE doomed_files SET due_at = clock_timestamp()")
        await swept(storage, shelf)
        assert shelf.deleted == ["org_1/speech/a.ogg"]
        assert (await rights_of(storage).erasure(storage.org, number(running.id))).state == "done"


async def test_a_file_that_another_contact_hears_stays(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        shelf = Shelf()
        await storage.hold("Coucou.")
        await storage.say("m-2", conversation="c-2", contact={"id": "fan-8"})
        await storage.transitions.record(await storage.claim(), a_reply("Coucou."))
        await storage.rows("""UPDATE candidates SET kind = 'voice', audio = '{"key": "org_1/speech/a.ogg"}'""")
        done = await erased(storage, shelf)
        assert (done.state, shelf.deleted) == ("done", [])


async def test_a_file_that_is_being_spoken_at_that_moment_is_looked_for_later(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.transitions.record(await storage.claim(), Reply((Bubble(BubbleKind.VOICE, "Bonne nuit."),)))
        await storage.make_due()
        assert not isinstance(await storage.try_send(), Posting)
        shelf = Shelf()
        running = await erased(storage, shelf)
        assert (running.state, shelf.deleted) == ("running", [])
        await storage.rows("UPDATE doomed_files SET due_at = clock_timestamp()")
        await swept(storage, shelf)
        assert [key.startswith("org_1/speech/") for key in shelf.deleted] == [True]


async def test_a_message_that_comes_while_the_contact_is_erased_is_the_first_of_somebody_new(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        for turn in range(8):
            rights = rights_of(storage)
            await storage.say(f"m-{turn}-0")
            said = [storage.say(f"m-{turn}-{n}", conversation=f"c-{n % 3}") for n in range(1, 7)]
            await asyncio.gather(rights.erase(storage.org, "fan-7", "app"), *said)
        await swept(storage)
        left = await storage.rows("SELECT ct.erased_at FROM conversations c JOIN contacts ct ON ct.id = c.contact_id")
        assert {row["erased_at"] for row in left} <= {None}
        orphans = "SELECT count(*) AS n FROM contacts WHERE erased_at IS NULL"
        assert (await storage.row(orphans))["n"] <= 1


async def test_what_was_paid_stays_as_a_line_of_the_books(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        for state, url in (("paid", "'https://pay.example/1'"), ("open", "'https://pay.example/2'"), ("open", "NULL")):
            await storage.rows(
                "INSERT INTO payments (org_id, persona_id, contact_id, conversation_id, offer, media_ids, amount, "
                "currency, state, provider, url, paid_reference) "
                f"SELECT org_id, persona_id, contact_id, id, '{state}' || coalesce({url}, ''), '[1]', 10, 'EUR', "
                f"'{state}', 'test', {url}, 'r-1' FROM conversations"
            )
        done = await erased(storage)
        assert done.state == "done"
        kept = await storage.rows("SELECT state, url, offer, media_ids, amount FROM payments ORDER BY id")
        assert [(row["state"], row["url"], row["offer"], row["media_ids"], int(row["amount"])) for row in kept] == [
            ("paid", None, "", [], 10),
            ("expired", None, "", [], 10),
        ]
        shown = await storage.transitions.payment(storage.org, PaymentId(2), PaymentState.PAID, "late", "app")
        assert (shown.state, shown.job) == ("paid", None)


async def test_the_export_holds_everything_and_nobody_elses(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(contact={"id": "fan-7", "name": "Léo", "profile": {"ville": "Lyon"}}, text="mon message")
        claim = await storage.claim()
        await storage.transitions.save_step(claim, a_step(claim), None)
        await storage.transitions.record(claim, a_reply("ma réponse"))
        await storage.say("m-2", conversation="c-2", contact={"id": "fan-8"}, text="message de fan-8")
        exports = Exports(Snapshots(storage.database))
        found = await exports.of(storage.org, "fan-7")
        (conversation,) = found.conversations
        (job,) = conversation["jobs"]
        assert (found.contact["name"], found.contact["profile"]) == ("fan-7", {"ville": "Lyon"})
        assert [message["text"] for message in conversation["messages"]] == ["mon message"]
        assert [bubble["text"] for bubble in job["bubbles"]] == ["ma réponse"]
        assert [len(run["steps"]) for run in job["runs"]] == [1]
        assert [event["to_state"] for event in job["events"]] == ["queued", "running", "held"]
        assert len(found.model_calls) == 1
        assert "fan-8" not in found.model_dump_json()
        with pytest.raises(NotFound):
            await exports.of(storage.org + 1, "fan-7")  # type: ignore[arg-type]


async def keeps_for(storage: Storage, days: int) -> None:
    spec = stored(OrganizationSpec.model_validate({"retention_days": days}))
    await storage.rows(
        "UPDATE organizations SET spec = spec || jsonb_build_object('retention_days', CAST(:days AS int))",
        days=spec["retention_days"],
    )


async def aged(storage: Storage, days: int, conversation: str = "c-1") -> None:
    which = "(SELECT id FROM conversations WHERE name = :name)"
    bound: dict[str, Any] = {"age": timedelta(days=days), "name": conversation}
    for table, columns in (("messages", ("created_at",)), ("jobs", ("created_at", "ended_at"))):
        for column in columns:
            await storage.rows(
                f"UPDATE {table} SET {column} = {column} - :age WHERE conversation_id = {which}", **bound
            )
    for column in ("created_at", "last_inbound_at"):
        await storage.rows(f"UPDATE conversations SET {column} = {column} - :age WHERE name = :name", **bound)


async def answered(storage: Storage, name: str, conversation: str, contact: str) -> None:
    await storage.say(name, conversation=conversation, contact={"id": contact})
    await storage.transitions.record(await storage.claim(), a_reply("Coucou."))
    await storage.make_newest_due()
    await storage.transitions.settle(await storage.send(), Accepted(platform_id=None))


async def test_what_is_older_than_the_organisation_keeps_goes_and_the_rest_stays(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await answered(storage, "m-1", "c-1", "fan-7")
        await aged(storage, 40)
        await answered(storage, "m-2", "c-1", "fan-7")
        await answered(storage, "m-3", "c-2", "fan-8")
        await aged(storage, 40, "c-2")
        await answered(storage, "m-4", "c-3", "fan-9")

        await swept(storage)
        assert (await storage.row("SELECT count(*) AS n FROM messages"))["n"] == 8  # nobody has asked for it
        await keeps_for(storage, 30)
        await swept(storage)

        names = [
            row["name"] for row in await storage.rows("SELECT name FROM messages WHERE name IS NOT NULL ORDER BY 1")
        ]
        assert names == ["m-2", "m-4"]
        assert (await storage.row("SELECT count(*) AS n FROM jobs"))["n"] == 2
        contacts = [row["name"] for row in await storage.rows("SELECT name FROM contacts ORDER BY id")]
        assert contacts == ["fan-7", "erased/2", "fan-9"]
        kept = await storage.row("SELECT erased, after, due_at > clock_timestamp() AS later FROM retention_passes")
        assert (kept["erased"]["messages"], kept["erased"]["jobs"], kept["after"], kept["later"]) == (4, 2, "", True)
        counted = await storage.rows(
            "SELECT labels[1] AS reason, labels[2] AS store, sum(n) AS n FROM tallies WHERE metric = 'erased' "
            "GROUP BY 1, 2"
        )
        taken = {(row["reason"], row["store"]): row["n"] for row in counted}
        assert {store: n for (reason, store), n in taken.items() if reason == "retention"} == kept["erased"]
        assert taken["contact", "profile"] == 1


async def test_a_conversation_with_a_live_job_is_left_alone(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("Coucou.")
        await aged(storage, 40)
        await keeps_for(storage, 30)
        await swept(storage)
        assert (await storage.row("SELECT count(*) AS n FROM messages"))["n"] == 1


async def test_a_long_conversation_is_cleaned_batch_after_batch(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await answered(storage, "m-1", "c-1", "fan-7")
        await storage.rows(
            "INSERT INTO messages (org_id, conversation_id, author, position, text) "
            "SELECT org_id, id, 'operator', n, 'x' FROM conversations, generate_series(10, 1010) AS n"
        )
        await storage.rows("UPDATE conversations SET last_position = 1010")
        await aged(storage, 40)
        await keeps_for(storage, 30)
        rights, batches = rights_of(storage), []
        while (batch := await rights.sweep()) is not None:
            batches.append(batch.rows["messages"])
        assert batches == [MESSAGES, MESSAGES, 3]
        assert (await storage.row("SELECT count(*) AS n FROM messages"))["n"] == 0
