"""Asks the second model, and asks again once when its verdict cannot be read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.agent import guards
from pipelines.agent.calls import Calls, Timer
from pipelines.agent.guards import Halt
from pipelines.agent.trace import Trace
from pipelines.autoreply import validation
from pipelines.autoreply.prompts import review
from pipelines.autoreply.prompts.moment import profile_text
from pipelines.autoreply.prompts.persona import persona_block
from pipelines.autoreply.validation import Verdict
from pipelines.llm.history import USER
from pipelines.llm.layout import KEPT
from pipelines.llm.models import Route
from schemas.agent import AgentParameters
from schemas.catalogue import Media
from schemas.conversation import Case
from schemas.decisions import Bubble
from schemas.errors import Code
from schemas.ids import CallId
from schemas.llm import Block, Message, ModelAnswer, ModelRequest, Stop, Task, Text
from schemas.strategy import NO_STRATEGY, Resolved

ATTEMPTS = 2
_TOKEN = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Reviewer:
    case: Case
    route: Route
    calls: Calls
    timer: Timer
    limits: AgentParameters
    trace: Trace
    caching: bool
    shown: Mapping[str, Media]
    corrected_by: Task = Task.REPLY
    """The task of the call that follows when it finds errors."""
    strategy: Resolved = NO_STRATEGY

    async def judge(self, bubbles: Sequence[Bubble], found: Sequence[str], *, correctable: bool) -> Verdict | Halt:
        """Honesty always; the rest when the review is on. Where the rules find something and the writer may correct it,
        the second model is not asked: it would read what is about to be written anew. `found`: what the lookups of this
        run answered. Raises CallFailed, RunTakenAway."""
        verdict = validation.honest(bubbles, self.case.persona.spec, self.case.turns)
        if verdict.critical is None and self.limits.use_redaction_validation:
            verdict = validation.by_rules(bubbles, self.case, found)
            if verdict.critical is None:
                if not (verdict.issues and correctable):
                    return await self.read(bubbles, verdict)
                verdict = replace(verdict, complete=False)
        return self._judged(verdict)

    async def read(self, bubbles: Sequence[Bubble], so_far: Verdict) -> Verdict | Halt:
        """What the second model says besides. Raises CallFailed, RunTakenAway."""
        heard = await self._ask(bubbles)
        if isinstance(heard, Halt):
            return heard
        return self._judged(Verdict((*so_far.issues, *heard.issues)))

    def _judged(self, verdict: Verdict) -> Verdict | Halt:
        """A critical issue suppresses everything."""
        self.trace.review(verdict.word, verdict.facts(), by_rules=not verdict.complete)
        return verdict if verdict.critical is None else _suppressed(verdict.critical.rule)

    async def _ask(self, bubbles: Sequence[Bubble]) -> Verdict | Halt:
        text = review.question(
            self.case,
            profile_text(self.case) if self.case.contact.profile else "",
            bubbles,
            self.shown,
            self.strategy,
        )

        def request(call: CallId, _: Sequence[Block]) -> ModelRequest:
            return self._request(call, text)

        def follows(answer: ModelAnswer) -> Task | None:
            verdict = _readable(answer, len(bubbles))
            if verdict is None:
                return Task.REVIEW
            return self.corrected_by if verdict.issues and verdict.critical is None else None

        for _ in range(ATTEMPTS):
            if self.timer.remaining <= 0:
                return guards.out_of_time(self.limits)
            exchange = await self.calls.ask(Task.REVIEW, self.route, (), request, follows)
            if (verdict := _readable(exchange.answer, len(bubbles))) is not None:
                return verdict
            self.trace.note("the review's verdict could not be read")
        return Halt(Code.MODEL_REFUSED, "the review gave no readable verdict twice", "review_unreadable")

    def _request(self, call: CallId, text: str) -> ModelRequest:
        return ModelRequest(
            call=call,
            task=Task.REVIEW,
            model=self.route[0],
            system=self._system(),
            messages=(Message(USER, (Text(text),)),),
            max_tokens=self.limits.max_tokens_per_turn,
            output_schema=review.SCHEMA,
        )

    def _system(self) -> tuple[Text, ...]:
        """Rules for all personas, then the persona: each is read from the cache by whoever shares it."""
        persona = f"<persona>\n{persona_block(self.case.persona)}\n</persona>"
        blocks = (Text(review.RULES), Text(persona))
        return tuple(replace(block, cache=KEPT) for block in blocks) if self.caching else blocks


def _readable(answer: ModelAnswer, candidates: int) -> Verdict | None:
    if answer.stop in (Stop.REFUSED, Stop.CUT):
        return None
    return validation.read_verdict(answer.text, candidates)


def _suppressed(rule: str) -> Halt:
    """A model names rules in its own words too: those are no machine's, and stand in the trace alone."""
    return Halt(Code.CRITICAL_REVIEW, rule, rule if _TOKEN.fullmatch(rule) else "critical_review")
