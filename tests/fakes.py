"""In-memory answers to the ports. Nothing else is faked."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from schemas.agent import Kept, Resume, SavedStep, Step
from schemas.errors import ModelFailure
from schemas.ids import RunId
from schemas.llm import Model, ModelAnswer, ModelRequest, Reservation, SettledCall, Stop, ToolCall, Usage
from tests.builders import NOON

HAIKU = Model("anthropic", "claude-haiku-5-5")


USAGE = Usage(input=100, output=10)
RUN = RunId(7)


@dataclass
class FrozenClock:
    """Stands still until it is moved."""

    at: datetime = NOON
    seconds: float = 100.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.seconds

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.seconds += seconds


@dataclass(frozen=True)
class Line:
    """What a scripted model says: tool calls as (name, args), text, how it stops, and what that takes in seconds."""

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    text: str = ""
    stop: Stop | None = None
    takes: float = 0.0
    usage: Usage = USAGE


def calling(*calls: tuple[str, dict[str, Any]], **fields: Any) -> Line:
    return Line(calls, **fields)


def sending(*texts: str, **fields: Any) -> Line:
    return calling(*(("send_message", {"text": text}) for text in texts), **fields)


def done(text: str = "Reply complete.", **fields: Any) -> Line:
    return Line(text=text, **fields)


@dataclass
class ScriptedModel:
    """Says its lines in order, or fails with the `ModelFailure` among them. Equal calls of a run have equal tool ids,
    whatever the fence."""

    lines: list[Line | ModelFailure] = field(default_factory=list)
    clock: FrozenClock = field(default_factory=FrozenClock)
    heard: list[ModelRequest] = field(default_factory=list)
    deadlines: list[float] = field(default_factory=list)

    async def ask(self, request: ModelRequest, deadline: float) -> ModelAnswer:
        self.heard.append(request)
        self.deadlines.append(deadline)
        line = self.lines.pop(0)
        if isinstance(line, ModelFailure):
            raise line
        self.clock.move(line.takes)
        return _answer(line, request)


def _answer(line: Line, request: ModelRequest) -> ModelAnswer:
    number = request.call.split(".")[1]
    calls = tuple(ToolCall(f"toolu_{number}_{n}", name, args) for n, (name, args) in enumerate(line.calls))
    content: list[dict[str, Any]] = [{"type": "text", "text": line.text}] if line.text else []
    content += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.args} for call in calls]
    stop = line.stop or (Stop.TOOLS if calls else Stop.END)
    return ModelAnswer(tuple(content), line.text, calls, stop, line.usage, request.model, f"req_{number}", 5)


@dataclass
class MemoryKeep:
    """Keeps the steps of a run, and answers what it was told to (FRESH when nothing is left to say)."""

    run: RunId = RUN
    answers: list[Kept] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    reserved: list[Reservation] = field(default_factory=list)

    failed: list[SettledCall] = field(default_factory=list)

    async def __call__(self, step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None) -> Kept:
        if failed is not None:
            self.failed.append(failed)
        if step is not None:
            self.steps.append(step)
        if reserve is not None:
            self.reserved.append(reserve)
        return self.answers.pop(0) if self.answers else Kept.FRESH

    def resume(self, after: int, fence: int = 2) -> Resume:
        """The run as the next worker finds it when this one died after `after` steps."""
        saved = [SavedStep(step.n, step.task, step.content) for step in self.steps[:after]]
        return Resume(self.run, fence, tuple(saved), self.steps[after - 1].active_seconds if after else 0.0)


@dataclass
class ScriptedGate:
    """Sends away for `pauses`, in order (0: goes; also when nothing is left to say), and remembers."""

    pauses: list[float] = field(default_factory=list)
    asked: list[Model] = field(default_factory=list)
    shut: list[tuple[Model, float]] = field(default_factory=list)

    async def wait(self, model: Model) -> float:
        self.asked.append(model)
        return self.pauses.pop(0) if self.pauses else 0.0

    async def close(self, model: Model, seconds: float) -> None:
        self.shut.append((model, seconds))


@dataclass
class FlatPrices:
    """A dollar per million tokens of any kind; models named in `unknown` have no price."""

    unknown: frozenset[str] = frozenset()

    def cost(self, model: Model, usage: Usage) -> Decimal | None:
        if model.name in self.unknown:
            return None
        return Decimal(usage.total_input + usage.output) / 1_000_000
