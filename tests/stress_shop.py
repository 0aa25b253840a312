"""Money and erasure under stress: links that fail, providers that repeat themselves, contacts who are erased meanwhile.

A provider tells several times, from several sides and in any order, what became of a payment.
"""

import asyncio
import collections
import json
import random
from decimal import Decimal
from typing import Any

from schemas.claims import Posting
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from schemas.ids import PaymentId
from schemas.media import MediaRef
from schemas.money import Price
from schemas.payments import Link, LinkFailed, Offering, PaymentState
from tests.builders_shop import stock
from tests.builders_storage import Storage

ON_SALE = 60
FEW = 5
"""So few that what was bought is soon offered again."""
MOST_ERASED = 3
TOLD = {PaymentState.PAID: 20, PaymentState.EXPIRED: 3, PaymentState.REFUNDED: 1}

ERASE = """UPDATE contacts SET erased_at = clock_timestamp(), name = 'erased/' || id
WHERE id = :contact AND erased_at IS NULL"""
UNNAME = "UPDATE conversations SET name = 'erased/' || id WHERE contact_id = :contact"
LOCK_ALL = "SELECT id FROM conversations WHERE contact_id = :contact ORDER BY id FOR NO KEY UPDATE"

DOUBLE_LINK = """SELECT contact_id, offer, count(*) AS n FROM payments WHERE state = 'open'
GROUP BY 1, 2 HAVING count(*) > 1"""
DELIVERIES = """SELECT (SELECT count(*) FROM jobs WHERE kind = 'delivery' AND trigger = 'payment') AS made,
(SELECT count(*) FROM payments WHERE delivery_job_id IS NOT NULL) AS owed"""
OWED = """SELECT p.id, p.state, p.delivery_job_id AS job, p.delivered_at IS NOT NULL AS done, j.state AS ended,
j.attention, (SELECT count(*) FROM media_facts f WHERE f.payment_id = p.id AND f.what = 'bought') AS media,
c.erased_at IS NOT NULL AS erased
FROM payments p JOIN jobs j ON j.id = p.delivery_job_id JOIN contacts c ON c.id = p.contact_id"""
SOLD_TWICE = """SELECT k.id, f.media_id FROM candidates k JOIN conversations c ON c.id = k.conversation_id
CROSS JOIN LATERAL json_array_elements(k.media) AS a (item)
JOIN media_items m ON m.persona_id = c.persona_id AND m.name = a.item ->> 'id'
JOIN media_facts f ON f.contact_id = c.contact_id AND f.media_id = m.id AND f.what = 'bought'
WHERE k.kind = 'payment' AND k.left_at > f.at"""
AFTER_ERASURE = """SELECT k.id FROM candidates k JOIN conversations c ON c.id = k.conversation_id
JOIN contacts t ON t.id = c.contact_id WHERE k.left_at > t.erased_at"""
NOT_FOR_SALE = "SELECT id FROM jobs WHERE state = 'held' AND on_hold AND code = 'AR-562'"


def an_offer(chance: random.Random, words: str, on_sale: int) -> Bubble:
    """One media, now and then two."""
    names = [f"v-{number}" for number in chance.sample(range(on_sale), chance.choice((1, 1, 2)))]
    media = tuple(MediaRef(name, f"https://cdn.example/{name}", "video") for name in names)
    return Bubble(BubbleKind.PAYMENT, words, media, Price(Decimal(10 * len(names)), "EUR"))


