"""What stops a run that does not stop by itself, counted exactly."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pipelines.text.counting import counted
from schemas.agent import AgentParameters
from schemas.errors import Code
from schemas.llm import ModelAnswer, Stop

MAX_EQUAL_CALLS = 2
"""A third call with the same arguments is refused."""


@dataclass(frozen=True, slots=True)
class Halt:
    """The run ends here. `rule` is a sentence for people, `reason` the machine's word for it."""

    code: Code
    rule: str
    reason: str


@dataclass(slots=True)
class Counts:
    """`answers` are the agent's own, nudge and corrections included; `refused` are those in a row."""

    answers: int = 0
    refused: int = 0
    cuts: int = 0
    nudged: bool = False
    reminded: bool = False
    """It was told once what the reply it ended still lacks."""
    accepted: set[str] = field(default_factory=set)
    """Tools that were used without being refused."""
    told_of_cut: bool = False
    """A turn was cut with bubbles already queued, and the agent was told so."""
    _calls: Counter[str] = field(default_factory=Counter)
    _queued: list[str] = field(default_factory=list)

    def heard(self, answer: ModelAnswer) -> None:
        self.answers += 1
        self.cuts += answer.stop is Stop.CUT

    def called(self, name: str, args: dict[str, Any]) -> int:
        """How often this very call has been made, this time included."""
        key = _key(name, args)
        self._calls[key] += 1
        return self._calls[key]

    def drafted(self, name: str, args: dict[str, Any], before: int, after: int) -> None:
        """This call changed the queue, whose lengths these are. Without change, nothing is noted."""
        if after > before:
            self._queued.append(_key(name, args))
        elif after < before:
            del self._queued[after:]

    def queue_emptied(self) -> None:
        """A correction asks for the whole reply again: the calls whose bubbles it emptied are as if never made. All
        others count on, and corrections are few, so nothing can loop (docs/decisions/agent-loop.md)."""
        self._calls.subtract(self._queued)
        self._queued.clear()

    def judged(self, name: str, *, refused: bool) -> None:
        self.refused = self.refused + 1 if refused else 0
        if not refused:
            self.accepted.add(name)


def _key(name: str, args: dict[str, Any]) -> str:
    return f"{name} {canonical(args)}"


def canonical(value: Any) -> str:
    """Equal arguments are equal text, whatever their order and spacing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def too_many_refusals(counts: Counts, limits: AgentParameters) -> Halt | None:
    if counts.refused < limits.max_refused_tool_calls:
        return None
    sentence = f"{counts.refused} tool calls refused in a row (MaxRefusedToolCalls)"
    return Halt(Code.REFUSED_CALLS, sentence, "refused_calls")


def too_many_answers(counts: Counts, limits: AgentParameters) -> Halt | None:
    if counts.answers < limits.max_iterations:
        return None
    sentence = f"{counted(counts.answers, 'model call')} made and still not done (MaxIterations)"
    return Halt(Code.MAX_ITERATIONS, sentence, "max_iterations")


def out_of_time(limits: AgentParameters) -> Halt:
    return Halt(Code.TIMEOUT, f"{limits.timeout_seconds:g} seconds of work are over (TimeoutSeconds)", "timeout")


def before_a_call(counts: Counts, remaining: float, limits: AgentParameters) -> Halt | None:
    """The reason not to ask the model again. Refusals come before answers, answers before time."""
    if halt := too_many_refusals(counts, limits) or too_many_answers(counts, limits):
        return halt
    return None if remaining > 0 else out_of_time(limits)


def no_nudge_left(counts: Counts) -> Halt | None:
    """How a run ends whose last turn was cut or gave nothing to send; None while it may be nudged once."""
    if counts.cuts > 1:
        return Halt(Code.MODEL_REFUSED, "the model's answer was cut twice", "answer_cut")
    if counts.nudged:
        return Halt(Code.NO_CANDIDATE, "the model stopped with nothing to send, also after a nudge", "nothing_to_send")
    return None


def after_an_empty_turn(counts: Counts, limits: AgentParameters) -> Halt | None:
    """The same when the turn ended by itself, which on the last call allowed is the end of the run."""
    if halt := no_nudge_left(counts):
        return halt
    if too_many_answers(counts, limits):
        return Halt(Code.NO_CANDIDATE, "the model's last call ended with nothing to send", "nothing_to_send")
    return None
