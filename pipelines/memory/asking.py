"""One call of a model in the background: of the route's first member that is well, paid for, and never raising."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from pipelines.llm.breaker import ALL_DOWN, OUTAGES
from pipelines.llm.models import NoModel, Route, Routes
from pipelines.llm.pricing import Purse, estimate, over_budget
from pipelines.ports import Breaker, ChatModel, Clock, Gate, PriceTable
from schemas.agent import Kept
from schemas.errors import FailureKind, ModelFailure
from schemas.ids import CallId
from schemas.lessons import NotLearnt
from schemas.llm import Model, ModelAnswer, ModelRequest, Reservation, SettledCall, Task
from schemas.resources import OrganizationSpec
from schemas.settings import Settings

WHEN_SPENT = 21_600.0
"""Seconds after which a chore for which no budget is left is tried again; after five times it rests."""

_POINTLESS = frozenset({FailureKind.PERMANENT, FailureKind.CONTEXT_OVERFLOW})

Reserve = Callable[[Reservation], Awaitable[Kept]]


class Asker(Protocol):
    """What a call takes. `models` by provider."""

    @property
    def clock(self) -> Clock: ...
    @property
    def models(self) -> Mapping[str, ChatModel]: ...
    @property
    def prices(self) -> PriceTable: ...
    @property
    def routes(self) -> Routes: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def breaker(self) -> Breaker: ...
    @property
    def gate(self) -> Gate: ...


class Chore(Protocol):
    """Whose call it is, and how often it was tried."""

    @property
    def organization(self) -> OrganizationSpec: ...
    @property
    def tries(self) -> int: ...


async def ask_once(
    by: Asker, chore: Chore, make: Callable[[Model], ModelRequest], reserve: Reserve
) -> tuple[ModelAnswer, SettledCall] | NotLearnt:
    """Never raises for what a model does. `reserve` sets money aside before it is asked."""
    try:
        route = by.routes.way(Task.AUXILIARY, chore.organization.models)
    except NoModel as missing:
        return NotLearnt(str(missing))
    if (model := await first_well(route, chore.tries, by.breaker)) is None:
        return NotLearnt(ALL_DOWN)
    if (seconds := await by.gate.wait(model)) > 0:
        return NotLearnt(f"a rate limit of {model} is not over", pause=seconds)
    request = make(model)
    purse = Purse(by.prices, request.max_tokens)
    held = purse.reserve(request.call, request.task, model, estimate(request))
    if (kept := await reserve(held)).over_budget:
        return NotLearnt(over_budget(kept, chore.organization.budgets, held), pause=WHEN_SPENT)
    began = by.clock.monotonic()
    try:
        answer = await by.models[model.provider].ask(request, began + by.settings.llm.timeout_seconds)
    except ModelFailure as failure:
        if failure.kind is FailureKind.RATE_LIMITED and failure.retry_after is not None:
            await by.gate.close(model, failure.retry_after)
        return await failed_call(failure, held, round((by.clock.monotonic() - began) * 1000), by.breaker)
    await by.breaker.answered(model)
    return answer, purse.settle(request.call, request.task, answer)


async def first_well(route: Route, tries: int, breaker: Breaker) -> Model | None:
    """Whom a chore asks: the first of its route, or, after each try that failed, the next; none that is known to be
    down. None: all are."""
    start = tries % len(route)
    for model in (*route[start:], *route[:start]):
        if await breaker.admits(model):
            return model
    return None


def call_of(chore: int, fence: int) -> CallId:
    """A claim asks once, so chore and fence name the call."""
    return CallId(f"chore.{chore}.{fence}")


async def failed_call(failure: ModelFailure, held: Reservation, milliseconds: int, breaker: Breaker) -> NotLearnt:
    """A chore's call that the model did not answer."""
    if failure.kind in OUTAGES:
        await breaker.failed(held.model)
    unknown = failure.kind.cost_unknown
    call = SettledCall(
        call=held.call,
        task=held.task,
        model=held.model,
        outcome=failure.kind.value,
        cost_usd=held.cost_usd if unknown else None if held.cost_usd is None else held.cost_usd * 0,
        latency_ms=milliseconds,
        unknown=unknown,
    )
    return NotLearnt(failure.sentence, call, failure.retry_after, failure.kind in _POINTLESS)
