"""One run: write, review, correct at most so often, and keep the best version."""

from dataclasses import dataclass, field
from typing import Protocol

from pipelines.agent.guards import Halt
from pipelines.agent.loop import Finish
from pipelines.agent.trace import Trace
from pipelines.autoreply import validation
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.reviewer import Reviewer
from pipelines.autoreply.silence import silence_of
from pipelines.autoreply.validation import Verdict
from schemas.agent import AgentParameters
from schemas.conversation import Case
from schemas.decisions import Bubble, Failure, Reply, Silence
from schemas.errors import Code

Composed = Reply | Silence | Failure


class Writer(Protocol):
    """Fills the draft: the agent with its tools, or the chain. Raises CallFailed, RunTakenAway."""

    @property
    def may_go_on(self) -> bool: ...

    async def work(self) -> Finish | Halt: ...

    async def correct(self, feedback: str) -> Finish | Halt: ...


@dataclass(frozen=True, slots=True)
class Version:
    bubbles: tuple[Bubble, ...]
    verdict: Verdict


@dataclass(slots=True)
class Composition:
    case: Case
    writer: Writer
    draft: Draft
    reviewer: Reviewer
    limits: AgentParameters
    trace: Trace
    versions: list[Version] = field(default_factory=list)

    async def compose(self) -> Composed:
        """Raises CallFailed, RunTakenAway."""
        end = await self.writer.work()
        while end is Finish.SENDABLE:
            verdict = await self.reviewer.judge(self.draft.bubbles)
            if isinstance(verdict, Halt):
                return self._failure(verdict)
            if verdict.critical:
                return self._failure(Halt(Code.CRITICAL_REVIEW, verdict.critical.rule))
            self.versions.append(Version(tuple(self.draft.bubbles), verdict))
            if not verdict.issues:
                return self._reply(self.versions[-1], None)
            if len(self.versions) > self.limits.max_validation_passes:
                return self._best(f"{self.limits.max_validation_passes} correction passes did not suffice")
            if not self.writer.may_go_on:
                return self._best("no model call was left to correct it (MaxIterations)")
            feedback = validation.feedback(verdict, self.draft.bubbles)
            self.draft.empty()
            end = await self.writer.correct(feedback)
        return self._without_new_candidates(end)

    def _without_new_candidates(self, end: Finish | Halt) -> Composed:
        if end is Finish.ENDED:
            return silence_of(self.draft, self.case, self.trace)
        if not isinstance(end, Halt):
            return self._best("the correction queued nothing that can be sent")
        if end.code is Code.MAX_ITERATIONS and self.versions:
            self.trace.guard(end.code, end.rule)
            return self._best("MaxIterations was reached while correcting it")
        return self._failure(end)

    def _best(self, why: str) -> Reply:
        """The version with the fewest and lightest issues; the later of two equals."""
        best = min(reversed(self.versions), key=lambda version: version.verdict.weight)
        count = len(best.verdict.issues)
        note = f"the best of {len(self.versions)} versions was kept, with {count} open issues: {why}"
        self.trace.note(note)
        return self._reply(best, note)

    def _reply(self, version: Version, note: str | None) -> Reply:
        return Reply(version.bubbles, self.draft.plan, note, self.trace.take())

    def _failure(self, halt: Halt) -> Failure:
        self.trace.guard(halt.code, halt.rule)
        return Failure(halt.code, halt.rule, self.trace.take())
