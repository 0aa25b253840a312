"""One run: write, review, correct at most so often, and keep the best version."""

from collections.abc import Set
from dataclasses import dataclass, field, replace
from typing import Protocol

from pipelines.agent.guards import Halt
from pipelines.agent.loop import Finish
from pipelines.agent.trace import Trace
from pipelines.autoreply import validation
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.parting import parted
from pipelines.autoreply.reviewer import Reviewer
from pipelines.autoreply.silence import silence_of
from pipelines.autoreply.strategy.tools import lacking
from pipelines.autoreply.validation import Verdict
from pipelines.ports import Habits
from schemas.agent import AgentParameters
from schemas.channels import Channel
from schemas.conversation import Case, Flag
from schemas.decisions import Bubble, Failure, Reply, Silence
from schemas.errors import Code
from schemas.strategy import NO_STRATEGY, Resolved

Composed = Reply | Silence | Failure

UNREVIEWED = "the review is switched off (UseRedactionValidation): honesty alone is checked"


class Writer(Protocol):
    """Fills the draft: the agent with its tools, or the chain. Raises CallFailed, RunTakenAway."""

    @property
    def may_go_on(self) -> bool: ...

    @property
    def used(self) -> Set[str] | None:
        """The tools it has used so far; None: it has no tools, and no rule can require one of it."""
        ...

    async def work(self) -> Finish | Halt: ...

    async def correct(self, feedback: str) -> Finish | Halt: ...


@dataclass(frozen=True, slots=True)
class Version:
    """`lacking`: tools that the strategy requires and this reply has not used."""

    bubbles: tuple[Bubble, ...]
    verdict: Verdict
    lacking: tuple[str, ...] = ()


@dataclass(slots=True)
class Composition:
    case: Case
    writer: Writer
    draft: Draft
    reviewer: Reviewer
    limits: AgentParameters
    trace: Trace
    flag: Flag | None = None
    """Why a person should look, whatever the run decides."""
    strategy: Resolved = NO_STRATEGY
    habits: Habits | None = None
    versions: list[Version] = field(default_factory=list)

    async def compose(self) -> Composed:
        """Raises CallFailed, RunTakenAway."""
        end = await self.writer.work()
        while end is Finish.SENDABLE:
            spent = self._no_correction_left()
            found = [*self.draft.found, *self.strategy.told]
            verdict = await self.reviewer.judge(self.draft.bubbles, found, correctable=spent is None)
            if isinstance(verdict, Halt):
                return self._failure(verdict)
            self.versions.append(Version(tuple(self.draft.bubbles), verdict, self._lacking()))
            if not verdict.issues:
                return self._reply(self.versions[-1], None)
            if spent is not None:
                return await self._best(spent)
            feedback = validation.feedback(verdict, self.draft.bubbles)
            self.draft.empty()
            end = await self.writer.correct(feedback)
        return await self._without_new_candidates(end)

    def _lacking(self) -> tuple[str, ...]:
        used = self.writer.used
        return () if used is None else tuple(lacking(self.strategy, self.draft.bubbles, used))

    def _no_correction_left(self) -> str | None:
        """Why the version that is about to be judged cannot be corrected."""
        if len(self.versions) >= self.limits.max_validation_passes:
            return f"{self.limits.max_validation_passes} correction passes did not suffice"
        return None if self.writer.may_go_on else "no model call was left to correct it (MaxIterations)"

    async def _without_new_candidates(self, end: Finish | Halt) -> Composed:
        if end is Finish.ENDED:
            silence = await silence_of(self.draft, self.case, self.trace, self.habits)
            return replace(silence, flag=self.flag)
        if not isinstance(end, Halt):
            return await self._best("the correction queued nothing that can be sent")
        if end.code is Code.MAX_ITERATIONS and self.versions:
            self.trace.guard(end.code, end.rule)
            return await self._best("MaxIterations was reached while correcting it")
        return self._failure(end)

    async def _best(self, why: str) -> Composed:
        """The version with the fewest and lightest issues; the later of two equals. One that the second model has not
        read is read first: it may be worse than it looked."""
        while not (best := min(reversed(self.versions), key=lambda version: version.verdict.weight)).verdict.complete:
            verdict = await self.reviewer.read(best.bubbles, best.verdict)
            if isinstance(verdict, Halt):
                return self._failure(verdict)
            self.versions[self.versions.index(best)] = replace(best, verdict=verdict)
        count = len(best.verdict.issues)
        note = f"the best of {len(self.versions)} versions was kept, with {count} open issues: {why}"
        self.trace.note(note)
        return self._reply(best, note)

    def _reply(self, version: Version, note: str | None) -> Reply:
        """One that lacks what the strategy requires waits for a person, who may find it right all the same."""
        if not self.limits.use_redaction_validation:
            note = UNREVIEWED
        webhook = self.case.organization.spec.webhook
        channel = Channel.WEBHOOK if webhook is None else webhook.channel
        bubbles = parted(version.bubbles, channel, self.trace)
        strategy = self.strategy
        if version.lacking:
            lacks = f"the strategy requires {', '.join(version.lacking)}, which this reply lacks: it waits for a person"
            self.trace.note(lacks)
            note = f"{note}; {lacks}" if note else lacks
            strategy = strategy.model_copy(update={"autonomy": "draft"})
        return Reply(bubbles, self.draft.plan, note, self.trace.take(), flag=self.flag, strategy=strategy)

    def _failure(self, halt: Halt) -> Failure:
        self.trace.guard(halt.code, halt.rule)
        detail = None if halt.code is Code.CRITICAL_REVIEW else halt.rule
        return Failure(halt.code, halt.reason, self.trace.take(), detail=detail)
