"""Where the gateway's parts meet what they stand on."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.llm.breaker import State
from pipelines.ports import Clock, Embedder
from schemas.jobs import Hint
from schemas.payments import PaymentProvider
from schemas.settings import Settings
from workers.adapters.clock import SystemClock
from workers.adapters.embedding import open_embedder
from workers.adapters.files.signed import SignedFiles
from workers.adapters.files.wanted import FilesWhenWanted
from workers.adapters.passwords import Passwords
from workers.adapters.payments.page import PracticePage
from workers.adapters.postgres.counts import Counter
from workers.adapters.postgres.database import Database, Patience
from workers.adapters.postgres.keys import Keys
from workers.adapters.postgres.parameters import Parameters
from workers.adapters.postgres.playing import Playing
from workers.adapters.postgres.provision import Provision
from workers.adapters.postgres.rights import Rights
from workers.adapters.postgres.secret import InstallationSecret
from workers.adapters.postgres.sessions import Sessions
from workers.adapters.postgres.switches import Switches
from workers.adapters.postgres.transitions import Transitions
from workers.adapters.postgres.users import Users
from workers.adapters.postgres.views.changes import Changes
from workers.adapters.postgres.views.conversations import Conversations
from workers.adapters.postgres.views.costs import Costs
from workers.adapters.postgres.views.dead_letters import DeadLetters
from workers.adapters.postgres.views.desk import Desk
from workers.adapters.postgres.views.dry_run import DryRuns
from workers.adapters.postgres.views.explain import Explain
from workers.adapters.postgres.views.export import Exports
from workers.adapters.postgres.views.health import Health
from workers.adapters.postgres.views.jobs import Jobs
from workers.adapters.postgres.views.payments import Payments
from workers.adapters.postgres.views.provisioned import Provisioned
from workers.adapters.postgres.views.snapshot import Snapshots
from workers.adapters.redis.breaker import BreakerStates
from workers.adapters.redis.courier import RedisCourier
from workers.adapters.redis.probe import RedisProbe
from workers.adapters.redis.wrong_keys import RedisWrongKeys
from workers.gateway.auth import Guard, NobodyElse, WrongKeys
from workers.gateway.checkup import Doctor, known_routes
from workers.gateway.parts import Breakers, ConsoleParts, Parts, Probe
from workers.gateway.playing import Playground
from workers.gateway.second_chance import SecondChance
from workers.runtime.addresses import database_address, redis_address

if TYPE_CHECKING:
    from workers.adapters.payments.stripe import StripeEvents


class NoCourier:
    """Without Redis hints go nowhere: the clock finds every row by itself."""

    async def push(self, hints: Sequence[Hint]) -> None:
        return

    async def put(self, queue: str, message: bytes) -> bool:
        return False


async def no_breakers() -> Mapping[str, State]:
    return {}


async def no_redis() -> Mapping[str, Any]:
    return {"configured": False}


@dataclass(frozen=True, slots=True)
class OfRedis:
    """What the gateway has of Redis; without it, how it does without."""

    courier: NoCourier | RedisCourier = field(default_factory=NoCourier)
    look: Probe = no_redis
    breakers: Breakers = no_breakers
    wrong_keys: WrongKeys = field(default_factory=NobodyElse)


@asynccontextmanager
async def open_parts(settings: Settings) -> AsyncIterator[Parts]:
    """Nothing is connected yet when this answers: a gateway starts while its servers are away, and says so on /readyz.

    Raises SettingsRefused when the database's address is missing, or STORAGE_URL names no store.
    """
    url = database_address(settings)
    redis = OfRedis()
    async with AsyncExitStack() as stack:
        own = settings.gateway
        patience = Patience(own.answer_seconds, own.longer_seconds, own.waiting_requests)
        database = Database(url, own.pool_size, settings.pg_prepare, patience=patience)
        stack.push_async_callback(database.close)
        if settings.redis_url is not None:
            probe, hints = RedisProbe(redis_address(settings)), RedisCourier(redis_address(settings))
            stack.push_async_callback(probe.close)
            stack.push_async_callback(hints.close)
            states = BreakerStates(redis_address(settings), SystemClock(), known_routes(settings).all_members())
            stack.push_async_callback(states.close)
            counted = RedisWrongKeys(redis_address(settings), SystemClock())
            stack.push_async_callback(counted.close)
            redis = OfRedis(hints, probe.look, states.look, counted)
        embedder = await stack.enter_async_context(open_embedder(settings, SystemClock(), database))
        parts = assemble(settings, database, redis, SystemClock(), embedder)
        stack.push_async_callback(parts.console.playground.close)
        yield parts


def assemble(settings: Settings, database: Database, redis: OfRedis, clock: Clock, embedder: Embedder) -> Parts:
    keys, snapshots, own = Keys(database, settings), Snapshots(database), settings.instance or "gateway"
    letters, transitions = DeadLetters(snapshots), Transitions(database, settings, redis.courier, own)
    secret, passwords = InstallationSecret(database, settings), Passwords()
    files = SignedFiles(FilesWhenWanted(settings), secret, settings.public_url, clock)
    return Parts(
        transitions=transitions,
        guard=Guard(keys, settings.gateway, clock.monotonic, redis.wrong_keys),
        keys=keys,
        users=Users(database, settings, passwords),
        sessions=Sessions(database, settings, passwords, secret),
        provision=Provision(database, embedder),
        rights=Rights(database, settings, redis.courier, own),
        exports=Exports(snapshots),
        conversations=Conversations(snapshots, files.signer, settings.simulator),
        jobs=Jobs(snapshots, files.signer, settings.simulator),
        payments=Payments(snapshots),
        dead_letters=letters,
        second_chance=SecondChance(transitions, letters, redis.courier.put),
        console=_console(settings, database, snapshots, files, clock, embedder, redis.courier),
        files=files,
        explain=Explain(snapshots),
        dry_runs=DryRuns(snapshots, settings),
        counter=Counter(database, settings),
        costs=Costs(snapshots, settings),
        redis=redis.look,
        breakers=redis.breakers,
        doctor=Doctor(settings, Health(snapshots), redis.look, redis.breakers),
        page=_page(settings, secret),
        simulated=settings.simulator,
        stripe=_stripe(settings),
    )


def _console(
    settings: Settings,
    database: Database,
    snapshots: Snapshots,
    files: SignedFiles,
    clock: Clock,
    embedder: Embedder,
    courier: NoCourier | RedisCourier,
) -> ConsoleParts:
    playing = Playing(database, settings, courier, settings.instance or "gateway")
    return ConsoleParts(
        desk=Desk(snapshots, files.signer, settings.simulator),
        provisioned=Provisioned(snapshots),
        parameters=Parameters(database),
        switches=Switches(database),
        changes=Changes(database, clock.monotonic),
        playground=Playground(settings, database, clock, embedder, playing),
    )


def _page(settings: Settings, secret: InstallationSecret) -> PracticePage | None:
    if settings.payment_provider is not PaymentProvider.TEST:
        return None
    return PracticePage(secret, settings.public_url)


def _stripe(settings: Settings) -> "StripeEvents | None":
    secret = settings.payments.stripe_webhook_secret
    if secret is None:
        return None
    # 1.3 s and 80 MB: only where it is used.
    from workers.adapters.payments.stripe import StripeEvents  # noqa: PLC0415

    return StripeEvents(secret.get_secret_value())
