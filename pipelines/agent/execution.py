"""Carries out the tool calls of one model turn: in order, lookups side by side, no further than the guards allow."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pipelines.agent import guards
from pipelines.agent.guards import Counts, Halt
from pipelines.agent.policy import ToolPolicy
from pipelines.agent.tools import Args, Done, Effect, Outcome, Refused, RunState, Tool
from pipelines.agent.trace import Trace
from schemas.agent import AgentParameters
from schemas.llm import ToolCall, ToolResult

S = TypeVar("S", bound=RunState)


@dataclass(frozen=True, slots=True)
class Ready(Generic[S]):
    """A call that may be made: its tool, and arguments that validated."""

    call: ToolCall
    tool: Tool[Any, S]
    args: Args


@dataclass(frozen=True, slots=True)
class Barred:
    call: ToolCall
    refusal: Refused
    unknown: bool = False
    """There is no such tool: its name is the model's invention."""


class Execution(Generic[S]):
    """The tools of one run, and what is counted over its turns."""

    def __init__(
        self,
        tools: Sequence[Tool[Any, S]],
        policy: ToolPolicy,
        state: S,
        counts: Counts,
        limits: AgentParameters,
        trace: Trace,
    ) -> None:
        self._tools = {tool.name: tool for tool in policy.palette(tools)}
        self._policy = policy
        self._state = state
        self._counts = counts
        self._limits = limits
        self._trace = trace

    @property
    def palette(self) -> list[Tool[Any, S]]:
        return list(self._tools.values())

    async def turn(
        self, calls: Sequence[ToolCall], saved: Mapping[str, ToolResult], remaining: float
    ) -> list[ToolResult] | Halt:
        """The results in the order of the calls; those after an accepted END are not made. `saved` are results of
        lookups that an earlier claim of the run already made. `remaining` is in seconds."""
        lookups = _Lookups(self._state, saved)
        try:
            async with asyncio.timeout(max(remaining, 0)):
                return await self._in_order([self._judge(call) for call in calls], lookups)
        except TimeoutError:
            return guards.out_of_time(self._limits)
        finally:
            await lookups.stop()

    async def _in_order(self, turn: Sequence[Ready[S] | Barred], lookups: "_Lookups[S]") -> list[ToolResult] | Halt:
        results = []
        for at, item in enumerate(turn):
            # However many before it are refused, each of these is still to be made.
            sure = turn[at : at + self._limits.max_refused_tool_calls - self._counts.refused]
            outcome = item.refusal if isinstance(item, Barred) else await self._make(item, sure, lookups)
            refused = isinstance(outcome, Refused)
            text = outcome.sentence if isinstance(outcome, Refused) else outcome.text
            unknown = isinstance(item, Barred) and item.unknown
            self._trace.tool(item.call.name, item.call.args, text, refused=refused, unknown=unknown)
            results.append(ToolResult(item.call.id, text, is_error=refused))
            self._counts.judged(item.call.name, refused=refused)
            if halt := guards.too_many_refusals(self._counts, self._limits):
                return halt
            if self._state.ended:
                break
        return results

    async def _make(self, item: Ready[S], sure: Sequence[Ready[S] | Barred], lookups: "_Lookups[S]") -> Outcome:
        if item.tool.effect is Effect.READ:
            lookups.start(_until_end(sure))
            found = await lookups.outcome(item)
            if isinstance(found, Done):
                self._state.learnt(found.text)
            return found
        before = self._state.sendable
        outcome = await item.tool.call(item.args, self._state)
        self._counts.drafted(item.call.name, item.call.args, before, self._state.sendable)
        return outcome

    def _judge(self, call: ToolCall) -> Ready[S] | Barred:
        tool = self._tools.get(call.name)
        if tool is None:
            if refusal := self._policy.refusal(call.name):
                return Barred(call, refusal)
            known = ", ".join(sorted(self._tools))
            return Barred(call, Refused(f"There is no tool {call.name!r}. The tools are: {known}."), unknown=True)
        if self._counts.called(call.name, call.args) > guards.MAX_EQUAL_CALLS:
            again = f"{call.name} was already called twice with these arguments."
            return Barred(call, Refused(f"{again} Do something else, or end your turn."))
        if refusal := self._policy.refusal(call.name):
            return Barred(call, refusal)
        args = tool.read(call.args)
        return Barred(call, args) if isinstance(args, Refused) else Ready(call, tool, args)


class _Lookups(Generic[S]):
    """READ calls of one turn, all under way at once. None has to be made again when its result was saved."""

    def __init__(self, state: S, saved: Mapping[str, ToolResult]) -> None:
        self._state = state
        self._saved = saved
        self._tasks: dict[str, asyncio.Task[Outcome]] = {}

    def start(self, ready: Sequence[Ready[S]]) -> None:
        for item in ready:
            if item.call.id not in self._tasks and item.call.id not in self._saved:
                self._tasks[item.call.id] = asyncio.create_task(self._call(item))

    async def outcome(self, item: Ready[S]) -> Outcome:
        if (kept := self._saved.get(item.call.id)) is not None:
            return Refused(kept.text) if kept.is_error else Done(kept.text)
        return await self._tasks[item.call.id]

    async def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _call(self, item: Ready[S]) -> Outcome:
        return await item.tool.call(item.args, self._state)


def _until_end(rest: Sequence[Ready[S] | Barred]) -> list[Ready[S]]:
    """Lookups that will be made unless a guard stops the turn: those before the next END."""
    found = []
    for item in rest:
        if isinstance(item, Barred):
            continue
        if item.tool.effect is Effect.END:
            break
        if item.tool.effect is Effect.READ:
            found.append(item)
    return found
