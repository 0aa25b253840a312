"""Contacts, operators, workers that die or stall, a receiver that refuses and hangs: all at once, on few conversations.

Then everything is left to come to rest, and `violations` compares what everybody saw with what the database says.
"""

import asyncio
import collections
import contextlib
import itertools
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from pipelines.autoreply.followup import MOST_IN_A_ROW
from schemas.agent import Kept
from schemas.claims import Accepted, Claim, Posted, Posting, Preparing, Refused, Unknown
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Decision, Failure, Parked, Reply, Silence, SilenceReason, Stopped
from schemas.errors import AppError, Code, FailureKind, TooLate
from schemas.honesty import Alarm
from schemas.http import MessagePatch
from schemas.ids import call_id
from schemas.jobs import AutoReply, DelayedSend, Deliver
from schemas.payments import Offering
from schemas.settings import Settings
from schemas.speech import Recording, SpeechFailed
from tests.builders_storage import Storage, a_call, a_reservation, a_step, open_hours
from tests.stress_operators import ACTS, Operators
from tests.stress_shop import Shop, an_offer

LEASE = 0.25
LONGEST = 60.0
PERSONA = {
    "debounce": {"quiet_seconds": 0.03, "max_wait_seconds": 0.12},
    "control_window_seconds": 0.06,
    "pacing": {"base_ms": 8, "per_char_ms": 0.1, "jitter": 0.2},
    "disclosure": {"notice": False},
    "proactive_hours": open_hours(),
}
CLOSING = ("STOP", "j'ai 15 ans")
"""Now and then a contact wants silence, or says that they are a minor. Two conversations share a contact."""
ACTORS = {"contact": 3, "operator": 2, "replier": 5, "sender": 3, "carrier": 2, "clock": 1, "auditor": 1}

DUE = """SELECT CASE WHEN state IN ('queued', 'running') THEN 'run' ELSE 'send' END AS kind, id, conversation_id
FROM jobs WHERE due_at <= clock_timestamp() AND lease_until IS NULL
UNION ALL SELECT 'delivery', id, conversation_id FROM deliveries
WHERE due_at <= clock_timestamp() AND lease_until IS NULL"""
EXPIRE = """UPDATE {table} SET lease_until = NULL, dispatched_at = NULL, due_at = clock_timestamp() WHERE id IN (
SELECT id FROM {table} WHERE lease_until < clock_timestamp() ORDER BY id FOR UPDATE SKIP LOCKED)"""
HURRY = """UPDATE deliveries SET due_at = clock_timestamp() WHERE id IN (
SELECT id FROM deliveries WHERE state = 'waiting' AND due_at > clock_timestamp() ORDER BY id FOR UPDATE SKIP LOCKED)"""
LOST = """SELECT m.name FROM messages m JOIN conversations c ON c.id = m.conversation_id
WHERE c.handled_by = 'ai' AND m.author = 'contact' AND m.deleted_at IS NULL AND m.reason IS NULL
AND m.seq > GREATEST(c.operator_seq, (SELECT COALESCE(max(j.inbound_seq), 0) FROM jobs j WHERE j.conversation_id = c.id
                                      AND j.kind <> 'delivery'
                                      AND j.state IN ('sent', 'silent', 'failed', 'cancelled')))
AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.conversation_id = c.id
                AND j.state IN ('queued', 'running', 'held', 'sending'))"""
STALE_FOLLOW_UP = """SELECT j.id FROM jobs j JOIN conversations c ON c.id = j.conversation_id WHERE j.kind = 'follow_up'
AND j.state IN ('queued', 'running', 'held', 'sending') AND j.inbound_seq <> c.inbound_seq"""
CROWDED = """SELECT conversation_id FROM deliveries WHERE candidate_id IS NOT NULL AND state IN ('posting', 'waiting')
GROUP BY conversation_id HAVING count(*) > 1"""
SAID_AFTER_ALL = """SELECT r.act, k.id FROM consent_records r JOIN conversations c ON c.contact_id = r.contact_id
JOIN candidates k ON k.conversation_id = c.id JOIN jobs j ON j.id = k.job_id
WHERE r.act IN ('opted_out', 'locked') AND (j.kind <> 'delivery' OR (j.trigger = 'payment' AND r.act = 'locked'))
AND k.left_at > r.at AND NOT EXISTS (
  SELECT 1 FROM consent_records o WHERE o.contact_id = r.contact_id AND o.id > r.id AND o.at < k.left_at
  AND o.act = CASE r.act WHEN 'opted_out' THEN 'opted_in' ELSE 'reopened' END)"""
