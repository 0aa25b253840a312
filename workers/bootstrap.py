"""The only place where ports meet adapters."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from pipelines.autoreply.pipeline import ReplyPipeline
from pipelines.delivery.speech import Recordings
from pipelines.llm.breaker import ClosedBreaker, Rules
from pipelines.llm.models import Routes, routes_of
from pipelines.llm.ramp import OpenGate
from pipelines.memory.asking import Reserve
from pipelines.memory.learning import Learning
from pipelines.memory.summary import Summing
from pipelines.ports import (
    Breaker,
    Catalogue,
    Channel,
    Clock,
    Courier,
    Embedder,
    Gate,
    Habits,
    Keep,
    LinkExpiry,
    Memory,
    PaymentLinks,
    Shop,
)
from schemas.agent import Kept, Resume, Step
from schemas.claims import Claim, Posted, Posting, Preparing, Recorded
from schemas.conversation import Case
from schemas.decisions import Decision
from schemas.ids import DeliveryId, JobId
from schemas.jobs import AutoReply, CloseLinks, DelayedSend, Deliver, Learn, Queue, Summarize
from schemas.lessons import Learnt, Lesson, NotLearnt
from schemas.llm import Reservation, SettledCall
from schemas.payments import Closing, Link, LinkFailed, Offering
from schemas.settings import Settings
from schemas.speech import Recording, SpeechFailed
from schemas.summaries import Folding, Summed
from workers.adapters.channels.guard import Guard
from workers.adapters.channels.inbox import WithInbox
from workers.adapters.channels.webhook import WebhookChannel
from workers.adapters.clock import SystemClock
from workers.adapters.embedding import is_built_in, open_embedder
from workers.adapters.embeddings import preload
from workers.adapters.files.signed import SignedFiles
from workers.adapters.files.wanted import FilesWhenWanted
from workers.adapters.payments.build import open_payments
from workers.adapters.payments.wanted import StripeWhenWanted
from workers.adapters.postgres.catalogue import StoredCatalogue
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.habits import StoredHabits
from workers.adapters.postgres.memory import StoredMemory
from workers.adapters.postgres.secret import InstallationSecret
from workers.adapters.postgres.shop import StoredShop
from workers.adapters.postgres.transitions import Transitions
from workers.adapters.redis.breaker import RedisBreaker
from workers.adapters.redis.courier import RedisCourier
from workers.adapters.redis.gate import RedisGate
from workers.adapters.reembedding import embedding_anew
from workers.adapters.speech.build import milliseconds, open_speech
from workers.elsewhere import NoExpiry, NoLearning, NoLinks, NoRecordings, NoReplies, NoSumming
from workers.runtime.addresses import database_address, redis_address
from workers.runtime.apart import OwnProcesses
from workers.runtime.leases import Leases


class Storage(Protocol):
    """What actors do to the truth. Every call is one guarded transaction; each may raise `Unavailable`."""

    async def claim_run(self, hint: AutoReply, alone: bool) -> Claim | None: ...
    async def put_off(self, hint: AutoReply) -> None: ...
    async def expect(self, hint: AutoReply) -> None: ...
    async def save_step(
        self, claim: Claim, step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None
    ) -> Kept: ...
    async def record(self, claim: Claim, decision: Decision) -> Recorded: ...
    async def give_back(self, claim: Claim) -> None: ...
    async def claim_send(self, hint: DelayedSend) -> Posting | Preparing | Offering | None: ...
    async def leave(self, spoken: Preparing, recording: Recording) -> Posting | None: ...
    async def speech_failed(self, spoken: Preparing, failure: SpeechFailed) -> None: ...
    async def leave_linked(self, bubble: Offering, link: Link) -> Posting | None: ...
    async def link_failed(self, bubble: Offering, failure: LinkFailed) -> None: ...
    async def put_back(self, spoken: Preparing | Offering) -> None: ...
    async def claim_lesson(self, hint: Learn) -> Lesson | None: ...
    async def reserve_lesson(self, lesson: Lesson, reservation: Reservation) -> Kept: ...
    async def end_lesson(self, lesson: Lesson, learnt: Learnt | NotLearnt | None) -> int: ...
    async def claim_summary(self, hint: Summarize) -> Folding | None: ...
    async def reserve_summary(self, folding: Folding, reservation: Reservation) -> Kept: ...
    async def end_summary(self, folding: Folding, summed: Summed | NotLearnt | None) -> None: ...
    async def claim_closing(self, hint: CloseLinks) -> Closing | None: ...
    async def end_closing(self, closing: Closing, failed: LinkFailed | None) -> None: ...
    async def claim_delivery(self, hint: Deliver) -> Posting | None: ...
    async def settle(self, posting: Posting, posted: Posted) -> None: ...
    async def renew(
        self, jobs: Sequence[tuple[JobId, int]], deliveries: Sequence[tuple[DeliveryId, int]]
    ) -> tuple[set[JobId], set[DeliveryId]]: ...
    async def release(self, instance: str) -> int: ...
    async def keep_unreadable(self, queue: str, message: str, error: str, whole: bool = False) -> None: ...


class Replies(Protocol):
    """Thinks a reply through. An ending that can be expected is a value; what is raised is a fault of ours."""

    async def run(self, case: Case, resume: Resume, keep: Keep) -> Decision: ...


class Learns(Protocol):
    """Finds what is worth remembering. `reserve` sets money aside before a model is asked."""

    async def run(self, lesson: Lesson, reserve: Reserve) -> Learnt | NotLearnt: ...


class Sums(Protocol):
    """Sums up what was said. `reserve` sets money aside before a model is asked."""

    async def run(self, folding: Folding, reserve: Reserve) -> Summed | NotLearnt: ...


class Speaks(Protocol):
    """Finds or makes the audio of a voice bubble. Raises `SpeechFailed` and `Unavailable`."""

    async def of(self, bubble: Preparing) -> Recording: ...


class Apart(Protocol):
    """Runs one job in a process of its own."""

    async def run(self, hint: AutoReply) -> bool:
        """Until that process has ended, however it did. False: none can be had now."""
        ...


@dataclass(frozen=True, slots=True)
class App:
    """What a worker process has in hand. It belongs to one event loop. `apart` None: it has one job, and no other."""

    settings: Settings
    clock: Clock
    storage: Storage
    replies: Replies
    recordings: Speaks
    channel: Channel
    courier: Courier
    leases: Leases
    links: PaymentLinks = field(default_factory=lambda: NoLinks())
    apart: Apart | None = None
    learning: Learns = field(default_factory=lambda: NoLearning())
    summing: Sums = field(default_factory=lambda: NoSumming())
    expiry: LinkExpiry = field(default_factory=lambda: NoExpiry())


def replies_for(
    settings: Settings,
    clock: Clock,
    queues: Collection[Queue],
    gate: Gate | None = None,
    memory: Memory | None = None,
    catalogue: Catalogue | None = None,
    shop: Shop | None = None,
    breaker: Breaker | None = None,
    habits: Habits | None = None,
) -> Replies:
    """The providers' libraries cost 1.3 s and 76 MB: imported only where a model is asked. Call it before a fork, and
    the children share them; no `gate` is needed for that. Raises SettingsRefused when every model's key is missing."""
    if Queue.REPLY not in queues:
        return NoReplies()
    from workers.adapters.llm import build  # noqa: PLC0415

    llm = build(settings, clock)
    doors = gate or OpenGate(), memory, catalogue, shop, breaker or ClosedBreaker(), habits
    return ReplyPipeline(clock, llm.models, llm.prices, settings, *doors)


