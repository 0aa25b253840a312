"""Where a request is marked for the provider's cache, and for how long.

Everything that stays for the next run comes first and never changes; what is true only now comes after it. See
docs/decisions/prompt-layout.md for the figures behind each mark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.llm.history import joined
from pipelines.text import storable
from schemas.llm import Block, Message, Raw, Text, ToolResult, ToolSpec, ToolUse, Ttl

LOOK_BACK = 15
"""Positions after which the previous mark is repeated. The provider looks back 20, and a turn adds a few more."""

KEPT = Ttl.ONE_HOUR
TAIL = Ttl.FIVE_MINUTES


def lifetime(*, brisk: bool) -> Ttl:
    """How long what stays is kept: five minutes cost 1.25 times the input price to write and an hour twice, so where
    most of the talk is brisk the shorter one is cheaper. One for a whole persona: all its contacts share the system."""
    return Ttl.FIVE_MINUTES if brisk else KEPT


@dataclass(frozen=True, slots=True)
class Kept:
    """The part of the messages that the next run will repeat.

    `previous` is the index, over all its blocks, of the last one that the previous run knew; None on the first run.
    """

    messages: tuple[Message, ...]
    previous: int | None = None


def sorted_tools(tools: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
    """One order for ever: another order is another prefix."""
    return tuple(sorted(tools, key=lambda tool: tool.name))


def marked_system(blocks: Sequence[str], *, caching: bool, ttl: Ttl = KEPT) -> tuple[Text, ...]:
    """The system texts, empty ones left out, the last one marked."""
    kept = [Text(text) for text in map(storable, blocks) if text.strip()]
    if caching and kept:
        kept[-1] = replace(kept[-1], cache=ttl)
    return tuple(kept)


def marked_messages(kept: Kept, run: Sequence[Message], *, caching: bool, ttl: Ttl = KEPT) -> tuple[Message, ...]:
    """The kept messages, then this run's own, both well formed: marked on the last kept block and the very last.

    `ttl` is that of the system: a longer one may not stand behind a shorter one."""
    if not caching:
        return joined(kept.messages, run)
    blocks = [block for message in kept.messages for block in message.blocks]
    marks: dict[int, Ttl] = {}
    if blocks:
        marks[len(blocks) - 1] = ttl
        previous = kept.previous
        if previous is not None and positions(blocks[previous + 1 :]) > LOOK_BACK:
            marks[previous] = ttl
    return joined(_with_marks(kept.messages, marks), _tail_marked(run) if run else ())


def positions(blocks: Iterable[Block]) -> int:
    """How far the provider walks over these blocks: a row of tool calls, or of their results, is one step."""
    count, before = 0, None
    for block in blocks:
        row = _row(block)
        if row is None or row != before:
            count += 1
        before = row
    return count


def _row(block: Block) -> str | None:
    if isinstance(block, Raw):
        kind = block.block.get("type")
        return str(kind) if kind in ("tool_use", "tool_result") else None
    if isinstance(block, ToolUse):
        return "tool_use"
    return "tool_result" if isinstance(block, ToolResult) else None


def _with_marks(messages: Sequence[Message], marks: dict[int, Ttl]) -> tuple[Message, ...]:
    """The same messages, but for those that hold a marked block; `marks` by the index over all blocks."""
    out, first = list(messages), 0
    for at, message in enumerate(messages):
        end = first + len(message.blocks)
        for n in range(first, end):
            if n in marks:
                blocks = list(out[at].blocks)
                blocks[n - first] = replace(blocks[n - first], cache=marks[n])
                out[at] = replace(message, blocks=tuple(blocks))
        first = end
    return tuple(out)


def _tail_marked(run: Sequence[Message]) -> tuple[Message, ...]:
    last = run[-1]
    blocks = (*last.blocks[:-1], replace(last.blocks[-1], cache=TAIL))
    return (*run[:-1], replace(last, blocks=blocks))
