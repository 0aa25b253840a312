"""A message arrives: rows 1 to 6 of docs/TRANSITIONS.md, duplicates, and what is refused."""

import asyncio
from typing import Any

import pytest

from schemas.errors import Conflict, Invalid, TooLarge, Unavailable
from schemas.http import Ingested
from schemas.jobs import AutoReply
from tests.builders_storage import Storage, a_message, a_reply, a_storage

SLOW = {"debounce": {"quiet_seconds": 8, "max_wait_seconds": 45}}


async def seconds_until_due(storage: Storage) -> float:
    row = await storage.row(
        "SELECT EXTRACT(EPOCH FROM due_at - clock_timestamp()) AS s FROM jobs ORDER BY id DESC LIMIT 1"
    )
    return float(row["s"])


async def jobs(storage: Storage) -> list[tuple[str, int, int]]:
    """(state, inbound_seq, supersedes), oldest first."""
    rows = await storage.rows("SELECT state, inbound_seq, supersedes FROM jobs ORDER BY id")
    return [(row["state"], row["inbound_seq"], row["supersedes"]) for row in rows]


async def test_the_first_message_makes_contact_conversation_message_and_job(database_url: str) -> None:
    async with a_storage(database_url, SLOW) as storage:
        said = await storage.say(contact={"id": "fan-7", "name": "Léo", "locale": "fr", "profile": {"spent": "35"}})

        stored = await storage.row(
            "SELECT c.name, c.inbound_seq, c.last_position, ct.name AS contact, ct.display_name, ct.locale, ct.profile,"
            " m.name AS message, m.author, m.position, m.seq, m.text, m.job_id = j.id AS its_job, j.state, j.queue,"
            " j.inbound_seq AS answers, j.engine, j.trigger, j.due_at BETWEEN clock_timestamp() + interval '7 s'"
            " AND clock_timestamp() + interval '8 s' AS due_after_quiet, j.dispatched_at"
            " FROM conversations c JOIN contacts ct ON ct.id = c.contact_id"
            " JOIN messages m ON m.conversation_id = c.id JOIN jobs j ON j.conversation_id = c.id"
        )
        assert (said, stored) == (
            Ingested(message="m-1", conversation="c-1", job="job_1"),
            {
                "name": "c-1",
                "inbound_seq": 1,
                "last_position": 1,
                "contact": "fan-7",
                "display_name": "Léo",
                "locale": "fr",
                "profile": {"spent": "35"},
                "message": "m-1",
                "author": "contact",
                "position": 1,
                "seq": 1,
                "text": "coucou",
                "its_job": True,
                "state": "queued",
                "queue": "reply",
                "answers": 1,
                "engine": "v2",
                "trigger": "message",
                "due_after_quiet": True,
                "dispatched_at": None,
            },
        )


async def test_a_second_message_restarts_the_debounce_of_the_same_job(database_url: str) -> None:
    async with a_storage(database_url, SLOW) as storage:
        await storage.say()
        await storage.rows("UPDATE jobs SET due_at = clock_timestamp(), dispatched_at = clock_timestamp()")

        said = await storage.say("m-2")

        job = await storage.job()
        assert (said.job, job["inbound_seq"], job["dispatched_at"]) == ("job_1", 2, None)
        assert 7 < await seconds_until_due(storage) <= 8


async def test_the_debounce_ends_at_max_wait(database_url: str) -> None:
    async with a_storage(database_url, SLOW) as storage:
        await storage.say()
        await storage.rows("UPDATE jobs SET first_message_at = clock_timestamp() - interval '43 s'")

        await storage.say("m-2")

        assert 1 < await seconds_until_due(storage) <= 2


async def test_a_parked_job_stays_parked_when_the_contact_writes(database_url: str) -> None:
    async with a_storage(database_url, SLOW) as storage:
        await storage.say()
        await storage.rows("UPDATE jobs SET parked_until = clock_timestamp() + interval '60 s'")

        await storage.say("m-2")

        assert 59 < await seconds_until_due(storage) <= 60