def chores_for(
    settings: Settings, clock: Clock, queues: Collection[Queue], embedder: Embedder, breaker: Breaker, gate: Gate
) -> tuple[Learns, Sums]:
    """Raises SettingsRefused as `replies_for` does."""
    if Queue.BACKGROUND not in queues:
        return NoLearning(), NoSumming()
    from workers.adapters.llm import build  # noqa: PLC0415

    llm = build(settings, clock)
    routes = Routes(routes_of(settings), frozenset(llm.models))
    return (
        Learning(clock, llm.models, llm.prices, routes, embedder, settings, breaker, gate),
        Summing(clock, llm.models, llm.prices, routes, settings, breaker, gate),
    )


def load_embeddings(settings: Settings, queues: Collection[Queue]) -> None:
    """130 MB, where something is looked up or remembered. Call it before a fork, and the children share them."""
    if is_built_in(settings) and (Queue.REPLY in queues or Queue.BACKGROUND in queues):
        preload()


@asynccontextmanager
async def open_recordings(
    settings: Settings, clock: Clock, database: Database, queues: Collection[Queue]
) -> AsyncIterator[Speaks]:
    """Engines start with the first voice bubble, and end with the block. Raises SettingsRefused when STORAGE_URL names
    no store."""
    if Queue.SEND not in queues:
        yield NoRecordings()
        return
    files = FilesWhenWanted(settings)
    links = SignedFiles(files, InstallationSecret(database, settings), settings.public_url, clock)
    async with open_speech(settings, clock) as speech:
        yield Recordings(speech, files, links, milliseconds, settings.speech.engine)


