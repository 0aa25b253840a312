"""From a conversation to a decision about it. Read top to bottom: each line may end the run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from pipelines.agent import parameters
from pipelines.agent.calls import CallFailed, Calls, RunTakenAway, Timer
from pipelines.agent.trace import Trace
from pipelines.autoreply import followup, gate
from pipelines.autoreply.chain import Chain
from pipelines.autoreply.chain_prompt import ChainPrompt
from pipelines.autoreply.checks import LocalChecks
from pipelines.autoreply.composition import Composition, Writer
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.engine import Engine, engine_of_run, note_engine
from pipelines.autoreply.intents import intents_of
from pipelines.autoreply.reply_agent import ReplyPrompt, reply_agent
from pipelines.autoreply.reviewer import Reviewer
from pipelines.hours import zone_of
from pipelines.llm.models import NoModel, Routes, routes_of
from pipelines.llm.pricing import Purse
from pipelines.ports import ChatModel, Clock, Keep, PriceTable
from schemas.agent import AgentParameters, Resume
from schemas.conversation import Case
from schemas.decisions import Decision, Failure, Parked, Stopped
from schemas.errors import Code, FailureKind
from schemas.llm import Model, Task
from schemas.settings import Settings

_POINTLESS = frozenset({FailureKind.PERMANENT, FailureKind.CONTEXT_OVERFLOW})
"""The same request would fail again."""


@dataclass(slots=True)
class ReplyPipeline:
    """`models` by provider."""

    clock: Clock
    models: Mapping[str, ChatModel]
    prices: PriceTable
    settings: Settings
    routes: Routes = field(init=False)

    def __post_init__(self) -> None:
        self.routes = Routes(routes_of(self.settings), frozenset(self.models))

    async def run(self, case: Case, resume: Resume, keep: Keep) -> Decision:
        """Never raises for what a provider or a model does; `keep` saves the run as it goes."""
        if silence := gate.closed(case):
            return silence
        limits = parameters.resolve(self.settings, case.organization.spec.agent, case.persona.spec.agent)
        trace = Trace(self.clock)
        timer = Timer.start(self.clock, limits.timeout_seconds, resume.active_seconds)
        try:
            composition = self._composition(case, resume, keep, limits, timer, trace)
            return followup.continued(case, await composition.compose())
        except RunTakenAway:
            return Stopped()
        except NoModel as missing:
            return Failure(Code.MODELS_FAILED, str(missing), trace.take())
        except CallFailed as failed:
            return _unanswered(failed, trace, timer)

    def _composition(
        self, case: Case, resume: Resume, keep: Keep, limits: AgentParameters, timer: Timer, trace: Trace
    ) -> Composition:
        calls = Calls(resume, keep, self.models, Purse(self.prices, limits.max_tokens_per_turn), timer, trace)
        engine = engine_of_run(resume, limits, case.persona.spec)
        note_engine(engine, case.persona.spec, trace)
        _note_switches(limits, trace)
        reviewed = limits.use_redaction_validation
        checks = LocalChecks(case.persona.spec.limits, case.sent_texts, reviewed, case.vocals_today)
        draft = Draft(checks, case.now)
        writer = (self._agent if engine is Engine.V2 else self._chain)(case, draft, calls, timer, limits, trace)
        review_model = self.routes.pick(Task.REVIEW, case.organization.spec.models)
        caching = self.settings.prompt_caching_enabled
        reviewer = Reviewer(case, review_model, calls, timer, limits, trace, caching, engine.task)
        return Composition(case, writer, draft, reviewer, limits, trace)

    def _agent(
        self, case: Case, draft: Draft, calls: Calls, timer: Timer, limits: AgentParameters, trace: Trace
    ) -> Writer:
        prompt = ReplyPrompt.of(case, _zone(case), limits, caching=self.settings.prompt_caching_enabled)
        return reply_agent(prompt, self._model(Engine.V2.task, case, calls), draft, calls, timer, limits, trace)

    def _chain(
        self, case: Case, draft: Draft, calls: Calls, timer: Timer, limits: AgentParameters, trace: Trace
    ) -> Writer:
        prompt = ChainPrompt.of(case, _zone(case), limits, caching=self.settings.prompt_caching_enabled)
        model = self._model(Engine.V1.task, case, calls)
        return Chain(prompt, intents_of(case), model, draft, calls, timer, limits, trace)

    def _model(self, task: Task, case: Case, calls: Calls) -> Model:
        """A resumed run stays with its model: what it has read in the cache, and signed, is that model's."""
        before = calls.model_so_far()
        if before is not None and before.provider in self.models:
            return before
        return self.routes.pick(task, case.organization.spec.models)


def _zone(case: Case) -> ZoneInfo:
    return zone_of((case.contact.timezone, case.persona.spec.timezone, case.organization.spec.timezone))


def _note_switches(limits: AgentParameters, trace: Trace) -> None:
    """Settings that change what a reader of the trace would expect."""
    if not limits.use_redaction_validation:
        trace.note("the review is switched off (UseRedactionValidation): honesty alone is checked")


def _unanswered(failed: CallFailed, trace: Trace, timer: Timer) -> Decision:
    kind, sentence = failed.failure.kind, failed.failure.sentence
    if kind is FailureKind.DEADLINE:
        rule = f"{timer.limit:g} seconds of work are over (TimeoutSeconds)"
        trace.guard(Code.TIMEOUT, rule)
        return Failure(Code.TIMEOUT, rule, trace.take(), failed.settled)
    trace.note("the model did not answer", failure=kind.value, sentence=sentence)
    if kind in _POINTLESS:
        return Failure(Code.MODELS_FAILED, sentence, trace.take(), failed.settled)
    retry_after = failed.failure.retry_after
    dated = kind is FailureKind.RATE_LIMITED and retry_after is not None
    return Parked(kind, sentence, not dated, retry_after, timer.active, trace.take(), failed.settled)
