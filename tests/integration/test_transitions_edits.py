"""The contact edits or deletes what they wrote: counted as inbound, answered only while unanswered or live."""

import pytest

from schemas.claims import Accepted
from schemas.errors import Invalid, NotFound
from schemas.http import Ingested, MessagePatch
from tests.builders_storage import Storage, a_storage

SLOW = {"debounce": {"quiet_seconds": 8, "max_wait_seconds": 45}}


async def facts(storage: Storage) -> tuple[int, list[tuple[str, int, str | None]]]:
    """The contact's count, and (state, inbound_seq, reason) of the jobs."""
    rows = await storage.rows("SELECT state, inbound_seq, reason FROM jobs ORDER BY id")
    return (await storage.conversation())["inbound_seq"], [tuple(row.values()) for row in rows]


async def answered(storage: Storage) -> None:
    await storage.hold("salut")
    await storage.transitions.settle(await storage.send(), Accepted())


async def test_an_edit_restarts_the_debounce_of_the_queued_job(database_url: str) -> None:
    async with a_storage(database_url, SLOW) as storage:
        await storage.say()

        said = await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="bonjour"))

        message = await storage.row("SELECT text, edited_at IS NOT NULL AS edited, seq, job_id FROM messages")
        assert (said, message, await facts(storage)) == (
            Ingested(message="m-1", conversation="c-1", job="job_1"),
            {"text": "bonjour", "edited": True, "seq": 1, "job_id": 1},
            (2, [("queued", 2, None)]),
        )


async def test_an_edit_recalls_the_held_reply(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("salut")

        said = await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="non, rien"))

        assert (said.job, await facts(storage)) == (
            "job_2",
            (2, [("superseded", 1, "newer_message"), ("queued", 2, None)]),
        )


async def test_an_edit_of_an_answered_message_makes_no_job(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await answered(storage)

        said = await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="bonjour"))

        assert (said.job, said.reason, await facts(storage)) == (None, "answered", (2, [("sent", 1, None)]))


async def test_an_edit_of_an_answered_message_counts_while_a_job_is_live(database_url: str) -> None:
    async with a_storage(database_url, SLOW) as storage:
        await storage.rows("UPDATE personas SET version = 2, spec = jsonb_set(spec, '{debounce,quiet_seconds}', '0')")
        await answered(storage)
        await storage.say("m-2")

        said = await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="bonjour"))

        assert (said.job, await facts(storage)) == ("job_2", (3, [("sent", 1, None), ("queued", 3, None)]))


async def test_a_deleted_message_that_leaves_nothing_ends_the_queued_job(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(attachments=[{"type": "image", "url": "https://a.example"}])

        said = await storage.transitions.delete_message(storage.org, "m-1")

        message = await storage.row(
            "SELECT text, attachments, deleted_at IS NOT NULL AS deleted FROM messages WHERE position = 1"
        )
        assert (said.reason, message, (await storage.job())["code"], await facts(storage)) == (
            "nothing_to_answer",
            {"text": "", "attachments": None, "deleted": True},
            "AR-510",
            (2, [("silent", 2, "nothing_to_answer")]),
        )
        said_so = await storage.rows("SELECT position, text, job_id FROM messages WHERE author = 'system'")
        assert [dict(row) for row in said_so] == [{"position": 2, "text": "nothing to answer", "job_id": 1}]


async def test_a_deleted_message_beside_another_leaves_the_job_queued(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.say("m-2")

        said = await storage.transitions.delete_message(storage.org, "m-1")

        assert (said.job, await facts(storage)) == ("job_1", (3, [("queued", 3, None)]))


async def test_deleting_again_changes_nothing(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.transitions.delete_message(storage.org, "m-1")

        again = await storage.transitions.delete_message(storage.org, "m-1")

        assert (again.duplicate, await facts(storage)) == (True, (2, [("silent", 2, "nothing_to_answer")]))


async def test_the_operator_edits_without_the_contact_having_done_anything(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(author="operator")

        said = await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="corrigé"))

        assert (said.reason, await facts(storage)) == ("operator", (0, []))


async def test_an_edit_while_a_person_handles_it_only_counts(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.transitions.takeover(storage.org, "c-1", "zoe")

        said = await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="allô ?"))

        assert (said.reason, await facts(storage)) == ("human_handles", (2, [("cancelled", 1, "takeover")]))


@pytest.mark.parametrize("patch", [MessagePatch(), MessagePatch(text=""), MessagePatch(text="\x00", attachments=[])])
async def test_an_edit_to_nothing_is_refused(database_url: str, patch: MessagePatch) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()

        with pytest.raises(Invalid):
            await storage.transitions.edit_message(storage.org, "m-1", patch)

        assert await facts(storage) == (1, [("queued", 1, None)])


async def test_messages_of_strangers_and_deleted_ones_are_not_found(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        other = type(storage.org)(storage.org + 1)
        with pytest.raises(NotFound):
            await storage.transitions.edit_message(other, "m-1", MessagePatch(text="x"))
        with pytest.raises(NotFound):
            await storage.transitions.delete_message(other, "m-1")
        await storage.transitions.delete_message(storage.org, "m-1")

        with pytest.raises(NotFound):
            await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="x"))
