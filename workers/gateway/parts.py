"""What the routes work with, wired once when the gateway starts."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.llm.breaker import State
from workers.adapters.files.signed import SignedFiles
from workers.adapters.payments.page import PracticePage
from workers.adapters.postgres.counts import Counter
from workers.adapters.postgres.keys import Keys
from workers.adapters.postgres.parameters import Parameters
from workers.adapters.postgres.provision import Provision
from workers.adapters.postgres.rights import Rights
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
from workers.adapters.postgres.views.jobs import Jobs
from workers.adapters.postgres.views.payments import Payments
from workers.adapters.postgres.views.provisioned import Provisioned
from workers.gateway.auth import Guard
from workers.gateway.second_chance import SecondChance

if TYPE_CHECKING:
    from workers.adapters.payments.stripe import StripeEvents
    from workers.gateway.checkup import Doctor
    from workers.gateway.playing import Playground

Probe = Callable[[], Awaitable[Mapping[str, Any]]]
"""Tells how something is that the gateway can do without. Never raises."""

Breakers = Callable[[], Awaitable[Mapping[str, State]]]
"""Which models are left alone, by `provider:name`; nothing when nobody can tell. Never raises."""


@dataclass(frozen=True, slots=True)
class ConsoleParts:
    """What only pages ask for."""

    desk: Desk
    provisioned: Provisioned
    parameters: Parameters
    switches: Switches
    changes: Changes
    playground: "Playground"


@dataclass(frozen=True, slots=True)
class Parts:
    transitions: Transitions
    guard: Guard
    keys: Keys
    users: Users
    sessions: Sessions
    provision: Provision
    rights: Rights
    exports: Exports
    conversations: Conversations
    jobs: Jobs
    payments: Payments
    console: ConsoleParts
    dead_letters: DeadLetters
    second_chance: SecondChance
    files: SignedFiles
    explain: Explain
    dry_runs: DryRuns
    counter: Counter
    costs: Costs
    redis: Probe
    breakers: Breakers
    doctor: "Doctor"
    page: PracticePage | None = None
    """Where no money moves; None: payments are real, and there is no such page."""
    simulated: bool = False
    """A simulator plays the models of this installation."""
    stripe: "StripeEvents | None" = None
    """None: Stripe's word is not asked for here."""
