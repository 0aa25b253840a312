"""A conversation that goes on: every reply of the pipeline becomes part of what the next run reads."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pipelines.autoreply.pipeline import ReplyPipeline
from pipelines.memory.window import first_kept
from schemas.conversation import Author, Turn
from schemas.decisions import Decision, Reply
from schemas.ids import RunId
from tests.builders import NOON, a_case, a_resume, a_turn
from tests.fakes import MemoryKeep
from workers.simulator.control import SeenRequest

DIALOGUES = Path(__file__).parent / "data" / "xpersona_fr.json"


def real_pairs(count: int) -> list[tuple[str, str]]:
    """What two people wrote to each other: (contact, persona), from several dialogues in a row."""
    dialogues = json.loads(DIALOGUES.read_text(encoding="utf-8"))
    pairs = [(theirs, ours) for dialogue in dialogues for theirs, ours in dialogue["dialogue"]]
    return pairs[:count]


@dataclass
class Talk:
    """`case` holds the fields of `a_case` that stay the same."""

    pipeline: ReplyPipeline
    case: dict[str, Any] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    now: datetime = NOON
    plan: str | None = None
    runs: int = 0
    brisk: bool = False
    cut: Callable[[int], int] = lambda count: first_kept(range(1, count + 1))
    """From the number of messages to the position where the window begins."""

    async def hear(self, *texts: str, gap: timedelta = timedelta(minutes=1)) -> Decision:
        """The contact writes; the pipeline answers; the answer is delivered."""
        self.now += gap
        for text in texts:
            self._add(text, Author.CONTACT)
        self.runs += 1
        start = self.cut(len(self.turns))
        case = a_case(
            turns=self.turns[start - 1 :],
            now=self.now,
            plan=self.plan,
            sent_texts=tuple(turn.text for turn in self.turns if turn.author is Author.AI),
            **self.case,
        )
        case = replace(case, persona=replace(case.persona, brisk=self.brisk))
        keep = MemoryKeep(RunId(self.runs))
        decision = await self.pipeline.run(case, replace(a_resume(), run=keep.run), keep)
        if isinstance(decision, Reply):
            self._deliver(decision)
        return decision

    def _deliver(self, reply: Reply) -> None:
        self.plan = reply.plan or self.plan
        self.turns = [replace(turn, answered=True) for turn in self.turns]
        for bubble in reply.bubbles:
            self._add(bubble.text, Author.AI)

    def _add(self, text: str, author: Author) -> None:
        self.turns.append(a_turn(text, position=len(self.turns) + 1, author=author, at=self.now))


@dataclass(frozen=True)
class Bill:
    """Tokens of many calls. `equivalent` is what they cost in tokens at full price."""

    calls: int
    total: int
    read: int
    equivalent: float

    @property
    def read_share(self) -> float:
        return self.read / self.total

    @property
    def times_cheaper(self) -> float:
        """Than the same tokens uncached."""
        return self.total / self.equivalent


def bill(requests: Sequence[SeenRequest], task: str) -> Bill:
    usages = [request.usage for request in requests if request.task == task and request.usage]
    total = read = 0
    equivalent = 0.0
    for usage in usages:
        split = usage["cache_creation"]
        fresh, seen = usage["input_tokens"], usage["cache_read_input_tokens"]
        short, long = split["ephemeral_5m_input_tokens"], split["ephemeral_1h_input_tokens"]
        total += fresh + seen + short + long
        read += seen
        equivalent += fresh + 0.1 * seen + 1.25 * short + 2 * long
    return Bill(len(usages), total, read, equivalent)