CONFIRMED = """SELECT (SELECT count(*) FROM jobs WHERE kind = 'delivery' AND trigger <> 'payment') AS told,
(SELECT count(*) FROM consent_records WHERE act = 'opted_out') AS wanted"""
ALONE = """SELECT b.id FROM consent_records a JOIN consent_records b ON b.contact_id = a.contact_id AND b.id > a.id
WHERE a.act = 'reopening' AND b.act = 'reopened' AND a.who = b.who AND NOT EXISTS (
  SELECT 1 FROM consent_records o WHERE o.contact_id = a.contact_id AND o.id > a.id AND o.id < b.id
  AND o.act IN ('locked', 'reopening', 'reopened'))"""
LEFT = """SELECT (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running', 'held', 'sending'))
+ (SELECT count(*) FROM deliveries WHERE state IN ('posting', 'waiting'))
+ (SELECT count(*) FROM conversations WHERE follow_up_at IS NOT NULL) AS n"""


def stress_settings() -> Settings:
    """Leases shorter than the settings allow."""
    settings = Settings()
    return settings.model_copy(update={"queue": settings.queue.model_copy(update={"lease_seconds": LEASE})})


@dataclass(slots=True)
class Receiver:
    """Idempotent by webhook id; refuses, hangs after applying and hangs without."""

    random: random.Random
    slow: float = 0.06
    """How many answers take `long` seconds."""
    long: float = LEASE * 1.2
    kind: bool = False
    applied: dict[str, str] = field(default_factory=dict)
    order: dict[int, list[int]] = field(default_factory=lambda: collections.defaultdict(list))
    wrong: list[str] = field(default_factory=list)

    async def post(self, posting: Posting) -> Posted:
        chance = 1.0 if self.kind else self.random.random()
        late = not self.kind and self.random.random() < self.slow
        await asyncio.sleep(self.long if late else self.random.choice((0, 0.002, 0.06)))
        if posting.candidate is None:
            return Accepted()
        if chance < 0.10 and posting.webhook_id not in self.applied:
            return Refused("no", final=chance < 0.02)
        if chance >= 0.16:
            self._apply(posting)
        return Unknown("hangs") if chance < 0.22 else Accepted()

    def _apply(self, posting: Posting) -> None:
        assert posting.candidate is not None
        assert posting.conversation is not None
        if self.applied.setdefault(posting.webhook_id, posting.body) != posting.body:
            self.wrong.append(f"{posting.webhook_id} came with another body")
        if posting.candidate not in self.order[posting.conversation]:
            self.order[posting.conversation].append(posting.candidate)


