"""The agent that writes replies: the loop, with this conversation's prompt and the tools of a chat."""

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from pipelines.agent.calls import Calls, Timer
from pipelines.agent.loop import Agent, Assignment
from pipelines.agent.policy import ToolPolicy
from pipelines.agent.trace import Trace
from pipelines.autoreply.context import kept_messages
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.prompts import product
from pipelines.autoreply.prompts.moment import context_block
from pipelines.autoreply.prompts.persona import organisation_block, persona_block
from pipelines.autoreply.strategy.tools import lacking, reminder
from pipelines.autoreply.tools import palette
from pipelines.llm.history import well_formed
from pipelines.llm.layout import Kept, lifetime, marked_messages, marked_system, sorted_tools
from pipelines.llm.models import Route
from schemas.agent import AgentParameters
from schemas.conversation import Case
from schemas.ids import CallId
from schemas.llm import Message, Model, ModelRequest, Task, Text, ToolSpec, Ttl
from schemas.strategy import NO_STRATEGY, Resolved


@dataclass(frozen=True, slots=True)
class ReplyPrompt:
    """What every call of one run has in common."""

    system: tuple[Text, ...]
    kept: Kept
    moment: str
    max_tokens: int
    caching: bool
    ttl: Ttl
    task: Task = Task.REPLY

    @classmethod
    def of(
        cls,
        case: Case,
        zone: ZoneInfo,
        limits: AgentParameters,
        *,
        caching: bool,
        strategy: Resolved = NO_STRATEGY,
        task: Task = Task.REPLY,
    ) -> "ReplyPrompt":
        texts = [product.RULES, organisation_block(case.organization), persona_block(case.persona)]
        ttl = lifetime(brisk=case.persona.brisk)
        return cls(
            marked_system(texts, caching=caching, ttl=ttl),
            kept_messages(case, zone),
            context_block(case, zone, strategy),
            limits.max_tokens_per_turn,
            caching,
            ttl,
            task,
        )

    def request(self, call: CallId, model: Model, run: Sequence[Message], tools: tuple[ToolSpec, ...]) -> ModelRequest:
        """`run` are the messages of this run: the moment's block, then answers and results in turn."""
        return ModelRequest(
            call=call,
            task=self.task,
            model=model,
            system=self.system,
            messages=marked_messages(self.kept, well_formed(run), caching=self.caching, ttl=self.ttl),
            max_tokens=self.max_tokens,
            tools=sorted_tools(tools),
        )


def reply_agent(
    prompt: ReplyPrompt,
    route: Route,
    draft: Draft,
    calls: Calls,
    timer: Timer,
    limits: AgentParameters,
    trace: Trace,
    policy: ToolPolicy,
    strategy: Resolved = NO_STRATEGY,
) -> Agent[Draft]:
    assignment = Assignment(
        prompt.task,
        route,
        (Text(prompt.moment),),
        prompt.request,
        expects_review=limits.use_redaction_validation,
        lacks=lambda used: reminder(lacking(strategy, draft.bubbles, used)),
    )
    tools = palette(recalls=draft.recall is not None)
    return Agent(assignment, tools, policy, draft, calls, timer, limits, trace)
