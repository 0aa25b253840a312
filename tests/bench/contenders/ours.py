"""Our loop as a reply runs it: guards, trace, prices, marks for the cache, and each step encoded for its row.

Only the row itself is not written: what a database costs is measured on whole jobs.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from anthropic import AsyncAnthropic

from pipelines.agent.calls import Calls, Doors, Timer
from pipelines.agent.loop import Agent, Assignment, Finish
from pipelines.agent.policy import ToolPolicy
from pipelines.agent.tools import Args, Effect, Outcome, Tool
from pipelines.agent.tools import Done as Told
from pipelines.agent.trace import Trace
from pipelines.llm.history import well_formed
from pipelines.llm.layout import Kept, marked_messages, marked_system, sorted_tools
from pipelines.llm.pricing import Purse
from schemas.agent import AgentParameters, Resume, Step
from schemas.agent import Kept as StepKept
from schemas.groups import LlmSettings
from schemas.ids import CallId, RunId
from schemas.llm import Message, Model, ModelRequest, Reservation, SettledCall, Task, Text, ToolSpec
from tests.bench.contenders.work import HISTORY, MAX_TOKENS, MODEL, QUESTION, SYSTEM, Done, RunOnce
from workers.adapters.llm.anthropic import AnthropicModel
from workers.adapters.llm.prices import GenaiPrices

HAIKU = Model("anthropic", MODEL)
LIMITS = AgentParameters(max_tokens_per_turn=MAX_TOKENS)


class State:
    def __init__(self, done: Done) -> None:
        self.done = done
        self.ended = False

    @property
    def sendable(self) -> int:
        return len(self.done.sent)

    def learnt(self, answer: str) -> None:
        """Nothing checks replies here."""


class LookUpArgs(Args):
    """Look something up in the notes."""

    query: str
    limit: int


class LookUp(Tool[LookUpArgs, State]):
    name: ClassVar[str] = "look_up"
    effect = Effect.READ
    args = LookUpArgs

    async def call(self, args: LookUpArgs, state: State) -> Outcome:
        return Told(state.done.look_up(args.query, args.limit))


class PlanArgs(Args):
    """Note the plan of the reply."""

    steps: list[str]


class SetPlan(Tool[PlanArgs, State]):
    name: ClassVar[str] = "set_plan"
    effect = Effect.NOTE
    args = PlanArgs

    async def call(self, args: PlanArgs, state: State) -> Outcome:
        return Told(state.done.set_plan(args.steps))


class SendArgs(Args):
    """Queue one message."""

    text: str


class SendMessage(Tool[SendArgs, State]):
    name: ClassVar[str] = "send_message"
    effect = Effect.DRAFT
    args = SendArgs

    async def call(self, args: SendArgs, state: State) -> Outcome:
        return Told(state.done.send_message(args.text))


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class OpenGate:
    async def wait(self, model: Model) -> float:
        return 0.0

    async def close(self, model: Model, seconds: float) -> None:
        raise RuntimeError("nothing limits a benchmark")


async def forget(step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None) -> StepKept:
    return StepKept.FRESH


def build(client: AsyncAnthropic) -> RunOnce:
    clock, prices, tools = RealClock(), GenaiPrices(), [LookUp(), SetPlan(), SendMessage()]
    model = AnthropicModel("key", str(client.base_url), LlmSettings(), clock)
    model._client = client  # each loop is measured on both transports
    system = marked_system([SYSTEM], caching=True)
    kept = Kept(tuple(Message(role, (Text(text),)) for role, text in HISTORY))

    def request(call: CallId, model: Model, run: Sequence[Message], specs: tuple[ToolSpec, ...]) -> ModelRequest:
        messages = marked_messages(kept, well_formed(run), caching=True)
        return ModelRequest(call, Task.REPLY, model, system, messages, MAX_TOKENS, sorted_tools(specs))

    async def run(done: Done) -> None:
        trace = Trace(clock)
        timer = Timer.start(clock, LIMITS.timeout_seconds, 0.0)
        doors = Doors({"anthropic": model}, OpenGate())
        calls = Calls(Resume(RunId(7), 1), forget, doors, Purse(prices, MAX_TOKENS), timer, trace)
        assignment = Assignment((HAIKU,), (Text(QUESTION),), request)
        agent: Agent[Any] = Agent(assignment, tools, ToolPolicy(), State(done), calls, timer, LIMITS, trace)
        if await agent.work() is not Finish.SENDABLE:
            raise RuntimeError("the run did not end with a reply")

    return run
