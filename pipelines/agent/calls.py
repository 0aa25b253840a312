"""The numbered model calls of one run: money set aside, asked, saved; or, after a resume, read from what was saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pipelines.agent import steps
from pipelines.agent.trace import Trace
from pipelines.llm import pricing
from pipelines.llm.breaker import ALL_DOWN, OUTAGES, ClosedBreaker
from pipelines.llm.models import Route
from pipelines.llm.pricing import Purse
from pipelines.ports import Breaker, ChatModel, Clock, Gate, Keep
from schemas.agent import Kept, Resume, SavedStep, Step
from schemas.errors import FailureKind, ModelFailure
from schemas.ids import CallId, call_id
from schemas.llm import (
    WRITES,
    Block,
    Model,
    ModelAnswer,
    ModelRequest,
    Reservation,
    SettledCall,
    Task,
    ToolResult,
)

MakeRequest = Callable[[CallId, Sequence[Block]], ModelRequest]
"""Builds a request from its call id and the user blocks that are new since the last answer."""

NextTask = Callable[[ModelAnswer], Task | None]
"""The task of the call that probably follows an answer; None when none does."""


class CallFailed(Exception):
    """The provider gave no answer. `settled` is what that attempt cost, as far as anyone can know; None: there was no
    attempt, the model's gate is closed."""

    def __init__(self, failure: ModelFailure, settled: SettledCall | None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.settled = settled


class BudgetSpent(Exception):
    """A budget has no room for the call that would come next. Nothing was asked."""

    def __init__(self, kept: Kept, reservation: Reservation) -> None:
        super().__init__(kept.value)
        self.kept = kept
        self.reservation = reservation


class RunTakenAway(Exception):
    """Saving found that this run is not ours to go on with."""


@dataclass(slots=True)
class Timer:
    """Active time of a run, over all its claims."""

    clock: Clock
    limit: float
    spent_before: float
    started: float

    @classmethod
    def start(cls, clock: Clock, limit: float, spent_before: float) -> "Timer":
        return cls(clock, limit, spent_before, clock.monotonic())

    @property
    def active(self) -> float:
        return self.spent_before + self.clock.monotonic() - self.started

    @property
    def remaining(self) -> float:
        return self.limit - self.active

    @property
    def deadline(self) -> float:
        """On the clock's monotonic scale."""
        return self.started + self.limit - self.spent_before


@dataclass(frozen=True, slots=True)
class Doors:
    """What every model is asked through. `models` by provider; `retries`: claims in which a failing model is asked
    once more before the next of its route is."""

    models: Mapping[str, ChatModel]
    gate: Gate
    breaker: Breaker = field(default_factory=ClosedBreaker)
    retries: int = 1


class Calls:
    def __init__(
        self,
        resume: Resume,
        keep: Keep,
        doors: Doors,
        purse: Purse,
        timer: Timer,
        trace: Trace,
        settled: Mapping[str, Any] | None = None,
    ) -> None:
        """`settled`: what was decided for the whole run, JSON; kept with its first step."""
        self._settled = settled
        self._resume = resume
        self._keep = keep
        self._doors = doors
        self._purse = purse
        self._timer = timer
        self._trace = trace
        self._saved: list[SavedStep] = list(resume.steps)
        self._anew = not resume.steps
        self._tries = resume.tries
        self._down: set[Model] = set()
        self._answered_by = {step.task: steps.decode(step.content).answer.model for step in resume.steps}
        self._routes: dict[Task, Route] = {}
        self._reserved: Reservation | None = None
        trace.muted = bool(self._saved)

    def saved_results(self) -> dict[str, ToolResult]:
        """Tool results that the next saved call of the agent was given: what was looked up is not looked up again."""
        for step in self._saved:
            if step.task in WRITES:
                blocks = steps.decode(step.content).sent
                return {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
        return {}

    def expect(self, task: Task, route: Route) -> None:
        """Whom a task will ask, known before it first does: money for its call is set aside for that model."""
        self._routes[task] = route

    async def ask(
        self, task: Task, route: Route, sent: Sequence[Block], make: MakeRequest, follows: NextTask
    ) -> steps.Exchange:
        """The next call's answer, with the user blocks that it answered.

        Between two answers every tool call has its result: only there another member of the route stands in.
        Raises CallFailed, BudgetSpent, RunTakenAway."""
        self._trace.n += 1
        self.expect(task, route)
        if (saved := self._next_saved(task)) is not None:
            return saved
        left = list(self._members(task, route))
        failed: CallFailed | None = None
        while True:
            model = await self._next_well(left, failed)
            if failed is not None:
                self._trace.note("another model stands in", model=str(model), failure=failed.failure.kind.value)
                self._trace.n += 1
            await self._pass(model, failed)
            try:
                request, answer = await self._one(task, model, sent, make, failed)
                break
            except CallFailed as another:
                if not await self._another_may(another, left):
                    raise
                failed = another
        self._answered_by[task] = model
        settled = self._purse.settle(request.call, task, answer)
        self._trace.model(answer, settled.cost_usd)
        await self._save(task, sent, answer, settled, follows(answer))
        return steps.Exchange(tuple(sent), answer)

    def _members(self, task: Task, route: Route) -> Route:
        """The route, after the model that answered this task before: what it has read in the cache, and signed, is
        that model's own. Those that were stood in for in this claim come last."""
        before = self._answered_by.get(task)
        if before is not None and before.provider in self._doors.models:
            route = (before, *(model for model in route if model != before))
        return tuple(sorted(route, key=self._down.__contains__))

    async def _next_well(self, left: list[Model], failed: CallFailed | None) -> Model:
        """The first that is not known to be down; those before it are struck out. Raises CallFailed."""
        while left:
            model = left.pop(0)
            if await self._doors.breaker.admits(model):
                return model
        if failed is not None:
            raise failed
        raise CallFailed(ModelFailure(FailureKind.OVERLOADED, ALL_DOWN), None)

    async def _another_may(self, failed: CallFailed, left: Sequence[Model]) -> bool:
        """Asking the same model again comes first: a moment later, when the job is due again. Unless that was done, or
        everybody knows by now that it is down."""
        if failed.failure.kind not in OUTAGES:
            return False
        model = failed.settled.model if failed.settled else None
        if model is not None:
            await self._doors.breaker.failed(model)
        if not left:
            return False
        waits = failed.failure.kind is not FailureKind.MODEL_GONE and self._tries < self._doors.retries
        if waits and model is not None and await self._doors.breaker.admits(model):
            return False
        if model is not None:
            self._down.add(model)
        return True

    async def _one(
        self, task: Task, model: Model, sent: Sequence[Block], make: MakeRequest, failed: CallFailed | None
    ) -> tuple[ModelRequest, ModelAnswer]:
        """One HTTP attempt: money set aside, asked. `failed`: the attempt before, which is settled with it."""
        call = call_id(self._resume.run, self._trace.n, self._resume.fence)
        request = replace(make(call, sent), model=model)
        held = await self._reserve(call, task, model, request, failed)
        answer = await self._attempt(request, held)
        await self._doors.breaker.answered(model)
        return request, answer

    def _next_saved(self, task: Task) -> steps.Exchange | None:
        if not self._saved:
            return None
        step = self._saved.pop(0)
        if step.task is not task:
            # What decides between the tasks has changed since: the rest was said in answer to something else.
            self._saved.clear()
            self._trace.n = self._resume.steps[-1].n + 1
            self._trace.muted = False
            return None
        self._trace.n = step.n
        self._trace.muted = bool(self._saved)
        return steps.decode(step.content)

    async def _pass(self, model: Model, failed: CallFailed | None) -> None:
        """Asked before anything is set aside: who is sent away has called nobody."""
        if (seconds := await self._doors.gate.wait(model)) > 0:
            sentence = f"a rate limit of {model} is not over: it is asked again little by little"
            before = failed.settled if failed else None
            raise CallFailed(ModelFailure(FailureKind.RATE_LIMITED, sentence, seconds), before)

    async def _reserve(
        self, call: CallId, task: Task, model: Model, request: ModelRequest, failed: CallFailed | None
    ) -> Reservation:
        """Set aside before the first call of a claim; later ones were, in the statement that saved the one before,
        unless it is another model's turn by now."""
        if (held := self._reserved) is not None and (held.call, held.model) == (call, model):
            return held
        reservation = self._purse.reserve(call, task, model, pricing.estimate(request))
        kept = await self._keep(None, reservation, failed.settled if failed else None)
        if kept.over_budget:
            raise BudgetSpent(kept, reservation)
        if kept is not Kept.FRESH:
            raise RunTakenAway
        return reservation

    async def _attempt(self, request: ModelRequest, held: Reservation) -> ModelAnswer:
        began = self._timer.clock.monotonic()
        try:
            return await self._doors.models[request.model.provider].ask(request, self._timer.deadline)
        except ModelFailure as failure:
            if failure.kind is FailureKind.RATE_LIMITED and failure.retry_after is not None:
                await self._doors.gate.close(request.model, failure.retry_after)
            unknown = failure.kind.cost_unknown
            settled = SettledCall(
                call=request.call,
                task=request.task,
                model=request.model,
                outcome=failure.kind.value,
                cost_usd=held.cost_usd if unknown else Decimal(0),
                latency_ms=round((self._timer.clock.monotonic() - began) * 1000),
                unknown=unknown,
            )
            raise CallFailed(failure, settled) from failure

    async def _save(
        self, task: Task, sent: Sequence[Block], answer: ModelAnswer, settled: SettledCall, next_task: Task | None
    ) -> None:
        self._reserved = self._reservation_after(answer, next_task)
        content = steps.encode(sent, answer, self._settled if self._anew else None)
        self._anew, self._tries = False, 0
        step = Step(self._trace.n, task, content, settled, self._timer.active, self._trace.take())
        kept = await self._keep(step, self._reserved)
        if kept.over_budget:
            # This answer may well be the last: only who asks again is told.
            self._reserved = None
        elif kept is not Kept.FRESH:
            raise RunTakenAway

    def _reservation_after(self, answer: ModelAnswer, task: Task | None) -> Reservation | None:
        if task is None:
            return None
        call = call_id(self._resume.run, self._trace.n + 1, self._resume.fence)
        members = self._members(task, self._routes.get(task, ()))
        return self._purse.reserve(call, task, members[0] if members else answer.model, pricing.after(answer))
