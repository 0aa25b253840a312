"""How many statements a transition costs, BEGIN and COMMIT aside. Each is a round trip under a lock."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from schemas.claims import Accepted, Unknown
from schemas.http import MessagePatch
from schemas.jobs import AutoReply, DelayedSend
from schemas.payments import Link, Offering, PaymentState
from tests.builders_shop import a_selling_reply, an_offer, stock
from tests.builders_storage import Storage, a_call, a_reply, a_reservation, a_step, a_storage
from tests.overheard import overheard

NOTICE_ON = {"disclosure": {"notice": True}}


@contextmanager
def counted(storage: Storage) -> Iterator[list[str]]:
    """The statements sent meanwhile, each by its first words."""
    with overheard(storage) as heard:
        shown: list[str] = []
        yield shown
        shown += [re.sub(r"\s+", " ", statement).strip()[:60] for statement, _ in heard]
        sys.stdout.write("\n    ".join([f"\n{len(shown)} statements", *shown]))


async def test_a_message_in_a_known_conversation(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        with counted(storage) as debounced:
            await storage.say("m-2", contact={"id": "fan-7", "locale": "fr"})
        await storage.transitions.record(await storage.claim(), a_reply("un"))
        with counted(storage) as superseding:
            await storage.say("m-3", contact={"id": "fan-7", "locale": "de"})
        with counted(storage) as plain:
            await storage.say("m-4")

        assert (len(debounced), len(superseding), len(plain)) == (5, 6, 4)


async def test_the_first_message_of_a_conversation(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        with counted(storage) as very_first:
            await storage.say()
        with counted(storage) as another_contact:
            await storage.say("m-2", conversation="c-2", contact={"id": "fan-8"})
        with counted(storage) as known_contact:
            await storage.say("m-3", conversation="c-3", contact={"id": "fan-8", "locale": "fr"})

        assert (len(very_first), len(another_contact), len(known_contact)) == (6, 5, 6)


async def test_an_edit_and_a_delete(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.say("m-2")
        with counted(storage) as edited:
            await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="x"))
        await storage.transitions.record(await storage.claim(), a_reply("un"))
        with counted(storage) as superseding:
            await storage.transitions.edit_message(storage.org, "m-1", MessagePatch(text="y"))
        with counted(storage) as deleted:
            await storage.transitions.delete_message(storage.org, "m-1")

        assert (len(edited), len(superseding), len(deleted)) == (6, 6, 6)


async def test_one_iteration_is_one_statement(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        with counted(storage) as first:
            await storage.transitions.save_step(claim, None, a_reservation(claim))
        with counted(storage) as further:
            await storage.transitions.save_step(claim, a_step(claim), a_reservation(claim, 2))

        assert (len(first), len(further)) == (1, 1)


async def test_a_decision(database_url: str) -> None:
    async with a_storage(database_url, NOTICE_ON) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.transitions.save_step(claim, None, a_reservation(claim))
        reply = a_reply("un", "deux")
        with counted(storage) as recording:
            await storage.transitions.record(claim, type(reply)(reply.bubbles, call=a_call(claim)))

        assert len(recording) == 4


async def test_a_bubble_from_claim_to_settled(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un", "deux")
        hint = DelayedSend(conversation=1, job=1)
        with counted(storage) as first:
            await send(storage, hint)
        with counted(storage) as last:
            await send(storage, hint)

        assert (len(first), len(last)) == (6, 6)


async def send(storage: Storage, hint: DelayedSend) -> None:
    posting = await storage.transitions.claim_send(hint)
    assert posting is not None
    await storage.transitions.settle(posting, Accepted())


async def test_a_payment_bubble_and_what_is_paid(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await stock(storage.rows, v_1="10.00")
        await storage.say()
        await storage.transitions.record(await storage.claim(), a_selling_reply(an_offer("v-1")))
        with counted(storage) as taking:
            taken = await storage.transitions.claim_send(DelayedSend(conversation=1, job=1))
        assert isinstance(taken, Offering)
        with counted(storage) as leaving:
            posting = await storage.transitions.leave_linked(taken, Link("https://pay.example/1"))
        assert posting is not None
        await storage.transitions.settle(posting, Accepted())
        with counted(storage) as paying:
            await storage.transitions.payment(storage.org, taken.order.payment, PaymentState.PAID, None, "app")
        with counted(storage) as again:
            await storage.transitions.payment(storage.org, taken.order.payment, PaymentState.PAID, None, "app")

        assert (len(taking), len(leaving), len(paying), len(again)) == (6, 6, 8, 3)


async def test_a_claim_of_a_new_run(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        with counted(storage) as claiming:
            await storage.transitions.claim_run(AutoReply(conversation=1, job=1))

        assert len(claiming) == 7


async def test_rules_are_loaded_once_for_each_version_of_them(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        spec = '{"when": "true", "then": {"inject": "x"}}'
        await storage.rows(
            "INSERT INTO rules (org_id, name, spec) VALUES (:org, 'r', :spec)", org=storage.org, spec=spec
        )
        await storage.rows("UPDATE organizations SET strategy_version = 1")
        await storage.say()
        with counted(storage) as first:
            claim = await storage.claim()
        await storage.transitions.record(claim, a_reply("un"))
        await storage.say("m-2")
        with counted(storage) as further:
            again = await storage.claim()

        assert list(again.case.strategy.rules) == ["r"]
        assert again.case.strategy is claim.case.strategy
        assert len(first) - len(further) == 1


async def test_a_failed_attempt(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un")
        posting = await storage.send()
        with counted(storage) as settling:
            await storage.transitions.settle(posting, Unknown("timed out"))

        assert len(settling) == 3