@asynccontextmanager
async def open_links(settings: Settings, database: Database, queues: Collection[Queue]) -> AsyncIterator[PaymentLinks]:
    """Raises SettingsRefused when Stripe is named without its key, or its library is not installed."""
    if Queue.SEND not in queues:
        yield NoLinks()
        return
    async with open_payments(settings, InstallationSecret(database, settings)) as links:
        yield links


@asynccontextmanager
async def open_expiry(settings: Settings, queues: Collection[Queue]) -> AsyncIterator[LinkExpiry]:
    if Queue.BACKGROUND not in queues:
        yield NoExpiry()
        return
    stripe = StripeWhenWanted(settings)
    try:
        yield stripe
    finally:
        await stripe.close()


@asynccontextmanager
async def build_app(
    settings: Settings, instance: str, queues: Collection[Queue] = tuple(Queue), alone: bool = False
) -> AsyncIterator[App]:
    """Everything wired to real servers, on the running event loop; closed at the end, leases renewed in between.

    `instance` names this process on the leases it takes: no two living processes may share it. `alone`: it was started
    for one job. Raises SettingsRefused when an address or every model's key is missing.
    """
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        database = Database(database_address(settings), settings.worker.pool_size, settings.pg_prepare)
        stack.push_async_callback(database.close)
        courier = RedisCourier(redis_address(settings))
        stack.push_async_callback(courier.close)
        storage = Transitions(database, settings, courier, instance)
        webhooks = WebhookChannel(clock, settings.delivery.timeout_seconds, Guard(settings.allow_private_urls))
        stack.push_async_callback(webhooks.close)
        gate = RedisGate(redis_address(settings), clock, settings.llm.ramp_seconds)
        stack.push_async_callback(gate.close_connection)
        rules = Rules(settings.llm.breaker_failures, settings.llm.breaker_seconds)
        breaker = RedisBreaker(redis_address(settings), clock, rules)
        stack.push_async_callback(breaker.close_connection)
        embedder = await stack.enter_async_context(open_embedder(settings, clock, database))
        memory, catalogue = StoredMemory(database, embedder), StoredCatalogue(database, embedder)
        shop, habits = StoredShop(database), StoredHabits(database)
        replies = replies_for(settings, clock, queues, gate, memory, catalogue, shop, breaker, habits)
        learning, summing = chores_for(settings, clock, queues, embedder, breaker, gate)
        if Queue.BACKGROUND in queues:
            anew = embedding_anew(database, redis_address(settings), clock, instance, embedder)
            await stack.enter_async_context(anew)
        recordings = await stack.enter_async_context(open_recordings(settings, clock, database, queues))
        links = await stack.enter_async_context(open_links(settings, database, queues))
        expiry = await stack.enter_async_context(open_expiry(settings, queues))
        leases = Leases(storage.renew, settings.queue.renew_seconds)
        renewing = asyncio.create_task(leases.keep_renewing())
        stack.callback(renewing.cancel)
        apart = None if alone else OwnProcesses(instance, storage)
        channel = WithInbox(webhooks)
        chores = learning, summing, expiry
        yield App(settings, clock, storage, replies, recordings, channel, courier, leases, links, apart, *chores)
