"""A safety lock closes links at Stripe, too: by a chore that goes on until nothing can be paid there any more."""

import json
from typing import Any

from pydantic import SecretStr

from schemas.groups import PaymentSettings
from schemas.jobs import CloseLinks, Queue
from schemas.payments import Link
from schemas.settings import Settings
from tests.builders_shop import a_selling_reply, an_offer
from tests.builders_storage import Storage
from tests.fakes_courier import an_app
from tests.integration.test_transitions_payment import MINOR, PAID, a_shop, hold, sell, take, told
from tests.receiver import Answer, Receiver, receiving, status
from workers.actors.close_links import close_links
from workers.adapters.payments.wanted import StripeWhenWanted
from workers.adapters.postgres.dispatch import Dispatch

SESSION = {"id": "cs_1", "object": "checkout.session", "status": "expired"}
AT_STRIPE = "UPDATE payments SET provider = 'stripe', expires_at = clock_timestamp() + interval '1 day' WHERE id = :id"
CHORES = """SELECT conversation_id, tries, error, due_at > clock_timestamp() AS later, lease_until FROM chores
WHERE kind = 'close_links' ORDER BY conversation_id"""


def answering(code: int = 200, **body: Any) -> Answer:
    return status(code, json.dumps(body or SESSION), content_type="application/json")


async def due(storage: Storage) -> list[CloseLinks]:
    """What the clock sends out now."""
    await storage.rows("UPDATE chores SET due_at = clock_timestamp(), dispatched_at = NULL WHERE due_at IS NOT NULL")
    found = await Dispatch(storage.database, 10).admit(Queue.BACKGROUND, None, None)
    return [hint for hint in found.hints if isinstance(hint, CloseLinks)]


async def work(storage: Storage, receiver: Receiver) -> list[str]:
    """A worker with Stripe's own library does what is due. Answers what was asked of Stripe."""
    payments = PaymentSettings(
        stripe_key=SecretStr("sk_test_of_ours"), stripe_base_url=f"http://127.0.0.1:{receiver.port}"
    )
    app = an_app()
    expiry = StripeWhenWanted(Settings(payments=payments))
    object.__setattr__(app, "storage", storage.transitions)
    object.__setattr__(app, "expiry", expiry)
    before = len(receiver.heard)
    try:
        for hint in await due(storage):
            await close_links(hint, app)
    finally:
        await expiry.close()
    return [headers[":request"].removesuffix(" HTTP/1.1") for headers, _ in receiver.heard[before:]]


async def test_a_session_is_expired_again_and_again_until_it_is(database_url: str) -> None:
    async with a_shop(database_url) as storage, receiving(answering(503), answering()) as receiver:
        await sell(storage)
        await storage.rows(AT_STRIPE, id=1)
        await storage.say("m-2", text=MINOR)
        first = await work(storage, receiver)
        (waits,) = await storage.rows(CHORES)
        second = await work(storage, receiver)
        (done,) = await storage.rows(CHORES)
        nothing = await due(storage)

        expire = ["POST /v1/checkout/sessions/cs_1/expire"]
        assert (first, second, nothing) == (expire, expire, [])
        assert (waits["tries"], waits["error"], waits["later"]) == (1, "stripe answered 503 (APIError)", True)
        assert (done["tries"], done["error"], done["later"], done["lease_until"]) == (0, None, None, None)


async def test_links_of_all_conversations_are_closed_and_nobody_elses(database_url: str) -> None:
    async with a_shop(database_url) as storage, receiving(answering(), answering()) as receiver:
        await sell(storage)
        await hold(storage, an_offer("p-2", price="2.50"), name="m-2")
        taken = await take(storage)
        assert await storage.transitions.leave_linked(taken, Link("https://pay.example/2", "cs_2")) is not None
        await storage.say("m-3", conversation="c-2")
        await storage.transitions.record(await storage.claim(), a_selling_reply(an_offer("v-1", "p-2", price="12.50")))
        await storage.rows("UPDATE payments SET provider = 'stripe', expires_at = clock_timestamp() + interval '1 day'")
        await storage.rows("UPDATE payments SET provider = 'webhook', reference = 'theirs' WHERE id = 2")
        await storage.say("m-4", conversation="c-2", text=MINOR)

        assert await work(storage, receiver) == ["POST /v1/checkout/sessions/cs_1/expire"]
        assert [row["conversation_id"] for row in await storage.rows(CHORES)] == [1]


async def test_a_link_that_was_made_while_the_lock_came_is_closed_as_well(database_url: str) -> None:
    async with a_shop(database_url) as storage, receiving(answering()) as receiver:
        await hold(storage, an_offer("v-1"))
        bubble = await take(storage)
        await storage.rows(AT_STRIPE, id=1)
        await storage.say("m-2", text=MINOR)
        before = await storage.rows(CHORES)
        late = await storage.transitions.leave_linked(bubble, Link("https://pay.example/1", "cs_late"))

        assert (before, late) == ([], None)
        assert await work(storage, receiver) == ["POST /v1/checkout/sessions/cs_late/expire"]


async def test_what_was_paid_before_it_could_be_closed_is_kept_for_a_refund_and_no_longer_asked_for(
    database_url: str,
) -> None:
    async with a_shop(database_url) as storage, receiving(answering(400, error={"message": "no"})) as receiver:
        await sell(storage)
        await storage.rows(AT_STRIPE, id=1)
        await storage.say("m-2", text=MINOR)
        await told(storage, PAID)
        asked = await work(storage, receiver)

        assert (asked, await storage.rows("SELECT state FROM payments")) == ([], [{"state": "paid"}])
        assert (await storage.job())["note"] == "paid_and_locked"


async def test_a_session_that_is_over_is_left_alone(database_url: str) -> None:
    async with a_shop(database_url) as storage, receiving() as receiver:
        await sell(storage)
        await storage.rows(AT_STRIPE, id=1)
        await storage.say("m-2", text=MINOR)
        await storage.rows("UPDATE payments SET expires_at = clock_timestamp() - interval '1 s'")

        assert (await work(storage, receiver), await due(storage)) == ([], [])
