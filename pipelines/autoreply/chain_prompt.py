"""What every call of engine V1 has in common: the rules, the conversation as plain turns, what is true now."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from pipelines.autoreply.context import before_window, stamped, window_of
from pipelines.autoreply.prompts import chain
from pipelines.autoreply.prompts.moment import context_block
from pipelines.autoreply.prompts.persona import organisation_block, persona_block
from pipelines.llm.history import ASSISTANT, USER, joined, well_formed
from pipelines.llm.layout import lifetime, marked_system
from pipelines.memory.window import shortened
from schemas.agent import AgentParameters
from schemas.conversation import Author, Case
from schemas.ids import CallId
from schemas.llm import Message, Model, ModelRequest, Task, Text
from schemas.strategy import Resolved


@dataclass(frozen=True, slots=True)
class ChainPrompt:
    system: tuple[Text, ...]
    kept: tuple[Message, ...]
    moment: str
    max_tokens: int

    @classmethod
    def of(
        cls, case: Case, zone: ZoneInfo, limits: AgentParameters, *, caching: bool, strategy: Resolved
    ) -> "ChainPrompt":
        # It has no tools, so none is asked of it.
        told = strategy.model_copy(update={"required": ()})
        texts = [chain.RULES, organisation_block(case.organization), persona_block(case.persona)]
        return cls(
            marked_system(texts, caching=caching, ttl=lifetime(brisk=case.persona.brisk)),
            plain_turns(case, zone),
            context_block(case, zone, told),
            limits.max_tokens_per_turn,
        )

    def request(self, call: CallId, model: Model, run: Sequence[Message], schema: dict[str, Any]) -> ModelRequest:
        """`run` are the messages of this run. The system alone is marked for the cache: the shape asked for is another
        one at each step, and what comes after it in the prompt cannot be read again."""
        return ModelRequest(
            call=call,
            task=Task.AUXILIARY,
            model=model,
            system=self.system,
            messages=joined(self.kept, well_formed(run)),
            max_tokens=self.max_tokens,
            output_schema=schema,
        )


def plain_turns(case: Case, zone: ZoneInfo) -> tuple[Message, ...]:
    """The window without tools: what we said is plain text here, as there are none to be skipped."""
    messages = before_window(case)
    for theirs, turns in groupby(window_of(case), key=lambda turn: turn.author is Author.CONTACT):
        texts = tuple(Text(stamped(turn, zone) if theirs else shortened(turn.text)) for turn in turns)
        messages.append(Message(USER if theirs else ASSISTANT, texts))
    if messages and messages[-1].role == ASSISTANT:
        return well_formed(messages)[:-1]
    return well_formed(messages) if messages else ()
