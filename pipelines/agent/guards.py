"""What stops a run that does not stop by itself, counted exactly."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from schemas.agent import AgentParameters
from schemas.errors import Code
from schemas.llm import ModelAnswer, Stop

MAX_EQUAL_CALLS = 2
"""A third call with the same arguments is refused."""


@dataclass(frozen=True, slots=True)
class Halt:
    """The run ends here. `rule` is a sentence for people."""

    code: Code
    rule: str


@dataclass(slots=True)
class Counts:
    """`answers` are the agent's own, nudge and corrections included; `refused` are those in a row."""

    answers: int = 0
    refused: int = 0
    cuts: int = 0
    nudged: bool = False
    _calls: Counter[str] = field(default_factory=Counter)

    def heard(self, answer: ModelAnswer) -> None:
        self.answers += 1
        self.cuts += answer.stop is Stop.CUT

    def called(self, name: str, args: dict[str, Any]) -> int:
        """How often this very call has been made, this time included."""
        key = f"{name} {canonical(args)}"
        self._calls[key] += 1
        return self._calls[key]

    def forget_calls(self) -> None:
        """A correction asks for the whole reply again: what was said before is no repetition."""
        self._calls.clear()

    def judged(self, *, refused: bool) -> None:
        self.refused = self.refused + 1 if refused else 0


def canonical(value: Any) -> str:
    """Equal arguments are equal text, whatever their order and spacing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def too_many_refusals(counts: Counts, limits: AgentParameters) -> Halt | None:
    if counts.refused < limits.max_refused_tool_calls:
        return None
    return Halt(Code.REFUSED_CALLS, f"{counts.refused} tool calls refused in a row (MaxRefusedToolCalls)")


def too_many_answers(counts: Counts, limits: AgentParameters) -> Halt | None:
    if counts.answers < limits.max_iterations:
        return None
    return Halt(Code.MAX_ITERATIONS, f"{counts.answers} model calls made and still not done (MaxIterations)")


def out_of_time(limits: AgentParameters) -> Halt:
    return Halt(Code.TIMEOUT, f"{limits.timeout_seconds:g} seconds of work are over (TimeoutSeconds)")


def before_a_call(counts: Counts, remaining: float, limits: AgentParameters) -> Halt | None:
    """The reason not to ask the model again. Refusals come before answers, answers before time."""
    if halt := too_many_refusals(counts, limits) or too_many_answers(counts, limits):
        return halt
    return None if remaining > 0 else out_of_time(limits)


def no_nudge_left(counts: Counts) -> Halt | None:
    """How a run ends whose last turn was cut or gave nothing to send; None while it may be nudged once."""
    if counts.cuts > 1:
        return Halt(Code.MODEL_REFUSED, "the model's answer was cut twice")
    if counts.nudged:
        return Halt(Code.NO_CANDIDATE, "the model stopped with nothing to send, also after a nudge")
    return None


def after_an_empty_turn(counts: Counts, limits: AgentParameters) -> Halt | None:
    """The same when the turn ended by itself, which on the last call allowed is the end of the run."""
    if halt := no_nudge_left(counts):
        return halt
    if too_many_answers(counts, limits):
        return Halt(Code.NO_CANDIDATE, "the model's last call ended with nothing to send")
    return None
