"""Any conversation, whatever a model does and wherever its worker dies: every request is one that the interface takes.

Judged by the simulator's own reading of the interface's rules, on the bytes that are sent.
"""

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from pipelines.autoreply.context import kept_messages, window_of
from pipelines.autoreply.pipeline import ReplyPipeline
from pipelines.llm.dialects.anthropic import to_wire
from pipelines.memory.window import LONGEST, MOST_BYTES, fitting, shortened
from schemas.conversation import Attachment, Author, BubbleKind, Case, FollowUp, Trigger, Turn
from schemas.ids import RunId
from schemas.llm import ModelAnswer, ModelRequest, Stop, Task, Text
from schemas.money import Price
from tests.builders import NOON, a_case, a_resume, a_turn, settings
from tests.fakes import USAGE, FlatPrices, FrozenClock, Line, MemoryKeep, ScriptedGate, ScriptedModel, done, sending
from tests.replies import FINE, TOO_COLD
from tests.talk import real_pairs
from workers.simulator.cache import breakpoints
from workers.simulator.models import find_model
from workers.simulator.prompt import PromptReader
from workers.simulator.validation import check_request
from workers.simulator.wire import parse

WORDS = (
    "coucou",
    "",
    " ",
    "\n",
    "\0",
    "\ud800",
    "a\0b\udfff",
    "\ud83d\ude00",
    "</run_context>",
    "[12:00] non",
    "é" * 300,
)
PAIRS = real_pairs(40)
SCRIPTS = (
    "", "{", "[]", "null", '{"intent": "smalltalk", "because": ""}', '{"facts": [], "open_points": [], "mood": ""}',
    '{"approach": "\\ud800", "avoid": []}', '{"messages": ["tu vas bien ?"]}', '{"messages": []}',
)  # fmt: skip
"""What engine V1 may be answered."""
TOOLS = ("send_message", "send_vocal", "set_plan", "clear_messages", "get_media", "search_rag", "send_image", "no_such")


@dataclass
class Wild:
    """A model that does what it likes, and refuses what its interface would refuse."""

    chance: random.Random
    reader: PromptReader = field(default_factory=PromptReader)
    asked: Counter[str] = field(default_factory=Counter)

    async def ask(self, request: ModelRequest, deadline: float) -> ModelAnswer:
        accepted(request, self.reader)
        self.asked[request.task.value] += 1
        return await ScriptedModel([self._line(request.task)]).ask(request, deadline)

    def _line(self, task: Task) -> Line:
        chance = self.chance
        if task is Task.REVIEW:
            return chance.choice((FINE, FINE, TOO_COLD, Line(text="{")))
        if task is Task.AUXILIARY:
            return Line(text=chance.choice(SCRIPTS), stop=chance.choice((None, None, Stop.CUT)))
        if chance.random() < 0.4:
            return chance.choice((sending(f"et toi, {chance.choice(PAIRS)[1]}"), done()))
        calls = tuple(self._call() for _ in range(chance.choice((0, 0, 1, 1, 2, 4))))
        stop = Stop.CUT if chance.random() < 0.1 else None
        return Line(calls, chance.choice(WORDS), stop, usage=USAGE)

    def _call(self) -> tuple[str, dict[str, Any]]:
        words = self.chance.choice((*WORDS, f"tu fais quoi {self.chance.random()} ?"))
        field_of = self.chance.choice(("text", "plan", "query", "media_id", "x\ud800"))
        return self.chance.choice(TOOLS), {field_of: words} if self.chance.random() < 0.9 else {}


def accepted(request: ModelRequest, reader: PromptReader) -> None:
    """Raises Refused with what the interface would say."""
    raw = json.dumps(to_wire(request), ensure_ascii=False).encode()
    text, body = parse(raw)
    check_request(body, "2026-10-21")
    prompt = reader.read(text, body)
    breakpoints(prompt)
    model = find_model("claude-haiku-4-5")
    assert model is not None
    assert prompt.tokens + request.max_tokens <= model.context, "the smallest model could not read it"


def a_wild_turn(chance: random.Random, position: int, answered: bool) -> Turn:
    author = chance.choice((Author.CONTACT, Author.CONTACT, Author.AI, Author.AI, Author.OPERATOR, Author.SYSTEM))
    theirs, ours = chance.choice(PAIRS)
    text = chance.choice((*WORDS, theirs, ours, theirs, ours))
    if chance.random() < 0.004:
        text = chance.choice(("blabla ", '\n"\\', "🎈")) * chance.choice((4_000, 60_000))
    kind = BubbleKind.TEXT if author is not Author.AI else chance.choice(list(BubbleKind))
    shows = kind not in (BubbleKind.TEXT, BubbleKind.VOICE, BubbleKind.NOTICE)
    attachments = (Attachment(chance.choice(("image", "file\ud800")), "https://e.org/1"),) * chance.choice(
        (0, 0, 0, 1, 2)
    )
    return a_turn(
        text,
        position=position,
        author=author,
        answered=answered,
        candidate=None if author is not Author.AI or chance.random() < 0.9 else position,
        at=NOON + timedelta(minutes=position),
        kind=kind,
        attachments=attachments if author is Author.CONTACT else (),
        media=("m-1", "m-2")[: chance.randint(1, 2)] if shows else (),
        price=Price(Decimal("3.50"), "EUR") if kind is BubbleKind.PAYMENT else None,
    )


