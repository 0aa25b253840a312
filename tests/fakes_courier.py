"""What actors use, in memory: a storage that remembers, replies and channels that do as they are bid."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from pipelines.ports import Keep
from schemas.agent import Kept, Resume, Step
from schemas.claims import Accepted, Claim, Ended, Endpoint, JobState, Posted, Posting, Preparing, Recorded
from schemas.conversation import Case, Contact, Organization, Persona, Trigger
from schemas.decisions import Decision, Silence, SilenceReason
from schemas.errors import Unavailable
from schemas.ids import CandidateId, ContactId, ConversationId, DeliveryId, JobId, OrgId, PaymentId, PersonaId, RunId
from schemas.jobs import AutoReply, DelayedSend, Deliver, Hint
from schemas.llm import Reservation, SettledCall
from schemas.money import Price
from schemas.payments import Link, LinkFailed, Offering, Order
from schemas.resources import OrganizationSpec, PersonaSpec
from schemas.settings import Settings
from schemas.speech import Recording, SpeechFailed
from workers.adapters.clock import SystemClock
from workers.bootstrap import App, Learns, Sums
from workers.elsewhere import NoLearning, NoSumming
from workers.runtime.leases import Leases

SILENT = Silence(SilenceReason.NOTHING_TO_ANSWER)


def a_case(job: int = 1) -> Case:
    return Case(
        now=datetime(2026, 11, 30, 10, tzinfo=UTC),
        organization=Organization(OrgId(1), "acme", OrganizationSpec()),
        persona=Persona(PersonaId(1), "maya", PersonaSpec()),
        contact=Contact(ContactId(1), "fan-7"),
        conversation=ConversationId(job),
        conversation_name=f"c-{job}",
        job=JobId(job),
        trigger=Trigger.MESSAGE,
        turns=(),
    )


def a_claim(job: int = 1, fence: int = 1) -> Claim:
    return Claim(JobId(job), ConversationId(job), OrgId(1), fence, a_case(job), Resume(RunId(job), fence))


def a_posting(delivery: int = 1, endpoint: Endpoint | None = None) -> Posting:
    return Posting(
        delivery=DeliveryId(delivery),
        webhook_id=f"msg_test_{delivery}",
        org=OrgId(1),
        conversation=ConversationId(1),
        candidate=None,
        type="message.send",
        body='{"type":"message.send"}',
        fence=1,
        attempt=1,
        endpoint=endpoint,
    )


def a_preparing(job: int = 1, **changes: Any) -> Preparing:
    fields = {
        "job": JobId(job), "conversation": ConversationId(job), "org": OrgId(1), "fence": 1,
        "candidate": CandidateId(1), "version": 0, "text": "coucou", "voice": None, "language": "fr",
        "consented": False, "due_at": None,
    }  # fmt: skip
    return Preparing(**(fields | changes))


def an_offering(job: int = 1) -> Offering:
    order = Order(PaymentId(7), "replique-abc-pay_7", Price(Decimal("12.50"), "EUR"), "Maya: 1 photo", "fr")
    return Offering(JobId(job), ConversationId(job), OrgId(1), 1, CandidateId(1), 0, order)


@dataclass
class ScriptedLinks:
    """Answers a link, or fails; takes as long as `seconds`."""

    failure: LinkFailed | None = None
    seconds: float = 0.0
    asked: list[Order] = field(default_factory=list)

    async def make(self, order: Order) -> Link:
        self.asked.append(order)
        await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return Link("https://pay.example/7")


RECORDING = Recording("org_1/speech/a.ogg", "http://it/v1/files/a", "audio/ogg", 900, "coucou")


@dataclass
class ScriptedSpeech:
    """Answers the same recording, or fails; takes as long as `seconds`."""

    failure: SpeechFailed | None = None
    seconds: float = 0.0
    asked: list[str] = field(default_factory=list)

    async def of(self, bubble: Preparing) -> Recording:
        self.asked.append(bubble.text)
        await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return RECORDING


@dataclass
class MemoryStorage:
    """Every job may be claimed once. `away` makes every call fail; `lost` are rows that are no longer ours.
    `absences`: so many times what a worker hands in is not taken, then the database is back."""

    away: bool = False
    absences: int = 0
    lost: set[int] = field(default_factory=set)
    claimed: list[int] = field(default_factory=list)
    recorded: list[tuple[int, Decision]] = field(default_factory=list)
    given_back: list[int] = field(default_factory=list)
    settled: list[tuple[int, Posted]] = field(default_factory=list)
    unreadable: list[tuple[str, str, str]] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    voices: set[int] = field(default_factory=set)
    """Jobs whose next bubble is to be spoken."""
    offers: set[int] = field(default_factory=set)
    """Jobs whose next bubble needs a link."""
    linked: list[Link] = field(default_factory=list)
    unlinked: list[str] = field(default_factory=list)
    left: list[Recording] = field(default_factory=list)
    unspoken: list[str] = field(default_factory=list)

    async def put_off(self, hint: AutoReply) -> None:
        self._answer()

    async def expect(self, hint: AutoReply) -> None:
        self._answer()

    async def claim_run(self, hint: AutoReply, alone: bool) -> Claim | None:
        self._answer()
        if hint.job in self.claimed:
            return None
        self.claimed.append(hint.job)
        return a_claim(hint.job)

    async def save_step(
        self, claim: Claim, step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None
    ) -> Kept:
        self._answer(handed_in=True)
        return Kept.FRESH

    async def record(self, claim: Claim, decision: Decision) -> Recorded:
        self._answer(handed_in=True)
        self.recorded.append((claim.job, decision))
        return Ended(JobState.SILENT)

    async def give_back(self, claim: Claim) -> None:
        self.given_back.append(claim.job)

    async def claim_send(self, hint: DelayedSend) -> Posting | Preparing | Offering | None:
        self._answer()
        if hint.job in self.offers:
            return an_offering(hint.job)
        return a_preparing(hint.job) if hint.job in self.voices else a_posting(hint.job)

    async def leave(self, spoken: Preparing, recording: Recording) -> Posting | None:
        self._answer(handed_in=True)
        self.left.append(recording)
        return a_posting(spoken.job)

    async def speech_failed(self, spoken: Preparing, failure: SpeechFailed) -> None:
        self._answer(handed_in=True)
        self.unspoken.append(failure.sentence)

    async def leave_linked(self, bubble: Offering, link: Link) -> Posting | None:
        self._answer(handed_in=True)
        self.linked.append(link)
        return a_posting(bubble.job)

    async def link_failed(self, bubble: Offering, failure: LinkFailed) -> None:
        self._answer(handed_in=True)
        self.unlinked.append(failure.sentence)

    async def put_back(self, spoken: Preparing | Offering) -> None:
        self.given_back.append(spoken.job)

    async def claim_delivery(self, hint: Deliver) -> Posting | None:
        self._answer()
        return a_posting(hint.delivery)

    async def settle(self, posting: Posting, posted: Posted) -> None:
        self._answer(handed_in=True)
        self.settled.append((posting.delivery, posted))

    async def renew(
        self, jobs: Sequence[tuple[JobId, int]], deliveries: Sequence[tuple[DeliveryId, int]]
    ) -> tuple[set[JobId], set[DeliveryId]]:
        self._answer()
        return {row for row, _ in jobs} - self.lost, {row for row, _ in deliveries} - self.lost  # type: ignore[operator]

    async def release(self, instance: str) -> int:
        self._answer()
        self.released.append(instance)
        return 0

    async def keep_unreadable(self, queue: str, message: str, error: str, whole: bool = False) -> None:
        self._answer()
        self.unreadable.append((queue, message, error))

    def _answer(self, handed_in: bool = False) -> None:
        missing = handed_in and self.absences > 0
        self.absences -= missing
        if self.away or missing:
            raise Unavailable("the database does not answer")


@dataclass
class ScriptedReplies:
    """Decides what it was told to; `first` is awaited before, and may take as long as it likes."""

    decision: Decision = SILENT
    first: Callable[[Case], Awaitable[Any]] | None = None
    asked: int = 0
    kept: list[Kept] = field(default_factory=list)
    """What it heard when it saved a step; it saves `steps`."""
    steps: int = 0

    async def run(self, case: Case, resume: Resume, keep: Keep) -> Decision:
        self.asked += 1
        self.kept += [await keep(None, None) for _ in range(self.steps)]
        if self.first is not None:
            await self.first(case)
        return self.decision


@dataclass
class ScriptedChannel:
    answer: Posted = field(default_factory=Accepted)
    seconds: float = 0.0
    posted: list[str] = field(default_factory=list)

    async def post(self, endpoint: Endpoint | None, webhook_id: str, body: str) -> Posted:
        self.posted.append(webhook_id)
        await asyncio.sleep(self.seconds)
        return self.answer


@dataclass
class MemoryCourier:
    pushed: list[Hint] = field(default_factory=list)

    async def push(self, hints: Sequence[Hint]) -> None:
        self.pushed.extend(hints)


def an_app(
    storage: MemoryStorage | None = None,
    replies: ScriptedReplies | None = None,
    channel: ScriptedChannel | None = None,
    settings: Settings | None = None,
    renew_seconds: float = 5.0,
    recordings: ScriptedSpeech | None = None,
    learning: Learns | None = None,
    links: ScriptedLinks | None = None,
    summing: Sums | None = None,
) -> App:
    kept = storage or MemoryStorage()
    return App(
        settings=settings or Settings(),
        clock=SystemClock(),
        storage=kept,
        replies=replies or ScriptedReplies(),
        recordings=recordings or ScriptedSpeech(),
        channel=channel or ScriptedChannel(),
        courier=MemoryCourier(),
        leases=Leases(kept.renew, renew_seconds),
        learning=learning or NoLearning(),
        summing=summing or NoSumming(),
        links=links or ScriptedLinks(),
    )
