"""Twenty turns of real dialogue as requests of the product's own making, billed by the simulator's cache under several
ways to mark and to cut them."""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from string import ascii_lowercase
from typing import Any

from pipelines.autoreply.pipeline import ReplyPipeline
from pipelines.llm.dialects.anthropic import to_wire
from pipelines.llm.models import Routes, routes_of
from pipelines.memory.summary import Summing
from pipelines.memory.window import WINDOW
from schemas.agent import Kept
from schemas.decisions import Reply
from schemas.ids import ConversationId, OrgId
from schemas.llm import ModelAnswer, ModelRequest, Task
from schemas.memory import Asker, Found, Recalled
from schemas.resources import OrganizationSpec
from schemas.summaries import Folding
from tests.builders import NOON, settings
from tests.fakes import FlatPrices, FrozenClock, Line, ScriptedModel, calling, done
from tests.replies import FINE
from tests.talk import Bill, Talk, real_pairs
from workers.simulator.cache import PromptCache
from workers.simulator.prompt import PromptReader, Tier

TURNS, CALLS = 20, 3
CALL_SECONDS = 3.0
SLOW_SECONDS = 600.0
LOOKED_UP = "Les colis partent le vendredi, on les suit par le lien reçu ; un retour se fait sous trente jours. " * 6
"""About 150 tokens of a tool's result."""
PROFILE = {"city": "Lyon", "job": "infirmier", "notes": "Il aime la mer, les vieilles voitures et la country. " * 15}
"""With the clock and the plan about 300 tokens of context that no run keeps."""
PREFIX_TOKENS = 3_000
TOLD = "Médaille en 1993. "
"""A number that the dialogue names: nobody has made it up."""
SAID_OF_THE_PERSONA = "Tu peins au bord de la mer, tu vis avec deux chiens, tu réponds avec chaleur et peu de mots. "


@dataclass
class Recorder:
    """A model that plays its part and keeps every request with its time."""

    lines: list[Line] = field(default_factory=list)
    seen: list[tuple[float, ModelRequest]] = field(default_factory=list)
    now: float = 0.0

    async def ask(self, request: ModelRequest, deadline: float) -> ModelAnswer:
        self.seen.append((self.now, request))
        self.now += CALL_SECONDS
        line = FINE if request.task is Task.REVIEW else self.lines.pop(0)
        return await ScriptedModel([line]).ask(request, deadline)


class Knows:
    """A memory that always finds the same passage."""

    async def search(self, question: str, asker: Asker, limit: int) -> list[Found]:
        return [Found(Recalled.KNOWLEDGE, LOOKED_UP)]


@dataclass(frozen=True)
class Recorded:
    """All requests of a conversation, in order, as they would go out: (second, task, body)."""

    sent: tuple[tuple[float, Task, dict[str, Any]], ...]

    def of(self, *tasks: Task) -> list[tuple[float, dict[str, Any]]]:
        return [(at, body) for at, task, body in self.sent if task in tasks]


Mark = Callable[[dict[str, Any]], dict[str, Any]]


async def recorded(
    gap: timedelta,
    *,
    brisk: bool,
    sliding: bool = False,
    longer: int = 1,
    prefix: int = PREFIX_TOKENS,
    slow_every: int = 0,
) -> Recorded:
    """`longer`: how many times each text is repeated in itself."""
    model, clock, configured = Recorder(), FrozenClock(), settings()
    pipeline = ReplyPipeline(clock, {"anthropic": model}, FlatPrices(), configured, memory=Knows())
    persona = {"instructions": await _filling(prefix), "limits": {"max_chars": 10_000}, "language": "fr"}
    talk = Talk(pipeline, {"persona": persona, "contact": {"profile": PROFILE}}, brisk=brisk)
    if sliding:
        talk.cut = lambda count: max(1, count - WINDOW + 1)
    for n, (theirs, ours) in enumerate(real_pairs(TURNS)):
        slow = n // slow_every if slow_every else 0
        model.now = (n - slow) * gap.total_seconds() + slow * SLOW_SECONDS
        text = " ".join([ours] * longer) + f" ({ascii_lowercase[n]})"
        model.lines = [calling(("search_rag", {"query": theirs[:60]})), _replying(text, n), done("Réponse complète.")]
        said = " ".join([theirs] * longer)
        decision = await talk.hear(*((said, "tu es là ?") if n % 5 == 0 else (said,)), gap=gap)
        assert isinstance(decision, Reply), decision
    await _summed_up(model, talk)
    return Recorded(tuple((at, request.task, to_wire(request)) for at, request in model.seen))


def _replying(text: str, n: int) -> Line:
    return calling(("send_message", {"text": text}), ("set_plan", {"plan": f"{n}: demander ses projets du week-end"}))


async def _filling(prefix: int) -> str:
    """Instructions that bring tools and system to so many tokens, by the simulator's count."""
    bare = await _first_body("")
    return (TOLD + SAID_OF_THE_PERSONA * 1_000)[: max(len(TOLD), 4 * (prefix - prefix_tokens(bare)))]


