"""From a conversation to a decision about it. Read top to bottom: each line may end the run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from zoneinfo import ZoneInfo

from pipelines.agent import parameters, steps
from pipelines.agent.calls import BudgetSpent, CallFailed, Calls, Doors, RunTakenAway, Timer
from pipelines.agent.policy import ToolPolicy
from pipelines.agent.trace import Trace
from pipelines.autoreply import followup, gate, stops, strength
from pipelines.autoreply.chain import Chain
from pipelines.autoreply.chain_prompt import ChainPrompt
from pipelines.autoreply.checks import LocalChecks
from pipelines.autoreply.composition import UNREVIEWED, Composition, Writer
from pipelines.autoreply.draft import Draft, Recall, Wares, nothing
from pipelines.autoreply.engine import Engine, engine_of, engine_of_run, note_engine
from pipelines.autoreply.gallery import Gallery, Look
from pipelines.autoreply.intents import intents_of
from pipelines.autoreply.money import withheld
from pipelines.autoreply.reply_agent import ReplyPrompt, reply_agent
from pipelines.autoreply.reviewer import Reviewer
from pipelines.autoreply.strategy.resolve import resolve
from pipelines.autoreply.strategy.strategy import compiled_strategy
from pipelines.autoreply.strategy.tools import disabled
from pipelines.autoreply.tools import TOOL_NAMES
from pipelines.hours import zone_of
from pipelines.llm.breaker import ClosedBreaker
from pipelines.llm.models import NoModel, Route, Routes, routes_of
from pipelines.llm.pricing import Purse, over_budget
from pipelines.llm.ramp import OpenGate
from pipelines.llm.routing import Whom, pick_model
from pipelines.memory.switch import may_recall
from pipelines.ports import Breaker, Catalogue, ChatModel, Clock, Gate, Habits, Keep, Memory, PriceTable, Shop
from schemas.agent import AgentParameters, Resume
from schemas.catalogue import Viewer
from schemas.conversation import Case
from schemas.decisions import Decision, Failure, Parked, Silence, Stopped
from schemas.errors import Code, FailureKind
from schemas.llm import Task
from schemas.memory import Asker
from schemas.settings import Settings
from schemas.strategy import Resolved

PLAN_READ = "the plan from last time was read"

_POINTLESS = frozenset({FailureKind.PERMANENT, FailureKind.CONTEXT_OVERFLOW})
"""The same request would fail again."""


@dataclass(slots=True)
class ReplyPipeline:
    """`models` by provider; `memory` None: nothing can be looked up; `catalogue` None: no persona has media; `shop`
    None: nothing is for sale; `habits` None: when a contact writes, the window alone tells."""

    clock: Clock
    models: Mapping[str, ChatModel]
    prices: PriceTable
    settings: Settings
    gate: Gate = field(default_factory=OpenGate)
    memory: Memory | None = None
    catalogue: Catalogue | None = None
    shop: Shop | None = None
    breaker: Breaker = field(default_factory=ClosedBreaker)
    habits: Habits | None = None
    routes: Routes = field(init=False)

    def __post_init__(self) -> None:
        self.routes = Routes(routes_of(self.settings), frozenset(self.models))

    async def run(self, case: Case, resume: Resume, keep: Keep) -> Decision:
        """Never raises for what a provider or a model does; `keep` saves the run as it goes."""
        if (end := stops.stopped(case) or gate.closed(case)) is not None:
            return end
        strategy = self._strategy(case, resume)
        if silence := gate.closed_by_rule(case, strategy):
            return silence
        decision = await self._answer(case, resume, keep, strategy)
        return replace(decision, strategy=strategy) if isinstance(decision, Silence | Failure) else decision

    async def _answer(self, case: Case, resume: Resume, keep: Keep, strategy: Resolved) -> Decision:
        limits = parameters.resolve(self.settings, case.organization.spec.agent, case.persona.spec.agent)
        trace = Trace(self.clock)
        timer = Timer.start(self.clock, limits.timeout_seconds, resume.active_seconds)
        try:
            composition = self._composition(case, resume, keep, limits, timer, trace, strategy)
            return await followup.continued(case, await composition.compose(), self.habits)
        except RunTakenAway:
            return Stopped()
        except NoModel as missing:
            return Failure(Code.MODELS_FAILED, "no_model", trace.take(), detail=str(missing))
        except BudgetSpent as spent:
            rule = over_budget(spent.kept, case.organization.spec.budgets, spent.reservation)
            trace.guard(Code.BUDGET, rule)
            return Failure(Code.BUDGET, spent.kept.value, trace.take(), detail=rule)
        except CallFailed as failed:
            return _unanswered(failed, trace, timer)

    def _composition(
        self,
        case: Case,
        resume: Resume,
        keep: Keep,
        limits: AgentParameters,
        timer: Timer,
        trace: Trace,
        strategy: Resolved,
    ) -> Composition:
        purse = Purse(self.prices, limits.max_tokens_per_turn)
        doors = Doors(self.models, self.gate, self.breaker, self.settings.llm.retries)
        calls = Calls(resume, keep, doors, purse, timer, trace, strategy.kept())
        engine = engine_of_run(resume, limits, case.persona.spec)
        note_engine(engine, case.persona.spec, trace)
        _note_beginning(case, limits, strategy, trace)
        reviewed = limits.use_redaction_validation
        bounds, links = case.persona.spec.limits, case.money.links_today
        checks = LocalChecks(bounds, case.sent_texts, reviewed, case.vocals_today, links)
        gallery = Gallery.of(case, limits, self._look(case))
        draft = Draft(checks, case.now, self._recall(case), gallery, self._wares(case))
        task = self._task(engine, case, resume, trace)
        write = self._agent if engine is Engine.V2 else self._chain
        writer = write(case, task, draft, calls, timer, limits, trace, strategy)
        caching = self.settings.prompt_caching_enabled
        route = self._route(Task.REVIEW, case)
        calls.expect(Task.REVIEW, route)
        reviewer = Reviewer(case, route, calls, timer, limits, trace, caching, gallery.shown, task, strategy)
        return Composition(case, writer, draft, reviewer, limits, trace, withheld(case).flag, strategy, self.habits)

    def _strategy(self, case: Case, resume: Resume) -> Resolved:
        """Decided once for a run: a resumed one keeps its palette and what it was told, whatever was applied since."""
        if resume.steps:
            return Resolved.model_validate(steps.settled(resume.steps[0].content), strict=False)
        limits = parameters.resolve(self.settings, case.organization.spec.agent, case.persona.spec.agent)
        classified = engine_of(limits, case.persona.spec) is Engine.V1
        strategy = compiled_strategy(case.strategy)
        found = resolve(strategy, case, TOOL_NAMES, case.standing_rules, classified=classified)
        return found.model_copy(update={"rules": tuple(rule for rule in found.rules if rule.outcome != "not_matched")})

    def _recall(self, case: Case) -> Recall | None:
        """Bound to who is asking: no argument of the model can name another one."""
        own = case.organization.spec.flags.ai_rag_enabled
        if self.memory is None or not may_recall(own, self.settings.rag_global_enabled):
            return None
        asker = Asker(case.organization.id, case.persona.id, case.contact.id)
        memory = self.memory
        return lambda question, limit: memory.search(question, asker, limit)

    def _look(self, case: Case) -> Look | None:
        """Bound to who is asking: no argument of the model can name another one."""
        catalogue = self.catalogue
        if catalogue is None:
            return None
        viewer = Viewer(case.organization.id, case.persona.id, case.contact.id, case.conversation)
        return lambda search: catalogue.look(search, viewer)

    def _wares(self, case: Case) -> Wares:
        """Bound as `_look`."""
        if (shop := self.shop) is None:
            return nothing
        return lambda names: shop.wares(case.organization.id, case.persona.id, case.contact.id, names)

    def _agent(
        self,
        case: Case,
        task: Task,
        draft: Draft,
        calls: Calls,
        timer: Timer,
        limits: AgentParameters,
        trace: Trace,
        strategy: Resolved,
    ) -> Writer:
        caching = self.settings.prompt_caching_enabled
        prompt = ReplyPrompt.of(case, _zone(case), limits, caching=caching, strategy=strategy, task=task)
        kept_back = withheld(case)
        if kept_back.tools:
            trace.note("tools are withheld", tools=sorted(kept_back.tools), reason=kept_back.reason)
        kept = dict.fromkeys(kept_back.tools, kept_back.reason)
        policy = ToolPolicy(disabled(strategy) | kept, limits.hard_remove_disabled_tools)
        route = self._route(task, case)
        return reply_agent(prompt, route, draft, calls, timer, limits, trace, policy, strategy)

    def _chain(
        self,
        case: Case,
        task: Task,
        draft: Draft,
        calls: Calls,
        timer: Timer,
        limits: AgentParameters,
        trace: Trace,
        strategy: Resolved,
    ) -> Writer:
        caching = self.settings.prompt_caching_enabled
        prompt = ChainPrompt.of(case, _zone(case), limits, caching=caching, strategy=strategy)
        route = self._route(task, case)
        return Chain(prompt, intents_of(case, strategy), route, draft, calls, timer, limits, trace)

    def _task(self, engine: Engine, case: Case, resume: Resume, trace: Trace) -> Task:
        """What the calls that write are made for."""
        taken = strength.taken(engine.task, case, self._whom(case), resume, self.settings.llm.strong_share)
        strength.note(taken, case, trace)
        return taken.task

    def _route(self, task: Task, case: Case) -> Route:
        return pick_model(task, self._whom(case), self.routes)

    def _whom(self, case: Case) -> Whom:
        organization = case.organization
        return Whom(str(organization.id), str(case.contact.id), organization.spec.models, organization.spec.plan)


def _zone(case: Case) -> ZoneInfo:
    return zone_of((case.contact.timezone, case.persona.spec.timezone, case.organization.spec.timezone))


def _note_beginning(case: Case, limits: AgentParameters, strategy: Resolved, trace: Trace) -> None:
    """Settings that change what a reader of the trace would expect; the plan that stands in the prompt, as the
    conversation shows only the newest one; and what the rules decided."""
    if not limits.use_redaction_validation:
        trace.note(UNREVIEWED)
    if case.plan:
        trace.note(PLAN_READ, plan=case.plan)
    if strategy.rules:
        applied = [rule.rule for rule in strategy.rules if rule.outcome == "applied"]
        trace.note(f"strategy: {', '.join(applied) or 'no rule'} applied", **strategy.kept())


def _unanswered(failed: CallFailed, trace: Trace, timer: Timer) -> Decision:
    kind, sentence = failed.failure.kind, failed.failure.sentence
    if kind is FailureKind.DEADLINE:
        rule = f"{timer.limit:g} seconds of work are over (TimeoutSeconds)"
        trace.guard(Code.TIMEOUT, rule)
        return Failure(Code.TIMEOUT, "timeout", trace.take(), failed.settled, detail=rule)
    trace.note("the model did not answer", failure=kind.value, sentence=sentence)
    if kind in _POINTLESS:
        return Failure(Code.MODELS_FAILED, kind.value, trace.take(), failed.settled, detail=sentence)
    retry_after = failed.failure.retry_after
    dated = kind is FailureKind.RATE_LIMITED and retry_after is not None
    return Parked(kind, sentence, not dated, retry_after, timer.active, trace.take(), failed.settled)
