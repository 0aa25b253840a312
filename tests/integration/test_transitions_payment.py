"""A payment bubble's life, and what was paid: one link per offer, one delivery per payment, whatever happens."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest

from schemas.catalogue import Had
from schemas.claims import Accepted, Posting, Refused
from schemas.errors import Conflict, NotFound, TooLate
from schemas.http import CandidatePatch
from schemas.ids import CandidateId, JobId, PaymentId
from schemas.jobs import AutoReply, DelayedSend
from schemas.payments import Link, LinkFailed, Offering, PaymentState
from tests.builders_shop import a_selling_reply, an_offer, stock
from tests.builders_storage import Storage, a_storage

AWAY = LinkFailed("stripe answered 503 (api_error)", retryable=True)
NEVER = LinkFailed("stripe answered 400 (amount_too_small)", retryable=False)
LINK = Link("https://pay.example/1", "cs_1")
PAID, EXPIRED, REFUNDED = PaymentState.PAID, PaymentState.EXPIRED, PaymentState.REFUNDED


@asynccontextmanager
async def a_shop(database_url: str, **persona: Any) -> AsyncIterator[Storage]:
    async with a_storage(database_url, persona) as storage:
        await stock(storage.rows, v_1="10.00", p_2="2.50", p_free=None)
        yield storage


async def hold(storage: Storage, *bubbles: Any, name: str = "m-1") -> JobId:
    await storage.say(name)
    claim = await storage.claim()
    await storage.transitions.record(claim, a_selling_reply(*bubbles))
    return claim.job


async def take(storage: Storage) -> Offering:
    taken = await storage.try_send()
    assert isinstance(taken, Offering)
    return taken


async def send(storage: Storage, job: JobId) -> Posting | None:
    """The job's next bubble, whichever job is the newest."""
    await storage.rows("UPDATE jobs SET due_at = clock_timestamp() WHERE id = :job AND due_at IS NOT NULL", job=job)
    taken = await storage.transitions.claim_send(DelayedSend(conversation=1, job=job))
    assert taken is None or isinstance(taken, Posting)
    return taken


async def sell(storage: Storage, *media: str, price: str = "10.00", name: str = "m-1") -> dict[str, Any]:
    """The payment of a bubble that was linked and accepted."""
    await hold(storage, an_offer(*media or ("v-1",), price=price), name=name)
    taken = await take(storage)
    number = taken.order.payment
    posting = await storage.transitions.leave_linked(taken, Link(f"https://pay.example/{number}", f"cs_{number}"))
    assert posting is not None
    await storage.transitions.settle(posting, Accepted())
    return json.loads(posting.body)["data"]["payment"]  # type: ignore[no-any-return]


async def told(storage: Storage, to: PaymentState, number: int = 1) -> Any:
    return await storage.transitions.payment(storage.org, PaymentId(number), to, "tx-1", "app")


async def deliver(storage: Storage, job: JobId) -> list[dict[str, Any]]:
    """All of a job's bubbles, handed over one by one."""
    sent = []
    while (posting := await send(storage, job)) is not None:
        sent.append(json.loads(posting.body)["data"])
        await storage.transitions.settle(posting, Accepted())
    return sent


async def state(storage: Storage) -> tuple[Any, ...]:
    job = await storage.job()
    return (job["state"], job["code"], job["on_hold"], [bubble[2] for bubble in await storage.candidates()])


# -------------------------------------------------------------------- one link


