"""How many voice bubbles a contact has had today: what a run is told when it begins."""

import pytest

from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Reply
from tests.builders_storage import Storage, a_storage


async def told(storage: Storage, conversation: str) -> int:
    await storage.say(f"m-{conversation}", conversation=conversation)
    return (await storage.claim()).case.vocals_today


async def drafted(storage: Storage, conversation: str, *kinds: BubbleKind) -> None:
    await storage.say(f"d-{conversation}", conversation=conversation)
    bubbles = tuple(Bubble(kind, f"{number}") for number, kind in enumerate(kinds))
    await storage.transitions.record(await storage.claim(), Reply(bubbles))


GIVEN_UP = """
WITH over AS (UPDATE candidates SET state = 'failed', left_at = clock_timestamp() RETURNING *)
INSERT INTO deliveries (webhook_id, type, org_id, conversation_id, job_id, candidate_id, queue, body, state, ambiguous)
SELECT 'wh_' || id, 'message.send', org_id, conversation_id, job_id, id, 'send', '{}', 'failed', ordinal > 0 FROM over
"""
"""The first was clearly refused; the second, a text, and the third may have arrived."""


@pytest.mark.parametrize(
    ("happened", "count"),
    [
        ("UPDATE candidates SET state = 'sent', left_at = clock_timestamp() - interval '23 hours'", 2),
        ("UPDATE candidates SET state = 'sent', left_at = clock_timestamp() - interval '25 hours'", 0),
        ("UPDATE candidates SET state = 'recalled'", 0),
        ("SELECT 'they wait in another conversation'", 2),
        (GIVEN_UP, 1),
    ],
)
async def test_voices_of_24_hours_in_all_conversations_of_the_contact(
    database_url: str, happened: str, count: int
) -> None:
    async with a_storage(database_url) as storage:
        await drafted(storage, "c-1", BubbleKind.VOICE, BubbleKind.TEXT, BubbleKind.VOICE)
        await storage.rows(happened)

        assert await told(storage, "c-2") == count


async def test_another_contacts_voices_do_not_count(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await drafted(storage, "c-1", BubbleKind.VOICE)
        await storage.say("m-9", conversation="c-9", contact={"id": "fan-9"})

        assert (await storage.claim()).case.vocals_today == 0