class Shop:
    def __init__(self, storage: Storage, stats: collections.Counter[str]) -> None:
        self.storage = storage
        self.stats = stats
        self.on_sale = ON_SALE

    async def open(self, on_sale: int = ON_SALE) -> None:
        self.on_sale = on_sale
        await stock(self.storage.rows, **{f"v_{number}": "10.00" for number in range(on_sale)})

    async def link(self, chance: random.Random, bubble: Offering) -> Posting | None:
        """As its provider answers: slowly, not now, or never."""
        await asyncio.sleep(chance.uniform(0, 0.05))
        self.stats["asked for a link"] += 1
        turn = self.stats["asked for a link"] % 4  # not by chance: on a slow machine there are few
        if turn in (1, 2):
            self.stats["link failed" if turn == 1 else "AR-562"] += 1
            failure = LinkFailed("the provider answered", retryable=turn == 1)
            await self.storage.transitions.link_failed(bubble, failure)
            return None
        number = bubble.order.payment
        self.stats["linked"] += 1
        return await self.storage.transitions.leave_linked(
            bubble, Link(f"https://pay.example/{number}", f"cs_{number}")
        )

    async def pay(self, chance: random.Random) -> None:
        """Three at once say what became of one of the newest payments."""
        rows = await self.storage.rows("SELECT id FROM payments ORDER BY id DESC LIMIT 8")
        if not rows:
            return
        number = PaymentId(chance.choice(rows)["id"])
        (to,) = chance.choices(list(TOLD), list(TOLD.values()))
        told = [self.storage.transitions.payment(self.storage.org, number, to, "tx", "app") for _ in range(3)]
        self.stats[to.value] += sum(not isinstance(done, BaseException) for done in await _all(told))

    async def erase(self, chance: random.Random) -> None:
        """The mark and the names alone, as an erasure sets them first: under the locks of all conversations."""
        if self.stats["erased"] >= MOST_ERASED:
            return
        rows = await self.storage.rows("SELECT DISTINCT contact_id FROM conversations ORDER BY 1")
        if len(rows) > MOST_ERASED + 1:
            contact = chance.choice(rows)["contact_id"]
            self.stats["erased"] += 1
            async with self.storage.database.transaction() as connection:
                for statement in (LOCK_ALL, ERASE, UNNAME):
                    await connection.exec_driver_sql(statement.replace(":contact", str(int(contact))))

    async def give_up(self, who: str) -> None:
        """What is not for sale any more is approved in vain for ever: a person cancels it."""
        for row in await self.storage.rows(NOT_FOR_SALE):
            await self.storage.transitions.cancel(self.storage.org, row["id"], who)

    async def broken(self, bodies: dict[str, str]) -> list[str]:
        """Promises that were not kept. `bodies`: what the receiver applied, by webhook id."""
        found = [f"two links for one offer: {row}" for row in await self.storage.rows(DOUBLE_LINK)]
        found += [f"sold again: {row}" for row in await self.storage.rows(SOLD_TWICE)]
        found += [f"left after erasure: {row}" for row in await self.storage.rows(AFTER_ERASURE)]
        count = await self.storage.row(DELIVERIES)
        found += [] if count["made"] == count["owed"] else [f"not delivered once: {count}"]
        shown = collections.Counter(_delivered(json.loads(body)["data"]) for body in bodies.values())
        found += [f"shown {n} times: {what}" for what, n in shown.items() if n > 1 and what is not None]
        had = collections.Counter(_had(json.loads(body)["data"]) for body in bodies.values())
        found += [f"handed over {n} times: {what}" for what, n in had.items() if n > 1 and what is not None]
        per_job = collections.Counter(what[0] for what in shown if what is not None)
        return found + [f"owed: {row}" for row in await self.storage.rows(OWED) if _owes(row, per_job)]


def _delivered(data: dict[str, Any]) -> tuple[str, str] | None:
    """(job, media) of a bubble that hands a media over."""
    return (data["job"], data["media"][0]["id"]) if data["kind"] == "video" else None


def _had(data: dict[str, Any]) -> tuple[str, str] | None:
    """(contact, media) of such a bubble."""
    return (data["contact"], data["media"][0]["id"]) if data["kind"] == "video" else None


def _owes(row: dict[str, Any], per_job: collections.Counter[str]) -> bool:
    """What was paid has come whole, unless it was refunded, the contact erased, or its receiver refused it for good.
    What a safety lock or a person stopped, and what was bought under another link already, waits for a person to refund
    it, who has perhaps said so."""
    if row["state"] != "paid" or row["erased"] or row["ended"] == "failed":
        return False
    if row["ended"] == "cancelled":
        return row["attention"] not in ("open", "dismissed")
    return not row["done"] or per_job[f"job_{row['job']}"] != row["media"]


async def _all(told: list[Any]) -> list[Any]:
    """What each answered. Only what is too late is expected."""
    done = await asyncio.gather(*told, return_exceptions=True)
    for error in done:
        if isinstance(error, BaseException) and type(error).__name__ != "TooLate":
            raise error
    return done
