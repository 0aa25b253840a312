"""An operator cancels while the bubble is about to leave: 200 and nobody sees it, or 409 and the contact does."""

import asyncio
import random

import pytest

from schemas.claims import Posting, Refused
from schemas.errors import TooLate
from schemas.ids import JobId
from schemas.jobs import AutoReply, DelayedSend, Deliver
from tests.builders_storage import Storage, a_reply, a_storage, job_of
from tests.upstream import SECRET, Receiver, running_receiver
from workers.adapters.channels.guard import Guard
from workers.adapters.channels.webhook import WebhookChannel
from workers.adapters.clock import SystemClock

AT_ONCE = 4
SPREAD = 0.03
"""Seconds within which both begin."""


async def held(storage: Storage, place: str) -> DelayedSend:
    said = await storage.say(f"m-{place}", conversation=place, contact={"id": f"f-{place}"})
    job = job_of(said)
    conversation = (await storage.job(job))["conversation_id"]
    claim = await storage.transitions.claim_run(AutoReply(conversation=conversation, job=job))
    assert claim is not None
    await storage.transitions.record(claim, a_reply("un"))
    return DelayedSend(conversation=conversation, job=job)


async def post(storage: Storage, channel: WebhookChannel, posting: Posting) -> bool:
    """Whether the receiver asks for another attempt."""
    posted = await channel.post(posting.endpoint, posting.webhook_id, posting.body)
    await storage.transitions.settle(posting, posted)
    return isinstance(posted, Refused)


async def send(storage: Storage, channel: WebhookChannel, hint: DelayedSend, after: float) -> None:
    await asyncio.sleep(after)
    posting = await storage.transitions.claim_send(hint)
    while posting is not None and await post(storage, channel, posting):
        await storage.rows(
            "UPDATE deliveries SET due_at = clock_timestamp() WHERE id = :id AND state = 'waiting'", id=posting.delivery
        )
        again = Deliver(conversation=hint.conversation, delivery=posting.delivery)
        posting = await storage.transitions.claim_delivery(again)


async def cancel(storage: Storage, job: JobId, after: float) -> int:
    await asyncio.sleep(after)
    try:
        await storage.transitions.cancel(storage.org, job, "zoe")
    except TooLate:
        return 409
    return 200


async def race(
    storage: Storage, channel: WebhookChannel, receiver: Receiver, number: int, chance: random.Random
) -> tuple[int, int]:
    """(what the operator was told, how often the contact saw it)."""
    place = f"c-{number}"
    if number % 4 == 0:
        receiver.answers[place] = [503]
    hint = await held(storage, place)
    told, _ = await asyncio.gather(
        cancel(storage, JobId(hint.job), chance.uniform(0, SPREAD)),
        send(storage, channel, hint, chance.uniform(0, SPREAD)),
    )
    return told, len(receiver.applied(place))


@pytest.mark.parametrize("rounds", [40, pytest.param(200, marks=pytest.mark.slow)])
async def test_a_cancelled_reply_is_never_delivered_and_a_refused_cancel_always_is(
    database_url: str, rounds: int
) -> None:
    chance = random.Random(7)
    with running_receiver() as receiver:
        webhook = {"webhook": {"url": receiver.url, "secret": SECRET}}
        async with (
            a_storage(database_url, organization=webhook) as storage,
            WebhookChannel(SystemClock(), 5, Guard(private=True)) as channel,
        ):
            seen = []
            for first in range(0, rounds, AT_ONCE):
                numbers = range(first, first + AT_ONCE)
                seen += await asyncio.gather(*(race(storage, channel, receiver, n, chance) for n in numbers))

    assert set(seen) == {(200, 0), (409, 1)}
    assert len(seen) == rounds