async def _first_body(instructions: str) -> dict[str, Any]:
    model = Recorder([calling(("send_message", {"text": "salut"})), done()])
    pipeline = ReplyPipeline(FrozenClock(), {"anthropic": model}, FlatPrices(), settings(), memory=Knows())
    await Talk(pipeline, {"persona": {"instructions": instructions}}).hear("coucou")
    return to_wire(model.seen[0][1])


async def _summed_up(model: Recorder, talk: Talk) -> None:
    """What the background asks meanwhile: one summary for every fifteen messages that leave the window."""
    configured = settings()
    summing = Summing(
        FrozenClock(),
        {"anthropic": model},
        FlatPrices(),
        Routes(routes_of(configured), frozenset({"anthropic"})),
        configured,
    )
    known = None
    for until in range(WINDOW, len(talk.turns) - WINDOW, WINDOW):
        model.lines = [done("Léo vient de Lyon et parle de ses projets. " * 40)]
        folded = tuple(talk.turns[until - WINDOW : until])
        folding = Folding(
            until, 1, ConversationId(1), OrgId(1), OrganizationSpec(), "autoreply", until, folded, NOON, known
        )
        summed = await summing.run(folding, _for_free)
        known = getattr(summed, "text", None)


async def _for_free(_: Any) -> Kept:
    return Kept.FRESH


def prefix_tokens(body: dict[str, Any]) -> int:
    text = json.dumps(body, ensure_ascii=False)
    return sum(block.tokens for block in PromptReader().read(text, body).blocks if block.tier is not Tier.MESSAGES)


def unmarked(body: dict[str, Any]) -> dict[str, Any]:
    body = copy.deepcopy(body)
    for block in [*body["system"], *(block for message in body["messages"] for block in message["content"])]:
        block.pop("cache_control", None)
    return body


def as_sent(body: dict[str, Any]) -> dict[str, Any]:
    return body


def system_alone(ttl: str) -> Mark:
    def mark(body: dict[str, Any]) -> dict[str, Any]:
        body = unmarked(body)
        body["system"][-1]["cache_control"] = {"type": "ephemeral", "ttl": ttl}
        return body

    return mark


def system_and_automatic(ttl: str, automatic: str) -> Mark:
    def mark(body: dict[str, Any]) -> dict[str, Any]:
        return {**system_alone(ttl)(body), "cache_control": {"type": "ephemeral", "ttl": automatic}}

    return mark


def billed(requests: Sequence[tuple[float, dict[str, Any]]], mark: Mark = as_sent) -> Bill:
    """By the simulator's cache, new at the beginning."""
    reader, cache = PromptReader(), PromptCache()
    calls = total = read = 0
    equivalent = 0.0
    for at, body in requests:
        body = mark(body)
        charge = cache.begin(reader.read(json.dumps(body, ensure_ascii=False), body), at)
        cache.answer_began(charge)
        calls, total, read = calls + 1, total + charge.total, read + charge.read
        equivalent += charge.full + 0.1 * charge.read + 1.25 * charge.write_5m + 2 * charge.write_1h
    return Bill(calls, total, read, equivalent)


@dataclass(frozen=True)
class Compared:
    """Ours beside what others would be billed for the same conversation."""

    ours: Bill
    own_uncached: Bill
    sliding_uncached: Bill
    system: Bill
    automatic: Bill
    """System and automatic mark, sliding window, at its best lifetimes."""
    ours_sliding: Bill
    review: Bill
    auxiliary: Bill

    @property
    def times_cheaper(self) -> float:
        """Than the same messages uncached, in a window that slides."""
        return self.sliding_uncached.equivalent / self.ours.equivalent

    @property
    def below_automatic(self) -> float:
        return 1 - self.ours.equivalent / self.automatic.equivalent


async def compared(gap: timedelta, *, brisk: bool, longer: int = 1, prefix: int = PREFIX_TOKENS) -> Compared:
    ours = await recorded(gap, brisk=brisk, longer=longer, prefix=prefix)
    sliding = await recorded(gap, brisk=brisk, sliding=True, longer=longer, prefix=prefix)
    replies, slid = ours.of(Task.REPLY), sliding.of(Task.REPLY)
    pairs = (("5m", "5m"), ("1h", "5m"), ("1h", "1h"))
    return Compared(
        ours=billed(replies),
        own_uncached=billed(replies, unmarked),
        sliding_uncached=billed(slid, unmarked),
        system=min((billed(slid, system_alone(ttl)) for ttl in ("5m", "1h")), key=lambda bill: bill.equivalent),
        automatic=min((billed(slid, system_and_automatic(*pair)) for pair in pairs), key=lambda bill: bill.equivalent),
        ours_sliding=billed(slid),
        review=billed(ours.of(Task.REVIEW)),
        auxiliary=billed(ours.of(Task.AUXILIARY)),
    )
