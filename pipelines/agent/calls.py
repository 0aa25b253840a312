"""The numbered model calls of one run: money set aside, asked, saved; or, after a resume, read from what was saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pipelines.agent import steps
from pipelines.agent.trace import Trace
from pipelines.llm import pricing
from pipelines.llm.pricing import Purse
from pipelines.ports import ChatModel, Clock, Gate, Keep
from schemas.agent import Kept, Resume, SavedStep, Step
from schemas.errors import FailureKind, ModelFailure
from schemas.ids import CallId, call_id
from schemas.llm import (
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


class Calls:
    def __init__(
        self,
        resume: Resume,
        keep: Keep,
        models: Mapping[str, ChatModel],
        purse: Purse,
        timer: Timer,
        trace: Trace,
        gate: Gate,
        settled: Mapping[str, Any] | None = None,
    ) -> None:
        """`settled`: what was decided for the whole run, JSON; kept with its first step."""
        self._settled = settled
        self._resume = resume
        self._keep = keep
        self._models = models
        self._purse = purse
        self._timer = timer
        self._trace = trace
        self._gate = gate
        self._saved: list[SavedStep] = list(resume.steps)
        self._reserved: Reservation | None = None
        trace.muted = bool(self._saved)

    def model_so_far(self) -> Model | None:
        """The model that made the saved answers: a resumed run stays with it."""
        return steps.decode(self._resume.steps[0].content).answer.model if self._resume.steps else None

    def saved_results(self) -> dict[str, ToolResult]:
        """Tool results that the next saved call of the agent was given: what was looked up is not looked up again."""
        for step in self._saved:
            if step.task is Task.REPLY:
                blocks = steps.decode(step.content).sent
                return {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
        return {}

    async def ask(
        self, task: Task, model: Model, sent: Sequence[Block], make: MakeRequest, follows: NextTask
    ) -> steps.Exchange:
        """The next call's answer, with the user blocks that it answered.

        Raises CallFailed, BudgetSpent, RunTakenAway."""
        self._trace.n += 1
        if (saved := self._next_saved(task)) is not None:
            return saved
        await self._pass(model)
        call = call_id(self._resume.run, self._trace.n, self._resume.fence)
        request = make(call, sent)
        held = await self._reserve(call, task, model, request)
        answer = await self._attempt(request, held)
        settled = self._purse.settle(call, task, answer)
        self._trace.model(answer, settled.cost_usd)
        await self._save(task, sent, answer, settled, follows(answer))
        return steps.Exchange(tuple(sent), answer)

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

    async def _pass(self, model: Model) -> None:
        """Asked before anything is set aside: who is sent away has called nobody."""
        if (seconds := await self._gate.wait(model)) > 0:
            sentence = f"a rate limit of {model} is not over: it is asked again little by little"
            raise CallFailed(ModelFailure(FailureKind.RATE_LIMITED, sentence, seconds), None)

    async def _reserve(self, call: CallId, task: Task, model: Model, request: ModelRequest) -> Reservation:
        """Set aside before the first call of a claim; later ones were, in the statement that saved the one before."""
        if self._reserved is not None:
            return self._reserved
        reservation = self._purse.reserve(call, task, model, pricing.estimate(request))
        kept = await self._keep(None, reservation)
        if kept.over_budget:
            raise BudgetSpent(kept, reservation)
        if kept is not Kept.FRESH:
            raise RunTakenAway
        return reservation

    async def _attempt(self, request: ModelRequest, held: Reservation) -> ModelAnswer:
        began = self._timer.clock.monotonic()
        try:
            return await self._models[request.model.provider].ask(request, self._timer.deadline)
        except ModelFailure as failure:
            if failure.kind is FailureKind.RATE_LIMITED and failure.retry_after is not None:
                await self._gate.close(request.model, failure.retry_after)
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
        content = steps.encode(sent, answer, self._settled if self._trace.n == 1 else None)
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
        return self._purse.reserve(call, task, answer.model, pricing.after(answer))