async def test_a_pause_delays_the_job_and_does_not_swallow_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(author="operator")
        await storage.rows(
            "UPDATE conversations SET handled_by = 'ai', paused_until = clock_timestamp() + interval '60 s'"
        )

        await storage.say("m-2")

        assert 59 < await seconds_until_due(storage) <= 60
        assert storage.courier.heard == []


async def test_with_no_quiet_time_the_hint_leaves_at_once(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()

        job = await storage.job()
        assert storage.courier.heard == [AutoReply(conversation=1, job=1)]
        assert job["dispatched_at"] is not None


async def test_above_the_cap_the_hint_is_left_to_the_clock(database_url: str) -> None:
    async with a_storage(database_url, organization={"limits": {"in_flight": 2}}) as storage:
        for number in range(3):
            await storage.say(f"m-{number}", conversation=f"c-{number}")

        rows = await storage.rows("SELECT dispatched_at IS NOT NULL AS dispatched FROM jobs ORDER BY id")
        assert [row["dispatched"] for row in rows] == [True, True, False]
        assert len(storage.courier.heard) == 2


async def test_a_running_job_is_left_alone(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.claim()

        said = await storage.say("m-2")

        assert (said.job, await jobs(storage)) == ("job_1", [("running", 1, 0)])


async def test_a_held_reply_is_recalled_for_a_newer_message(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un", "deux")

        said = await storage.say("m-2")

        assert (said.job, await jobs(storage), await storage.candidates()) == (
            "job_2",
            [("superseded", 1, 0), ("queued", 2, 1)],
            [(0, "text", "recalled", "un"), (1, "text", "recalled", "deux")],
        )


async def test_after_three_supersedes_in_a_row_the_reply_stands(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        for number in range(4):
            await storage.say(f"m-{number}")
            await storage.transitions.record(await storage.claim(), a_reply(f"essai {number}"))

        said = await storage.say("m-9")

        job = await storage.job()
        assert (said.job, job["state"], job["pinned"], job["inbound_seq"]) == ("job_4", "held", True, 4)
        assert [state for state, *_ in await jobs(storage)] == ["superseded", "superseded", "superseded", "held"]


async def test_a_follow_up_gives_way_in_any_state(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.rows("UPDATE jobs SET kind = 'follow_up'")
        await storage.claim()

        said = await storage.say("m-2")

        assert (said.job, await jobs(storage)) == ("job_2", [("superseded", 1, 0), ("queued", 2, 0)])


async def test_the_same_id_again_is_the_first_message_whatever_it_says(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        first = await storage.say()

        same = await storage.say()
        other = await storage.say(text="autre chose", conversation="c-2", persona="nobody")

        rows = await storage.rows("SELECT text FROM messages")
        assert (same, other, rows) == (
            first.model_copy(update={"duplicate": True}),
            first.model_copy(update={"duplicate": True, "reason": "id seen with another body"}),
            [{"text": "coucou"}],
        )


@pytest.mark.parametrize("known", [True, False], ids=["known conversation", "new conversation"])
async def test_the_same_id_from_eight_at_once_is_one_message(database_url: str, known: bool) -> None:
    async with a_storage(database_url, SLOW, pool_size=8) as storage:
        if known:
            await storage.say("m-0")

        said = await asyncio.gather(*(storage.say() for _ in range(8)))

        counts = await storage.row(
            "SELECT (SELECT count(*) FROM conversations) AS conversations, (SELECT count(*) FROM contacts) AS contacts,"
            " (SELECT count(*) FROM messages WHERE name = 'm-1') AS messages, (SELECT count(*) FROM jobs) AS jobs"
        )
        assert counts == {"conversations": 1, "contacts": 1, "messages": 1, "jobs": 1}
        assert sorted(answer.duplicate for answer in said) == [False] + [True] * 7
        assert {answer.job for answer in said} == {"job_1"}


async def test_the_same_id_for_eight_conversations_at_once_is_one_message(database_url: str) -> None:
    async with a_storage(database_url, SLOW, pool_size=8) as storage:
        await asyncio.gather(*(storage.say(f"o-{n}", conversation=f"c-{n}") for n in range(8)))

        said = await asyncio.gather(*(storage.say("m-1", conversation=f"c-{n}") for n in range(8)))

        rows = await storage.rows(
            "SELECT c.name, c.inbound_seq, count(m.id) AS messages FROM conversations c"
            " JOIN messages m ON m.conversation_id = c.id GROUP BY c.id ORDER BY messages"
        )
        assert sorted(answer.duplicate for answer in said) == [False] + [True] * 7
        assert [(row["inbound_seq"], row["messages"]) for row in rows] == [(1, 1)] * 7 + [(2, 2)]


async def test_a_new_contact_in_eight_new_conversations_at_once_is_one_contact(database_url: str) -> None:
    async with a_storage(database_url, SLOW, pool_size=8) as storage:
        said = await asyncio.gather(*(storage.say(f"m-{n}", conversation=f"c-{n}") for n in range(8)))

        counts = await storage.row(
            "SELECT count(*) AS conversations, count(DISTINCT contact_id) AS theirs,"
            " (SELECT count(*) FROM contacts) AS contacts FROM conversations"
        )
        assert counts == {"conversations": 8, "theirs": 1, "contacts": 1}
        assert [answer.duplicate for answer in said] == [False] * 8


async def test_a_new_conversation_claimed_by_eight_contacts_at_once_is_the_first_ones(database_url: str) -> None:
    async with a_storage(database_url, SLOW, pool_size=8) as storage:
        said = await asyncio.gather(
            *(storage.say(f"m-{n}", contact={"id": f"fan-{n}"}) for n in range(8)), return_exceptions=True
        )

        rows = await storage.rows("SELECT ct.id FROM contacts ct JOIN conversations c ON c.contact_id = ct.id")
        counts = await storage.row(
            "SELECT (SELECT count(*) FROM contacts) AS contacts, (SELECT count(*) FROM messages) AS messages"
        )
        refused = [answer for answer in said if isinstance(answer, Conflict)]
        assert (len(rows), counts, len(refused)) == (1, {"contacts": 1, "messages": 1}, 7)


async def test_a_contact_half_erased_is_an_error_and_no_endless_loop(database_url: str) -> None:
    """No transition leaves a contact so; a row changed by hand may."""
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.rows("UPDATE contacts SET erased_at = clock_timestamp()")

        with pytest.raises(Unavailable):
            await asyncio.wait_for(storage.say("m-2", conversation="c-2"), 20)


async def test_contact_facts_are_merged_last_wins(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(contact={"id": "fan-7", "name": "Léo", "locale": "fr", "profile": {"a": 1, "b": 1}})
        await storage.say("m-2", contact={"id": "fan-7", "timezone": "Europe/Paris", "profile": {"b": 2}})
        await storage.say("m-3", contact=None)

        contact = await storage.row("SELECT display_name, locale, timezone, profile FROM contacts")
        assert contact == {
            "display_name": "Léo",
            "locale": "fr",
            "timezone": "Europe/Paris",
            "profile": {"a": 1, "b": 2},
        }


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"persona": "nobody"}, "persona"),
        ({"contact": None}, "contact"),
        ({"text": None}, "text"),
        ({"text": "\x00\x00"}, "text"),
    ],
)
async def test_what_cannot_be_stored_is_refused_by_name(database_url: str, changes: dict[str, Any], field: str) -> None:
    async with a_storage(database_url) as storage:
        with pytest.raises(Invalid) as refused:
            await storage.say(**changes)

        errors: Any = refused.value.facts["errors"]
        assert [error["field"] for error in errors] == [field]
        assert await storage.rows("SELECT name FROM conversations UNION ALL SELECT name FROM contacts") == []


@pytest.mark.parametrize("changes", [{"persona": "zoe"}, {"contact": {"id": "fan-8"}}])
async def test_a_conversation_keeps_its_persona_and_contact(database_url: str, changes: dict[str, Any]) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()

        with pytest.raises(Conflict):
            await storage.say("m-2", **changes)


@pytest.mark.parametrize(
    "changes", [{"text": "é" * 32_769}, {"attachments": [{"type": "image", "url": "https://a.example"}] * 21}]
)
async def test_what_is_too_large_is_refused(database_url: str, changes: dict[str, Any]) -> None:
    async with a_storage(database_url) as storage:
        with pytest.raises(TooLarge):
            await storage.say(**changes)


async def test_whitespace_and_text_at_the_limit_are_stored(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(text="  ")
        await storage.say("m-2", text="x" * 65_536)

        rows = await storage.rows("SELECT length(text) AS length FROM messages ORDER BY position")
        assert [row["length"] for row in rows] == [2, 65_536]


async def test_text_postgres_cannot_hold_is_cleaned_everywhere(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        message = a_message().model_copy(update={"text": "a\x00b\ud800 \ud83d\ude00"})
        contact = a_message().contact
        assert contact is not None
        dirty = contact.model_copy(update={"name": "L\x00éo", "profile": {"k\x00": ["\udfff"]}})
        await storage.transitions.ingest(storage.org, message.model_copy(update={"contact": dirty}))

        row = await storage.row("SELECT m.text, ct.display_name, ct.profile FROM messages m, contacts ct")
        assert row == {"text": "ab\ufffd 😀", "display_name": "Léo", "profile": {"k": ["\ufffd"]}}


async def test_an_echo_is_not_stored(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        said = await storage.say(author="self")

        assert said == Ingested(message="m-1", conversation="c-1", job=None, reason="echo")
        assert await storage.rows("SELECT name FROM messages UNION ALL SELECT name FROM conversations") == []


async def test_an_operator_who_writes_makes_the_ai_stand_back(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un")

        said = await storage.say("m-2", author="operator", text="je suis là")
        after = await storage.say("m-3")

        conversation = await storage.conversation()
        assert (said.job, said.reason, after.job, after.reason) == (None, "operator", None, "human_handles")
        assert (conversation["handled_by"], conversation["operator_seq"], conversation["inbound_seq"]) == (
            "human",
            1,
            2,
        )
        assert (await jobs(storage), await storage.candidates()) == (
            [("cancelled", 1, 0)],
            [(0, "text", "recalled", "un")],
        )


@pytest.mark.parametrize(
    ("flag", "reason"), [("opted_out_at", "opted_out"), ("locked_at", "safety_lock"), ("erased_at", "erased")]
)
async def test_a_flag_of_the_contact_is_a_reason_instead_of_a_job(database_url: str, flag: str, reason: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(author="operator")
        await storage.rows("UPDATE conversations SET handled_by = 'ai'")
        await storage.rows(f"UPDATE contacts SET {flag} = clock_timestamp()")

        said = await storage.say("m-2")

        message = await storage.row("SELECT job_id, reason, seq FROM messages WHERE name = 'm-2'")
        assert (said.job, said.reason, message) == (None, reason, {"job_id": None, "reason": reason, "seq": 1})


async def test_with_autonomy_off_the_message_is_stored_and_says_so(database_url: str) -> None:
    async with a_storage(database_url, {"autonomy": "off"}) as storage:
        said = await storage.say()

        assert (said.job, said.reason, await jobs(storage)) == (None, "autonomy_off", [])


async def test_a_new_version_of_the_persona_counts_from_the_next_message(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.rows(
            "UPDATE personas SET version = 2, spec = jsonb_set(spec, '{debounce}',"
            ' \'{"quiet_seconds": 30, "max_wait_seconds": 45}\')'
        )

        await storage.say("m-2")

        assert 29 < await seconds_until_due(storage) <= 30


async def test_every_message_leaves_an_event(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un")
        await storage.say("m-2")
        await storage.say("m-3")

        rows = await storage.rows("SELECT job_id, who, from_state, to_state, why FROM job_events ORDER BY id")
        assert [tuple(row.values()) for row in rows] == [
            (1, "contact", None, "queued", "message"),
            (1, "worker", "queued", "running", "claimed"),
            (1, "worker", "running", "held", "decided"),
            (1, "contact", "held", "superseded", "newer_message"),
            (2, "contact", None, "queued", "newer_message"),
            (2, "contact", "queued", "queued", "debounce"),
        ]
