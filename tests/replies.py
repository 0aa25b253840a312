"""The reply pipeline with scripted models: one answers as the agent, one as the reviewer."""

import json
from dataclasses import dataclass, field
from typing import Any

from pipelines.autoreply.pipeline import ReplyPipeline
from pipelines.ports import Catalogue
from schemas.agent import Resume, TraceKind
from schemas.conversation import Case
from schemas.decisions import Decision
from schemas.errors import ModelFailure
from schemas.llm import ModelAnswer, ModelRequest, Task
from tests.builders import a_case, a_resume, settings
from tests.fakes import FlatPrices, FrozenClock, Line, MemoryKeep, ScriptedGate, ScriptedModel, done


def verdict(word: str = "ok", *issues: tuple[int, str, str, str]) -> Line:
    """Issues as (candidate, rule, severity, feedback)."""
    names = ("candidate", "rule", "severity", "feedback")
    found = [dict(zip(names, issue, strict=True)) for issue in issues]
    return done(json.dumps({"verdict": word, "issues": found}))


FINE = verdict()
TOO_COLD = verdict("errors", (0, "tone", "error", "Be warmer."))


@dataclass
class TwoModels:
    """One provider; the task of a request says who answers. A reviewer without lines finds all fine."""

    agent: ScriptedModel
    reviewer: ScriptedModel
    heard: list[ModelRequest] = field(default_factory=list)

    async def ask(self, request: ModelRequest, deadline: float) -> ModelAnswer:
        self.heard.append(request)
        if request.task is Task.REVIEW:
            if not self.reviewer.lines:
                self.reviewer.lines.append(FINE)
            return await self.reviewer.ask(request, deadline)
        return await self.agent.ask(request, deadline)


@dataclass
class Stage:
    """A pipeline, and everything around it that a test looks at."""

    pipeline: ReplyPipeline
    model: TwoModels
    clock: FrozenClock
    gate: ScriptedGate
    keep: MemoryKeep = field(default_factory=MemoryKeep)

    async def run(self, case: Case | None = None, resume: Resume | None = None) -> Decision:
        return await self.pipeline.run(case or a_case(), resume or a_resume(), self.keep)

    @property
    def heard(self) -> list[ModelRequest]:
        return self.model.heard

    def told(self, call: int) -> list[str]:
        """The texts of the last user turn of the agent's `call`-th request, from 1."""
        return [block.text for block in self.model.agent.heard[call - 1].messages[-1].blocks]  # type: ignore[union-attr]

    def trace(self, decision: Any, kind: TraceKind) -> list[dict[str, Any]]:
        """The facts of a kind, of the saved steps and of the decision, in order."""
        items = [item for step in self.keep.steps for item in step.trace]
        return [item.facts for item in (*items, *decision.trace) if item.kind is kind]


def stage(
    *lines: Line | ModelFailure,
    reviews: tuple[Line | ModelFailure, ...] = (),
    catalogue: Catalogue | None = None,
    **environ: str,
) -> Stage:
    """An agent that says `lines`, and a reviewer that says `reviews`."""
    clock = FrozenClock()
    model = TwoModels(ScriptedModel(list(lines), clock), ScriptedModel(list(reviews), clock))
    gate = ScriptedGate()
    pipeline = ReplyPipeline(clock, {"anthropic": model}, FlatPrices(), settings(**environ), gate, catalogue=catalogue)
    return Stage(pipeline, model, clock, gate)
