"""One agent at work: ask the model, carry out its tools, tell it the results, until it ends its turn or must stop."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from pipelines.agent import guards
from pipelines.agent.calls import Calls, Timer
from pipelines.agent.execution import Execution
from pipelines.agent.guards import Counts, Halt
from pipelines.agent.policy import ToolPolicy
from pipelines.agent.tools import RunState, Tool
from pipelines.agent.trace import Trace
from pipelines.llm.history import ASSISTANT, USER
from pipelines.llm.models import Route
from schemas.agent import AgentParameters
from schemas.errors import Code
from schemas.ids import CallId
from schemas.llm import (
    Block,
    Message,
    Model,
    ModelAnswer,
    ModelRequest,
    Raw,
    Stop,
    Task,
    Text,
    ToolResult,
    ToolSpec,
)

S = TypeVar("S", bound=RunState)

NUDGE = (
    "[Notice] Your turn ended, and nothing is queued. Text outside of tool calls is never sent. Queue your reply with "
    "the tools you have, or end the turn on purpose with one of them."
)
CUT = "Your answer was cut off before this call was complete, so it was not made. Be shorter."


class Finish(Enum):
    """How a turn of work came to its end, when no guard stopped it."""

    SENDABLE = "sendable"
    ENDED = "ended"
    NOTHING_NEW = "nothing_new"
    """A correction that queued nothing."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent is sent to work with. `build` makes the request of a call from the run's own messages; the first
    model of `route` that is not down answers it. `task`: what its calls are made and booked for."""

    task: Task
    route: Route
    opening: tuple[Block, ...]
    build: Callable[[CallId, Model, Sequence[Message], tuple[ToolSpec, ...]], ModelRequest]
    expects_review: bool = False
    lacks: Callable[[Set[str]], str | None] = lambda used: None
    """What to tell the agent once when it ends its turn with a reply and has used these tools; None: it is complete."""


class Agent(Generic[S]):
    def __init__(
        self,
        assignment: Assignment,
        tools: Sequence[Tool[Any, S]],
        policy: ToolPolicy,
        state: S,
        calls: Calls,
        timer: Timer,
        limits: AgentParameters,
        trace: Trace,
    ) -> None:
        self._assignment = assignment
        self._state = state
        self._calls = calls
        self._timer = timer
        self._limits = limits
        self._trace = trace
        self._counts = Counts()
        self._execution = Execution(tools, policy, state, self._counts, limits, trace)
        self._specs = tuple(tool.spec() for tool in self._execution.palette)
        self._messages: list[Message] = []
        self._new: list[Block] = list(assignment.opening)
        self._correcting = False

    @property
    def used(self) -> Set[str]:
        """The tools it has used so far, refused calls aside."""
        return self._counts.accepted

    @property
    def may_go_on(self) -> bool:
        """Another call of the model is allowed."""
        return guards.too_many_answers(self._counts, self._limits) is None

    async def correct(self, feedback: str) -> Finish | Halt:
        """Go on after a review that found errors. The caller has emptied the draft."""
        self._correcting = True
        self._counts.queue_emptied()
        self._new.append(Text(feedback))
        return await self.work()

    async def work(self) -> Finish | Halt:
        """Until the model ends its turn. Raises CallFailed, RunTakenAway."""
        while True:
            if halt := guards.before_a_call(self._counts, self._timer.remaining, self._limits):
                return halt
            answer = await self._ask()
            if answer.stop is Stop.REFUSED:
                return Halt(Code.MODEL_REFUSED, "the model refused to answer", "model_refused")
            end = await self._act(answer)
            if end is not None:
                return end

    async def _act(self, answer: ModelAnswer) -> Finish | Halt | None:
        """None: the model is asked again."""
        if answer.calls and answer.stop is not Stop.CUT:
            return await self._execute(answer)
        if answer.calls:
            return self._tell_of_the_cut(answer)
        return self._reply_ended() if self._state.sendable else self._nudge()

    def _reply_ended(self) -> Finish | None:
        reminder = self._reminder(may_ask=self.may_go_on)
        if reminder is None:
            return Finish.SENDABLE
        self._counts.reminded = True
        self._trace.note("the reply ended without all that it must have", told=reminder)
        self._new.append(Text(reminder))
        return None

    def _reminder(self, *, may_ask: bool) -> str | None:
        if self._counts.reminded or not may_ask:
            return None
        return self._assignment.lacks(self._counts.accepted)

    async def _execute(self, answer: ModelAnswer) -> Finish | Halt | None:
        results = await self._execution.turn(answer.calls, self._calls.saved_results(), self._timer.remaining)
        if isinstance(results, Halt):
            return results
        self._new += results
        return Finish.ENDED if self._state.ended else None

    def _tell_of_the_cut(self, answer: ModelAnswer) -> Finish | Halt | None:
        """A cut answer may hold half a call, so none of its calls is made. What is queued is not lost by it."""
        self._new += [ToolResult(call.id, CUT, is_error=True) for call in answer.calls]
        if self._cut_is_the_end(answer):
            return Finish.SENDABLE
        if self._state.sendable:
            self._counts.told_of_cut = True
            return None
        return self._spend_the_nudge(guards.no_nudge_left(self._counts))

    def _cut_is_the_end(self, answer: ModelAnswer) -> bool:
        """Told once already, the model was cut again: the review decides about what is queued."""
        return answer.stop is Stop.CUT and self._state.sendable > 0 and self._counts.told_of_cut

    def _nudge(self) -> Finish | Halt | None:
        end = self._spend_the_nudge(guards.after_an_empty_turn(self._counts, self._limits))
        if end is None:
            self._new.append(Text(NUDGE))
        return end

    def _spend_the_nudge(self, halt: Halt | None) -> Finish | Halt | None:
        """`halt` says why there is none left. A correction then has found nothing better: the version before stands."""
        if halt:
            return Finish.NOTHING_NEW if self._correcting else halt
        self._counts.nudged = True
        return None

    async def _ask(self) -> ModelAnswer:
        exchange = await self._calls.ask(
            self._assignment.task, self._assignment.route, self._new, self._request, self._next_task
        )
        self._messages.append(Message(USER, exchange.sent))
        if exchange.answer.content:
            self._messages.append(Message(ASSISTANT, written(exchange.answer)))
        self._new = []
        self._counts.heard(exchange.answer)
        return exchange.answer

    def _request(self, call: CallId, sent: Sequence[Block]) -> ModelRequest:
        messages = [*self._messages, Message(USER, tuple(sent))]
        return self._assignment.build(call, self._assignment.route[0], messages, self._specs)

    def _next_task(self, answer: ModelAnswer) -> Task | None:
        if answer.stop is Stop.REFUSED:
            return None
        asks = answer.calls and not self._cut_is_the_end(answer)
        if asks or not self._state.sendable or self._reminder(may_ask=self._another_allowed):
            return self._assignment.task if self._another_allowed else None
        return Task.REVIEW if self._assignment.expects_review else None

    @property
    def _another_allowed(self) -> bool:
        return self._counts.answers + 1 < self._limits.max_iterations


def written(answer: ModelAnswer) -> tuple[Block, ...]:
    """As the next request repeats it."""
    return tuple(Raw(block, by=answer.model) for block in answer.content)