class Stress:
    def __init__(
        self,
        storage: Storage,
        seed: int,
        conversations: int = 6,
        receiver: Receiver | None = None,
        acts: dict[str, int] = ACTS,
        actors: dict[str, int] = ACTORS,
        silent: float = 0.16,
        selling: float = 0,
    ) -> None:
        self.storage = storage
        self.seed = seed
        self.conversations = conversations
        self.receiver = receiver or Receiver(random.Random(f"{seed} receiver"))
        self.actors = actors
        self.silent, self.selling = silent, selling
        """How many runs leave the contact on seen, and how many bubbles sell something."""
        self.stats: collections.Counter[str] = collections.Counter()
        self.errors: list[str] = []
        self.accepted: list[str] = []
        self.operators = Operators(storage, conversations, self.stats, acts)
        self.shop = Shop(storage, self.stats)
        self.called: set[str] = set()
        self.heard: set[str] = set()
        """Model calls that went out, and those whose answer was handed to the storage."""
        self.left = 0
        self.due: dict[str, list[dict[str, Any]]] = {"run": [], "send": [], "delivery": []}
        self._quiet = False
        self._stop = False
        self._names = itertools.count()

    async def run(self, seconds: float, rest: float = 20, patient: bool = True, met: Sequence[str] = ()) -> None:
        """An impatient run ends with the first violation it notices. On a slow machine it goes on until all of `met`
        has happened, within bounds."""
        actors = [
            asyncio.create_task(self._act(getattr(self, f"_{kind}"), random.Random(f"{self.seed} {kind} {number}")))
            for kind, count in self.actors.items()
            for number in range(count)
        ]
        began = asyncio.get_running_loop().time()
        while (patient or not self.errors) and (took := asyncio.get_running_loop().time() - began) < LONGEST:
            if took >= seconds and all(self.stats[what] for what in met):
                break
            await asyncio.sleep(0.1)
        self._quiet = self.receiver.kind = True
        await self._come_to_rest(rest)
        self._stop = True
        await asyncio.gather(*actors)

    async def _come_to_rest(self, seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            for row in await self.storage.rows("SELECT name FROM conversations WHERE handled_by <> 'ai'"):
                with contextlib.suppress(TooLate):
                    await self.storage.transitions.resume(self.storage.org, row["name"], "zoe")
            with contextlib.suppress(TooLate):
                await self.shop.give_up("zoe")
            await self.operators.let_go()
            for row in await self.storage.rows("SELECT id FROM jobs WHERE state = 'held' AND on_hold"):
                with contextlib.suppress(TooLate):
                    await self.storage.transitions.approve(self.storage.org, row["id"], "zoe")
            self.left = (await self.storage.row(LEFT))["n"]
            if self.left == 0:
                return
            await asyncio.sleep(0.1)

    async def _act(self, turn: Callable[[random.Random], Awaitable[None]], chance: random.Random) -> None:
        while not self._stop:
            try:
                await turn(chance)
            except AppError as late:
                self.stats[type(late).__name__] += 1
            except Exception as error:  # noqa: BLE001  (a finding, whatever it is)
                self.errors.append(f"{turn.__name__}: {type(error).__name__}: {str(error)[:300]}")

    def _happens(self, chance: random.Random, share: float, what: str) -> bool:
        happens = not self._quiet and chance.random() < share
        self.stats[what] += happens
        return happens

    def _dies(self, chance: random.Random, share: float) -> bool:
        return self._happens(chance, share, "worker died")

    # ------------------------------------------------------------ people

    async def _contact(self, chance: random.Random) -> None:
        await asyncio.sleep(0.1 if self._quiet else chance.uniform(0, 0.15))
        if self._quiet:
            return
        if self.accepted and chance.random() < 0.1:
            await self._change(chance)
            return
        name, number = f"m-{next(self._names)}", chance.randrange(self.conversations)
        place, text = f"c-{number}", chance.choices(("coucou", *CLOSING), (98, 1.3, 0.7))[0]
        author = "operator" if chance.random() < 0.02 else "contact"
        for _ in range(chance.choice((1, 1, 1, 2))):
            said = await self.storage.say(
                name, conversation=place, contact={"id": f"f-{number // 2}"}, author=author, text=text
            )
            self.stats["duplicate" if said.duplicate else "message"] += 1
        self.accepted.append(name)

    async def _change(self, chance: random.Random) -> None:
        name, org = chance.choice(self.accepted[-20:]), self.storage.org
        if chance.random() < 0.5:
            await self.storage.transitions.delete_message(org, name)
        else:
            await self.storage.transitions.edit_message(org, name, MessagePatch(text="autrement"))
        self.stats["change"] += 1

    async def _operator(self, chance: random.Random) -> None:
        await asyncio.sleep(0.1 if self._quiet else chance.uniform(0, 0.1))
        if not self._quiet:
            await self.operators.act(chance)

    async def _payer(self, chance: random.Random) -> None:
        await asyncio.sleep(0.1 if self._quiet else chance.uniform(0.1, 0.5))
        if not self._quiet:
            await self.shop.pay(chance)

    async def _eraser(self, chance: random.Random) -> None:
        await asyncio.sleep(0.1 if self._quiet else chance.uniform(1, 2))
        if not self._quiet:
            await self.shop.erase(chance)

    async def _clock(self, chance: random.Random) -> None:
        """Takes leases back that nobody renewed, and offers what is due. Pauses between attempts are cut short: time
        is."""
        await asyncio.sleep(0.015)
        if chance.random() < 0.3:
            for table in ("jobs", "deliveries"):
                await self.storage.rows(EXPIRE.format(table=table))
            await self.storage.rows(HURRY)
        self.stats["follow-up"] += await self.storage.transitions.follow_up()
        rows = await self.storage.rows(DUE)
        chance.shuffle(rows)
        self.due = {kind: [row for row in rows if row["kind"] == kind] for kind in self.due}

    async def _next(self, kind: str) -> tuple[int, int]:
        """(conversation, id) of something due, as the last look found it: others may have it by now."""
        while not self.due[kind]:
            if self._stop:
                return 1, 1
            await asyncio.sleep(0.004)
        row = self.due[kind].pop()
        return row["conversation_id"], row["id"]

    async def _auditor(self, chance: random.Random) -> None:
        """What must hold at every moment: a snapshot sees whole transactions only."""
        await asyncio.sleep(chance.uniform(0.02, 0.06))
        for row in await self.storage.rows(LOST):
            self.errors.append(f"unanswered: {row['name']} has no job")
        for row in await self.storage.rows(STALE_FOLLOW_UP):
            self.errors.append(f"job {row['id']} follows up on a contact who has written since")
        for row in await self.storage.rows(CROWDED):
            self.errors.append(f"out of order: two bubbles of conversation {row['conversation_id']} are out")
        self.errors += await self.operators.crowded()

    # ------------------------------------------------------------ workers

    async def _replier(self, chance: random.Random) -> None:
        conversation, job = await self._next("run")
        claim = await self.storage.transitions.claim_run(AutoReply(conversation=conversation, job=job))
        if claim is None:
            return
        self.stats["claim"] += 1
        decision = await self._think(chance, claim)
        if decision is not None:
            recorded = await self.storage.transitions.record(claim, decision)
            self.stats[f"{type(decision).__name__} {type(recorded).__name__}"] += 1

    async def _think(self, chance: random.Random, claim: Claim) -> Decision | None:
        """What the run decides; None when its worker died."""
        first = len(claim.resume.steps) + 1
        if await self.storage.transitions.save_step(claim, None, a_reservation(claim, first)) is not Kept.FRESH:
            return Stopped()
        for n in range(first, first + chance.randint(1, 3)):
            self.called.add(call_id(claim.resume.run, n, claim.fence))
            await asyncio.sleep(chance.uniform(0, 0.04))
            if self._dies(chance, 0.03):
                return None
            if self._happens(chance, 0.02, "worker stalled"):
                await asyncio.sleep(LEASE * 1.5)
            if self._happens(chance, 0.03, "provider says 429"):
                return self._parked(claim, n)
            self.heard.add(call_id(claim.resume.run, n, claim.fence))
            kept = await self.storage.transitions.save_step(claim, a_step(claim, n), a_reservation(claim, n + 1))
            if kept is not Kept.FRESH:
                return Stopped()
        return _decided(chance, claim, self.silent, self.selling, self.shop.on_sale)

    def _parked(self, claim: Claim, n: int) -> Parked:
        call = a_call(claim, n, outcome="rate_limited", cost_usd=Decimal(0))
        self.heard.add(call.call)
        return Parked(FailureKind.RATE_LIMITED, "429", counts=False, retry_after=0.05, call=call)

    async def _sender(self, chance: random.Random) -> None:
        conversation, job = await self._next("send")
        claimed = await self.storage.transitions.claim_send(DelayedSend(conversation=conversation, job=job))
        if isinstance(claimed, Offering):
            posting = None if self._dies(chance, 0.05) else await self.shop.link(chance, claimed)
        else:
            posting = await self._speak(chance, claimed) if isinstance(claimed, Preparing) else claimed
        await self._hand_over(chance, posting)

    async def _speak(self, chance: random.Random, bubble: Preparing) -> Posting | None:
        """Dies, fails or takes its time, longer than its lease at times."""
        if self._dies(chance, 0.05):
            return None
        await asyncio.sleep(LEASE * 1.3 if self._happens(chance, 0.08, "worker stalled") else chance.uniform(0, 0.06))
        self.stats["spoken"] += 1
        if self._happens(chance, 0.1, "speech failed"):
            again = SpeechFailed("no voice", retryable=True)
            await self.storage.transitions.speech_failed(bubble, again)
            return None
        recording = Recording("org_1/speech/a.ogg", "http://it/a", "audio/ogg", 900, bubble.text)
        return await self.storage.transitions.leave(bubble, recording)

    async def _carrier(self, chance: random.Random) -> None:
        conversation, delivery = await self._next("delivery")
        hint = Deliver(conversation=conversation, delivery=delivery)
        await self._hand_over(chance, await self.storage.transitions.claim_delivery(hint))

    async def _hand_over(self, chance: random.Random, posting: Posting | None) -> None:
        if posting is None or self._dies(chance, 0.03):
            return
        posted = await self.receiver.post(posting)
        if self._dies(chance, 0.04):
            return
        await self.storage.transitions.settle(posting, posted)
        self.stats[f"posted {type(posted).__name__}"] += 1

    # ------------------------------------------------------------ what must hold

    async def violations(self) -> list[str]:
        """Every broken promise in words; empty when all hold."""
        found = [*self.errors, *self.receiver.wrong]
        if self.left:
            stuck = await self.storage.rows(
                "SELECT id, state, due_at, lease_until FROM jobs WHERE state IN ('queued','running','held','sending')"
            )
            found.append(f"{self.left} things never ended: {stuck[:3]}")
        for check in (
            self._every_message,
            self._only_fresh,
            self._receiver_agrees,
            self._in_order,
            self._ledger,
            self._closed,
            self._few,
        ):
            found += await check()
        return found + await self.shop.broken(self.receiver.applied)

    async def _every_message(self) -> list[str]:
        rows = await self.storage.rows(
            "SELECT c.name, GREATEST(c.operator_seq, (SELECT COALESCE(max(j.inbound_seq), 0) FROM jobs j"
            " WHERE j.conversation_id = c.id AND j.kind <> 'delivery'"
            " AND j.state IN ('sent', 'silent', 'failed', 'cancelled'))) AS covered,"
            " (SELECT max(m.seq) FROM messages m WHERE m.conversation_id = c.id AND m.deleted_at IS NULL"
            " AND COALESCE(m.reason, '') NOT IN ('opted_out', 'safety_lock', 'erased')) AS said"
            " FROM conversations c"
        )
        found = [f"unanswered: {row}" for row in rows if (row["said"] or 0) > row["covered"]]
        stored = await self.storage.rows("SELECT name, job_id, reason FROM messages WHERE name IS NOT NULL")
        found += [f"neither job nor reason: {row}" for row in stored if row["job_id"] is None and row["reason"] is None]
        names = [row["name"] for row in stored]
        if sorted(names) != sorted(set(self.accepted)):
            found.append(f"stored {len(names)} messages of {len(set(self.accepted))} accepted")
        return found

    async def _only_fresh(self) -> list[str]:
        """A refused bubble of a job that was drafted again keeps the count of its first draft."""
        rows = await self.storage.rows(
            "SELECT k.id, k.left_seq, j.inbound_seq, j.state FROM candidates k JOIN jobs j ON j.id = k.job_id"
            " WHERE k.left_seq IS NOT NULL AND k.left_seq <> j.inbound_seq AND NOT j.pinned AND j.kind <> 'delivery'"
            " AND (k.state IN ('leaving', 'sent') OR j.trigger NOT IN ('regenerate', 'retry'))"
        )
        return [f"stale: {row}" for row in rows]

    async def _receiver_agrees(self) -> list[str]:
        rows = await self.storage.rows(
            "SELECT k.id, k.state, d.webhook_id, d.body, m.text = k.text AS same FROM candidates k"
            " LEFT JOIN deliveries d ON d.candidate_id = k.id LEFT JOIN messages m ON m.candidate_id = k.id"
        )
        sent = {row["webhook_id"]: row["body"] for row in rows if row["state"] == "sent"}
        found = [f"sent and applied differ: {name}" for name in sent.keys() ^ self.receiver.applied.keys()]
        found += [f"body differs: {n}" for n, body in self.receiver.applied.items() if sent.get(n, body) != body]
        found += [
            f"spoken otherwise: {n}"
            for n, body in self.receiver.applied.items()
            if (said := json.loads(body)["data"])["audio"] and said["audio"]["transcript"] != said["text"]
        ]
        found += [f"sent without its line: {row}" for row in rows if row["state"] == "sent" and not row["same"]]
        applied = {number for numbers in self.receiver.order.values() for number in numbers}
        bodies = {row["id"]: row["body"] for row in rows if row["state"] == "sent"}
        return found + self.operators.broken(applied, bodies)

    async def _in_order(self) -> list[str]:
        rows = await self.storage.rows(
            "SELECT k.id, k.job_id, k.ordinal FROM candidates k JOIN jobs j ON j.id = k.job_id AND j.kind <> 'delivery'"
        )
        place = {row["id"]: (row["job_id"], row["ordinal"]) for row in rows}
        orders = [[place[number] for number in numbers if number in place] for numbers in self.receiver.order.values()]
        return [f"out of order: {order}" for order in orders if order != sorted(order)]

    async def _closed(self) -> list[str]:
        """Who has opted out or is locked hears nothing but one confirmation."""
        found = [f"said after all: {row}" for row in await self.storage.rows(SAID_AFTER_ALL)]
        count = await self.storage.row(CONFIRMED)
        found += [] if count["told"] == count["wanted"] else [f"not confirmed once: {count}"]
        return found + [f"opened by one person: {row}" for row in await self.storage.rows(ALONE)]

    async def _few(self) -> list[str]:
        """Follow-ups since the contact last did something. What an operator had written again is their wish."""
        rows = await self.storage.rows(
            "SELECT conversation_id, inbound_seq, count(*) AS n FROM jobs WHERE kind = 'follow_up'"
            " AND state IN ('sent', 'silent') AND trigger = 'follow_up'"
            f" GROUP BY 1, 2 HAVING count(*) > {MOST_IN_A_ROW}"
        )
        return [f"too many follow-ups: {row}" for row in rows]

    async def _ledger(self) -> list[str]:
        rows: list[dict[str, Any]] = await self.storage.rows("SELECT call, state FROM ledger")
        state = {row["call"]: row["state"] for row in rows}
        found = [f"still reserved: {call}" for call, now in state.items() if now == "reserved"]
        found += [f"no row for call {call}" for call in self.called if call not in state]
        return found + [f"heard and not settled: {call}" for call in self.heard if state.get(call) != "settled"]


def _decided(chance: random.Random, claim: Claim, silent: float, selling: float, on_sale: int) -> Decision:
    """Plans one follow-up after the other: how many there are is not for the run to say alone."""
    share = chance.random()
    if share < silent:
        soon = claim.case.now + timedelta(seconds=chance.uniform(0, 0.2))
        return Silence(SilenceReason.LEFT_ON_READ, read=True, follow_up_at=soon)
    if share < silent + 0.01:
        alarm = Alarm(stop="stop_request", position=claim.case.turns[-1].position if claim.case.turns else None)
        return Silence(SilenceReason.OPTED_OUT, alarm=alarm)
    if share < silent + 0.02:
        return Failure(Code.NO_CANDIDATE, "nothing to send")
    kinds = [BubbleKind.VOICE if chance.random() < 0.25 else BubbleKind.TEXT for _ in range(chance.randint(1, 4))]
    texts = (f"j{claim.job} f{claim.fence} b{number}" for number in range(len(kinds)))
    again = None if claim.case.follow_up is None else claim.case.now + timedelta(seconds=chance.uniform(0, 0.3))
    bubbles = [Bubble(kind, words) for kind, words in zip(kinds, texts, strict=True)]
    if chance.random() < selling:
        bubbles = bubbles[1:2]
        bubbles.append(an_offer(chance, f"j{claim.job} f{claim.fence} offer", on_sale))
    return Reply(tuple(bubbles), follow_up_at=again)