def a_wild_case(chance: random.Random) -> Case:
    """A window with gaps where messages were deleted, perhaps cut in the middle of a reply; the newest may be new."""
    count = chance.choice((0, 1, 2, 5, 15, 30, 30, 45))
    positions = sorted(chance.sample(range(1, 2 * count + 2), count))
    new = chance.choice((0, 1, 1, 2, 20))
    turns = [a_wild_turn(chance, at, answered=n < count - new) for n, at in enumerate(positions)]
    follows = chance.random() < 0.1
    return a_case(
        turns=turns,
        persona={
            "instructions": chance.choice(("", " ", "\0", "Tu aimes la mer.")),
            "engine": chance.choice(("v2", "v2", "v2", "v1")),
        },
        contact={"display_name": chance.choice(("", "Léo", "\ud800")), "profile": chance.choice(({}, {"a": "\ud800"}))},
        plan=chance.choice((None, "", "\0", "parler de Lyon")),
        instruction=chance.choice((None, "\ud800 plus court")),
        trigger=Trigger.FOLLOW_UP if follows else Trigger.MESSAGE,
        follow_up=FollowUp() if follows else None,
    )


async def lived(seed: int) -> Counter[str]:
    """One conversation whose worker dies once or twice on the way; which requests were made."""
    chance = random.Random(seed)
    case, keep, model = a_wild_case(chance), MemoryKeep(RunId(7)), Wild(chance)
    clock = FrozenClock()
    pipeline = ReplyPipeline(clock, {"anthropic": model}, FlatPrices(), settings(), ScriptedGate())
    await pipeline.run(case, a_resume(), keep)
    for death in range(chance.choice((0, 1, 2))):
        after = chance.randint(0, len(keep.steps))
        resume = keep.resume(after, fence=2 + death)
        keep.steps = keep.steps[:after]
        await pipeline.run(case, resume, keep)
    return model.asked


async def _all_accepted(seeds: range) -> Counter[str]:
    asked: Counter[str] = Counter()
    for seed in seeds:
        try:
            asked += await lived(seed)
        except Exception as error:
            raise AssertionError(f"history {seed}: {error!r}") from error
    return asked


async def test_no_request_of_any_history_is_refused() -> None:
    asked = await _all_accepted(range(500))

    assert asked["reply"] > 500
    assert asked["review"] > 50
    assert asked["auxiliary"] > 50


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_no_request_of_ten_thousand_histories_is_refused() -> None:
    asked = await _all_accepted(range(10_000, 20_000))

    print(f"\nrequests judged: {dict(asked)}")
    assert sum(asked.values()) > 20_000


def test_what_is_too_long_for_a_prompt_loses_its_oldest_messages_in_steps() -> None:
    long = [a_turn(f"{n} " + "x" * 39_000, position=n) for n in range(1, 31)]
    firsts = [window_of(a_case(turns=long[:count]))[0].position for count in range(1, 31)]

    assert firsts == sorted(firsts)
    assert len(set(firsts)) <= 8
    for count, first in enumerate(firsts, 1):
        assert sum(len(turn.text) for turn in long[first - 1 : count]) <= MOST_BYTES
    assert window_of(a_case(turns=[*long, a_turn("et ?", position=31)]))[-1].text == "et ?"


def test_one_message_that_is_too_long_keeps_its_beginning_and_its_end() -> None:
    text = "début " + "x" * 3_000_000 + " fin ?"
    kept = kept_messages(a_case(text), NOON.tzinfo)  # type: ignore[arg-type]

    (block,) = kept.messages[0].blocks
    assert isinstance(block, Text)
    assert block.text.startswith("[11:01] début xxx")
    assert block.text.endswith(" fin ?")
    assert "2960012 characters are left out" in block.text
    assert shortened("x" * LONGEST) == "x" * LONGEST


@pytest.mark.parametrize(
    ("lengths", "left_out"),
    [
        ([], 0),
        ([5], 0),
        ([50], 0),
        ([4, 4], 0),
        ([6, 5], 1),
        ([3, 3, 3, 3], 2),
        ([1] * 11, 5),
        ([1] * 16, 10),
        ([9, 50], 1),
    ],
)
def test_the_newest_always_stays_and_the_rest_fits(lengths: list[int], left_out: int) -> None:
    assert fitting(lengths, 10) == left_out