async def test_the_link_leaves_in_the_body_and_the_file_does_not(database_url: str) -> None:
    async with a_shop(database_url, language="fr", display_name="Maya") as storage:
        await hold(storage, an_offer("v-1", "p-2", price="12.50"))
        bubble = await take(storage)
        posting = await storage.transitions.leave_linked(bubble, LINK)

        assert posting is not None
        body = json.loads(posting.body)["data"]
        tag = (await storage.row("SELECT tag FROM installation"))["tag"]
        assert (bubble.order.key, bubble.order.title) == (f"replique-{tag}-pay_1", "Maya: 1 photo, 1 vidéo")
        assert (body["kind"], body["text"], body["media"], body["payment"]) == (
            "payment",
            "pour toi",
            [],
            {
                "id": "pay_1",
                "url": "https://pay.example/1",
                "amount": "12.50",
                "currency": "EUR",
                "media_ids": ["v-1", "p-2"],
            },
        )
        assert await storage.rows("SELECT what, amount, payment_id FROM media_facts ORDER BY id") == [
            {"what": "offered", "amount": 10, "payment_id": 1},
            {"what": "offered", "amount": Decimal("2.50"), "payment_id": 1},
        ]


async def test_the_same_offer_twice_is_one_link(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        first = await sell(storage, "v-1", "p-2", price="12.50")
        await hold(storage, an_offer("p-2", "v-1", price="12.50"), name="m-2")
        again = await storage.send()

        assert json.loads(again.body)["data"]["payment"] | {"media_ids": []} == first | {"media_ids": []}
        assert await storage.rows("SELECT state, url FROM payments") == [{"state": "open", "url": LINK.url}]


async def test_a_worker_that_died_over_the_link_is_followed_by_one_with_the_same_order(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await hold(storage, an_offer("v-1"))
        lost = await take(storage)
        await storage.rows("UPDATE jobs SET lease_until = NULL, due_at = clock_timestamp()")
        found = await take(storage)
        late = await storage.transitions.leave_linked(lost, LINK)
        posting = await storage.transitions.leave_linked(found, Link("https://pay.example/other", "cs_2"))

        assert (lost.order, late) == (found.order, None)
        assert posting is not None
        assert json.loads(posting.body)["data"]["payment"]["url"] == LINK.url
        assert len(await storage.rows("SELECT 1 FROM payments")) == 1


async def test_two_conversations_of_a_contact_share_the_link(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        for name in ("c-1", "c-2"):
            await storage.say(f"m-{name}", conversation=name)
            await storage.transitions.record(await storage.claim(), a_selling_reply(an_offer("v-1")))
        await storage.rows("UPDATE jobs SET due_at = clock_timestamp()")
        hints = [DelayedSend(conversation=number, job=number) for number in (1, 2)]
        taken = await asyncio.gather(*map(storage.transitions.claim_send, hints))

        orders = {bubble.order.key for bubble in taken if isinstance(bubble, Offering)}
        assert (len(taken), len(orders)) == (2, 1)


async def test_a_link_that_is_about_to_expire_is_not_sent_again(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await storage.rows("UPDATE payments SET expires_at = clock_timestamp() + interval '5 minutes'")
        await hold(storage, an_offer("v-1"), name="m-2")

        assert (await take(storage)).order.payment == 2
        assert [row["state"] for row in await storage.rows("SELECT state FROM payments ORDER BY id")] == [
            "expired",
            "open",
        ]


async def test_a_price_edited_meanwhile_is_another_link(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await hold(storage, an_offer("v-1"))
        before = await take(storage)
        patch = CandidatePatch.model_validate({"price": {"amount": "8", "currency": "EUR"}})
        await storage.transitions.edit_candidate(storage.org, CandidateId(1), patch, "zoe")
        late = await storage.transitions.leave_linked(before, LINK)
        after = await take(storage)

        assert (late, after.order.price.text, after.order.payment) == (None, "8.00", 2)


# -------------------------------------------------------------------- row 29


async def test_three_failures_wait_for_a_person_whose_approval_tries_again(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        job = await hold(storage, an_offer("v-1"), "deux")
        for _ in range(2):
            await storage.transitions.link_failed(await take(storage), AWAY)
            await storage.make_due()
        between = await state(storage)
        await storage.transitions.link_failed(await take(storage), AWAY)
        asked = await state(storage)
        row = await storage.job()
        told_people = await storage.rows("SELECT type FROM deliveries WHERE candidate_id IS NULL")
        await storage.transitions.approve(storage.org, job, "zoe")
        posting = await storage.transitions.leave_linked(await take(storage), LINK)

        assert between == ("sending", None, False, ["held", "held"])
        assert asked == ("held", "AR-562", True, ["held", "held"])
        assert (row["attention"], row["reason"], row["due_at"]) == ("open", "link_failed", None)
        assert told_people == [{"type": "attention.raised"}]
        assert posting is not None
        assert await state(storage) == ("sending", None, False, ["leaving", "held"])


async def test_what_is_hopeless_is_not_tried_again(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await hold(storage, an_offer("v-1"))
        await storage.transitions.link_failed(await take(storage), NEVER)

        assert await state(storage) == ("held", "AR-562", True, ["held"])


CHANGES = {
    "bought": "INSERT INTO media_facts (org_id, contact_id, persona_id, media_id, what) VALUES (1, 1, 1, 1, 'bought')",
    "withdrawn": "UPDATE media_items SET deleted_at = clock_timestamp() WHERE id = 1",
    "free now": "UPDATE media_items SET price = NULL, currency = NULL WHERE id = 1",
    "no consent": "UPDATE media_items SET consent = NULL WHERE id = 1",
    "dearer": "UPDATE media_items SET price = 30 WHERE id = 1",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("when", ["in the window", "while the link was made"])
async def test_what_may_not_be_sold_any_more_is_held_for_a_person(database_url: str, change: str, when: str) -> None:
    async with a_shop(database_url) as storage:
        await hold(storage, an_offer("v-1"), "deux")
        bubble = await take(storage) if when != "in the window" else None
        await storage.rows(CHANGES[change])
        left = await storage.try_send() if bubble is None else await storage.transitions.leave_linked(bubble, LINK)

        assert (left, await state(storage)) == (None, ("held", "AR-562", True, ["held", "held"]))


async def test_a_message_while_the_link_is_made_recalls_the_bubble_and_keeps_the_link(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await hold(storage, an_offer("v-1"))
        bubble = await take(storage)
        await storage.say("m-2")
        left = await storage.transitions.leave_linked(bubble, LINK)

        assert (left, (await storage.candidates())[0][2]) == (None, "recalled")
        assert (await storage.row("SELECT url FROM payments"))["url"] == LINK.url


# -------------------------------------------------------------------- row 35


async def test_paid_by_many_at_once_is_one_delivery_in_order(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage, "v-1", "p-2", price="12.50")
        answers = await asyncio.gather(*(told(storage, PAID) for _ in range(5)))
        delivery = await storage.job()
        sent = await deliver(storage, delivery["id"])
        again = await told(storage, PAID)

        assert {(answer.state, answer.job) for answer in (*answers, again)} == {("paid", f"job_{delivery['id']}")}
        assert (delivery["kind"], delivery["trigger"], delivery["state"]) == ("delivery", "payment", "sending")
        assert [(bubble["kind"], bubble["text"], bubble["media"]) for bubble in sent] == [
            ("video", "", [{"id": "v-1", "url": "https://cdn.example/v-1", "type": "video"}]),
            ("image", "", [{"id": "p-2", "url": "https://cdn.example/p-2", "type": "photo"}]),
        ]
        assert len(await storage.rows("SELECT 1 FROM jobs WHERE kind = 'delivery'")) == 1
        (event,) = await storage.rows("SELECT body FROM deliveries WHERE type = 'payment.delivered'")
        assert json.loads(event["body"])["data"] == {
            "id": "pay_1",
            "url": LINK.url,
            "amount": "12.50",
            "currency": "EUR",
            "media_ids": ["v-1", "p-2"],
            "reference": "tx-1",
            "job": f"job_{delivery['id']}",
            "conversation": "c-1",
            "contact": "fan-7",
            "persona": "maya",
        }


async def test_what_was_paid_leaves_between_the_bubbles_of_a_reply_one_at_a_time(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        reply = await hold(storage, "un", "deux", name="m-2")
        first = await send(storage, reply)
        await told(storage, PAID)
        delivery = (await storage.job())["id"]
        early = await send(storage, delivery)
        assert first is not None
        await storage.transitions.settle(first, Accepted())
        sent = await deliver(storage, delivery)
        rest = await deliver(storage, reply)

        states = {row["id"]: row["state"] for row in await storage.rows("SELECT id, state FROM jobs")}
        assert (early, [bubble["kind"] for bubble in sent], [bubble["text"] for bubble in rest]) == (
            None,
            ["video"],
            ["deux"],
        )
        assert (states[reply], states[delivery]) == ("sent", "sent")


MEANWHILE = {
    "the contact writes": "UPDATE conversations SET inbound_seq = inbound_seq + 1",
    "a person took over": "UPDATE conversations SET handled_by = 'human'",
    "paused": "UPDATE conversations SET paused_until = clock_timestamp() + interval '1 day'",
    "opted out": "UPDATE contacts SET opted_out_at = clock_timestamp()",
    "quiet hours": """UPDATE personas SET version = 2, spec = spec || '{"quiet_hours": "00:00-23:59"}'""",
}


@pytest.mark.parametrize("change", MEANWHILE)
async def test_neither_words_nor_people_nor_silence_stop_what_was_paid(database_url: str, change: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await told(storage, PAID)
        await storage.rows(MEANWHILE[change])
        delivery = (await storage.job())["id"]

        assert [bubble["kind"] for bubble in await deliver(storage, delivery)] == ["video"]
        assert [row["kind"] for row in await storage.rows("SELECT kind FROM jobs ORDER BY id")] == ["reply", "delivery"]


WITHDRAWN = {"gone": "deleted_at = clock_timestamp()", "without consent": "consent = NULL"}


@pytest.mark.parametrize("change", WITHDRAWN)
async def test_what_was_paid_and_may_not_be_shown_any_more_waits_for_a_person(database_url: str, change: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await told(storage, PAID)
        delivery = (await storage.job())["id"]
        await storage.rows(f"UPDATE media_items SET {WITHDRAWN[change]}")
        nothing = await deliver(storage, delivery)
        asked = await storage.job()
        await storage.rows("UPDATE media_items SET deleted_at = NULL, consent = '{}'")
        await storage.transitions.approve(storage.org, delivery, "zoe")

        assert (nothing, asked["state"], asked["code"], asked["attention"]) == ([], "held", "AR-563", "open")
        assert len(await deliver(storage, delivery)) == 1


async def test_erasure_stops_it(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await told(storage, PAID)
        await storage.rows("UPDATE contacts SET erased_at = clock_timestamp()")
        delivery = (await storage.job())["id"]

        assert await deliver(storage, delivery) == []
        assert ((await storage.job())["state"], (await storage.job())["reason"]) == ("cancelled", "erased")


async def test_a_message_and_a_takeover_leave_the_delivery_alone(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await told(storage, PAID)
        delivery = (await storage.job())["id"]
        await storage.say("m-2")
        await storage.transitions.takeover(storage.org, "c-1", "zoe")

        rows = await storage.rows("SELECT kind, state FROM jobs ORDER BY id")
        assert [(row["kind"], row["state"]) for row in rows] == [
            ("reply", "sent"),
            ("delivery", "sending"),
            ("reply", "cancelled"),
        ]
        assert len(await deliver(storage, delivery)) == 1


async def test_a_delivery_answers_nothing(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await storage.say("m-2")
        await told(storage, PAID)
        await deliver(storage, (await storage.job())["id"])

        found = await storage.row("SELECT id FROM jobs WHERE state = 'queued'")
        await storage.rows("UPDATE jobs SET due_at = clock_timestamp() WHERE id = :id", id=found["id"])
        turns = (await claim(storage, found["id"])).case.turns
        assert [(turn.author, turn.kind, turn.answered) for turn in turns if not turn.answered] == [
            ("contact", "text", False)
        ]


async def claim(storage: Storage, job: int) -> Any:
    return await storage.transitions.claim_run(AutoReply(conversation=1, job=job))


async def on_its_way(storage: Storage) -> tuple[JobId, Posting]:
    """Two media that were paid for, the first of them with the receiver."""
    await sell(storage, "v-1", "p-2", price="12.50")
    await told(storage, PAID)
    delivery = JobId((await storage.job())["id"])
    posting = await send(storage, delivery)
    assert posting is not None
    return delivery, posting


async def test_a_given_up_delivery_is_retried_whatever_was_said_since(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        delivery, posting = await on_its_way(storage)
        await storage.transitions.settle(posting, Refused("the receiver answered 400", final=True))
        failed = await storage.job(delivery)
        await storage.say("m-2")
        await storage.transitions.takeover(storage.org, "c-1", "zoe")
        await storage.transitions.retry(storage.org, delivery, "zoe")

        assert (failed["state"], failed["code"], failed["attention"]) == ("failed", "AR-560", "open")
        assert [bubble["media"][0]["id"] for bubble in await deliver(storage, delivery)] == ["v-1", "p-2"]


async def test_what_is_owed_can_be_held_but_neither_edited_nor_drafted_again(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await told(storage, PAID)
        delivery = (await storage.job())["id"]
        bubble = CandidateId((await storage.row("SELECT max(id) AS id FROM candidates"))["id"])
        with pytest.raises(Conflict):
            await storage.transitions.drop_candidate(storage.org, bubble, "zoe")
        with pytest.raises(TooLate):
            await storage.transitions.regenerate(storage.org, delivery, "zoe")
        await storage.transitions.hold(storage.org, delivery, "zoe")
        held = await deliver(storage, delivery)
        await storage.transitions.release_hold(storage.org, delivery, "zoe")

        assert (held, len(await deliver(storage, delivery))) == ([], 1)


async def test_a_cancelled_purchase_is_delivered_after_all_or_refunded(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        delivery, posting = await on_its_way(storage)
        await storage.transitions.cancel(storage.org, delivery, "zoe")
        await storage.transitions.settle(posting, Accepted())
        asked = [dict(row) for row in await storage.rows(ASKED)]
        nothing = await deliver(storage, delivery)
        bought = await storage.rows("SELECT 1 FROM media_facts WHERE what = 'bought'")
        await storage.transitions.retry(storage.org, delivery, "zoe")
        again = await storage.rows(ASKED)
        await storage.transitions.cancel(storage.org, delivery, "max")
        await told(storage, REFUNDED)
        with pytest.raises(TooLate) as late:
            await storage.transitions.retry(storage.org, delivery, "zoe")

        assert asked == [{"conversation_id": 1, **FOR_A_REFUND, "reason": "cancelled", "note": "paid_and_cancelled"}]
        assert (nothing, len(bought), again) == ([], 2, [])
        assert [row["reason"] for row in await storage.rows(TOLD)] == ["paid_and_cancelled"] * 2
        assert late.value.facts["reason"] == "refunded"
        kept = await storage.rows("SELECT media_id FROM media_facts WHERE what = 'bought'")
        assert [row["media_id"] for row in kept] == [1]


async def test_what_is_bought_closes_other_links_to_it(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage, "v-1")
        await sell(storage, "v-1", "p-2", price="12.50", name="m-2")
        await told(storage, PAID)

        assert [row["state"] for row in await storage.rows("SELECT state FROM payments ORDER BY id")] == [
            "paid",
            "expired",
        ]


MINOR = "j'ai 15 ans"
ASKED = "SELECT conversation_id, state, reason, attention, note FROM jobs WHERE attention = 'open' AND code IS NULL"
TOLD = """SELECT body::jsonb #>> '{data,reason}' AS reason FROM deliveries
WHERE type = 'attention.raised' AND body::jsonb #>> '{data,code}' IS NULL"""
FOR_A_REFUND = {"state": "cancelled", "reason": "safety_lock", "attention": "open", "note": "paid_and_locked"}


async def test_a_safety_lock_closes_the_links_and_what_is_paid_then_waits_for_a_refund(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await storage.say("m-2", text=MINOR)
        link = (await storage.row("SELECT state FROM payments"))["state"]
        paid = await told(storage, PAID)
        again = await told(storage, PAID)
        delivery = (await storage.job())["id"]

        assert (link, paid.state, paid.job, again) == ("expired", PAID, f"job_{delivery}", paid)
        assert [dict(row) for row in await storage.rows(ASKED)] == [{"conversation_id": 1, **FOR_A_REFUND}]
        assert await deliver(storage, delivery) == []
        assert [row["reason"] for row in await storage.rows(TOLD)] == ["paid_and_locked"]
        with pytest.raises(TooLate) as late:
            await storage.transitions.retry(storage.org, delivery, "zoe")
        assert late.value.facts["reason"] == "safety_lock"
        assert (await told(storage, REFUNDED)).state == REFUNDED


@pytest.mark.parametrize("where", ["c-1", "c-2"])
async def test_a_safety_lock_stops_a_delivery_under_way_and_a_retry_goes_on_after_two_people(
    database_url: str, where: str
) -> None:
    async with a_shop(database_url) as storage:
        delivery, posting = await on_its_way(storage)
        await storage.say("m-2", text=MINOR, conversation=where)
        asked = [dict(row) for row in await storage.rows(ASKED)]
        await storage.transitions.settle(posting, Accepted())
        nothing = await deliver(storage, delivery)
        for who in ("zoe", "max"):
            await storage.transitions.reopen(storage.org, "c-1", who, "il a 51 ans")
        await storage.transitions.retry(storage.org, delivery, "zoe")
        rest = await deliver(storage, delivery)

        assert (nothing, asked) == ([], [{"conversation_id": 1, **FOR_A_REFUND}])
        assert ([bubble["kind"] for bubble in rest], (await storage.job(delivery))["state"]) == (["image"], "sent")
        assert [row["state"] for row in await storage.rows("SELECT state FROM payments")] == ["paid"]


async def test_a_lock_that_nobody_told_the_delivery_of_is_found_when_it_leaves(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await told(storage, PAID)
        delivery = (await storage.job())["id"]
        await storage.rows("UPDATE contacts SET locked_at = clock_timestamp()")

        assert await deliver(storage, delivery) == []
        assert [dict(row) for row in await storage.rows(ASKED)] == [{"conversation_id": 1, **FOR_A_REFUND}]


async def test_who_wants_silence_keeps_the_link_and_gets_what_is_paid(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await storage.say("m-2", text="STOP")
        link = (await storage.row("SELECT state FROM payments"))["state"]
        await told(storage, PAID)

        assert link == "open"
        assert [bubble["kind"] for bubble in await deliver(storage, (await storage.job())["id"])] == ["video"]


async def test_what_is_paid_under_a_second_link_is_not_delivered_again(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage, "v-1")
        await sell(storage, "v-1", price="9.00", name="m-2")
        await sell(storage, "v-1", "p-2", price="11.00", name="m-3")
        sent = []
        for number in (1, 2, 3):
            await told(storage, PAID, number)
            sent.append([item["media"][0]["id"] for item in await deliver(storage, (await storage.job())["id"])])
        asked = await storage.rows(ASKED)
        audit = "SELECT facts ->> 'refund' AS refund FROM audit_log WHERE action = 'payment.paid' ORDER BY id"

        assert sent == [["v-1"], [], ["p-2"]]
        assert [(row["state"], row["note"]) for row in asked] == [
            ("cancelled", "bought_already"),
            ("sent", "bought_already"),
        ]
        assert [row["reason"] for row in await storage.rows(TOLD)] == ["bought_already"] * 2
        assert [row["refund"] for row in await storage.rows(audit)] == [None, "bought_already", "bought_already"]


async def test_two_links_over_one_media_paid_at_once_in_two_conversations(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        for number, price in enumerate(("10.00", "9.00", "8.00", "7.00"), 1):
            await sell(storage, "v-1", price=price, name=f"m-{number}")
        await storage.say("m-9", conversation="c-2")
        await storage.rows("UPDATE payments SET conversation_id = 2 WHERE id IN (2, 4)")
        async with storage.database.transaction() as connection:
            await connection.exec_driver_sql("SELECT id FROM conversations ORDER BY id FOR UPDATE")
            telling = [asyncio.create_task(told(storage, PAID, number)) for number in (1, 2, 3, 4)]
            await asyncio.sleep(0.3)  # all of them wait for this lock, and go on at once
        await asyncio.gather(*telling)

        handed_over = "SELECT k.id FROM candidates k JOIN jobs j ON j.id = k.job_id WHERE j.kind = 'delivery'"
        assert len(await storage.rows(handed_over)) == 1
        assert len(await storage.rows(ASKED)) == 3


async def test_money_taken_after_the_link_expired_is_answered_with_the_media(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)
        await told(storage, EXPIRED)
        await told(storage, PAID)

        assert len(await deliver(storage, (await storage.job())["id"])) == 1
        with pytest.raises(TooLate) as late:
            await told(storage, EXPIRED)
        assert late.value.state == "paid"


async def test_a_refund_stops_what_has_not_left_and_lets_it_be_offered_again(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        delivery, posting = await on_its_way(storage)
        await told(storage, REFUNDED)
        await storage.transitions.settle(posting, Accepted())
        rest = await deliver(storage, delivery)

        bought = "SELECT m.name FROM media_facts f JOIN media_items m ON m.id = f.media_id WHERE f.what = 'bought'"
        job = await storage.job(delivery)
        assert (rest, job["state"], job["reason"]) == ([], "cancelled", "refunded")
        assert [row["name"] for row in await storage.rows(bought)] == ["v-1"]
        with pytest.raises(TooLate):
            await told(storage, PAID)


async def test_a_payment_of_another_organisation_does_not_exist(database_url: str) -> None:
    async with a_shop(database_url) as storage:
        await sell(storage)

        with pytest.raises(NotFound):
            await storage.transitions.payment(storage.org + 1, PaymentId(1), PAID, None, "x")  # type: ignore[arg-type]
        assert (await storage.row("SELECT state FROM payments"))["state"] == "open"


# -------------------------------------------------------------------- what the next run is told


async def test_the_next_run_knows_what_was_offered_and_bought(database_url: str) -> None:
    async with a_shop(database_url, limits={"links_per_day": 3}) as storage:
        await sell(storage, "v-1")
        await sell(storage, "p-2", price="2.00", name="m-2")
        await told(storage, PAID)
        await storage.say("m-3")
        case = (await claim(storage, (await storage.row("SELECT max(id) AS id FROM jobs"))["id"])).case

        had = {what: [(fact.media, fact.price and fact.price.text) for fact in case.media.of(what)] for what in Had}
        assert had == {
            Had.RECEIVED: [],
            Had.OFFERED: [("p-2", "2.00"), ("v-1", "10.00")],
            Had.BOUGHT: [("v-1", "10.00")],
        }
        assert (case.money.links_today, case.money.spent_24h) == (2, 10)
        sold = [(turn.media, turn.price and turn.price.text) for turn in case.turns if turn.kind == "payment"]
        assert sold == [(("v-1",), "10.00"), (("p-2",), "2.00")]


@pytest.mark.parametrize("first", ["the contact writes", "the receiver refuses"])
async def test_a_recalled_offer_was_never_made(database_url: str, first: str) -> None:
    async with a_shop(database_url) as storage:
        await hold(storage, an_offer("v-1"))
        posting = await storage.transitions.leave_linked(await take(storage), LINK)
        assert posting is not None
        if first == "the contact writes":
            await storage.say("m-2")
        await storage.transitions.settle(posting, Refused("the receiver answered 503", final=False))
        if first == "the receiver refuses":
            await storage.say("m-2")
        case = (await claim(storage, (await storage.row("SELECT max(id) AS id FROM jobs"))["id"])).case

        assert (case.media.facts, case.money.links_today) == ((), 0)
