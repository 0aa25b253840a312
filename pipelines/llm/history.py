"""Makes any sequence of messages one that the providers accept, and leaves a good one as it is.

What the interfaces demand: the first and the last message are the user's, roles alternate, no text is empty, every
tool call is answered in the very next message with the results in front, no result without its call, no id twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import is_

from pipelines.text import storable, storable_deep
from schemas.llm import Block, Message, Raw, Text, ToolResult, ToolUse

USER, ASSISTANT = "user", "assistant"
OPENING = "[The conversation began earlier.]"
CONTINUE = "[Continue.]"
UNANSWERED = "No result was recorded for this call."


def well_formed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same conversation, accepted. Idempotent; a message that is already well formed keeps its bytes."""
    merged = _merged(_without_empty(messages))
    paired = _merged(_without_empty(_paired(merged)))
    if not paired or paired[0].role != USER:
        paired = [Message(USER, (Text(OPENING),)), *paired]
    if paired[-1].role != USER:
        paired = [*paired, Message(USER, (Text(CONTINUE),))]
    return tuple(paired)


def joined(head: Sequence[Message], tail: Sequence[Message]) -> tuple[Message, ...]:
    """Two well formed conversations as one; where they meet, two messages of the user become one."""
    return tuple(_merged([*head, *tail]))


def call_id_of(block: Block) -> str | None:
    """The id of a tool call, whether ours or the provider's block."""
    if isinstance(block, ToolUse):
        return block.id
    if isinstance(block, Raw) and block.block.get("type") == "tool_use":
        return str(block.block.get("id"))
    return None


def _without_empty(messages: Iterable[Message]) -> Iterator[Message]:
    for message in messages:
        blocks = tuple(block for raw in message.blocks if not _is_empty(block := _clean(raw)))
        if blocks:
            yield _with(message, blocks)


def _with(message: Message, blocks: tuple[Block, ...]) -> Message:
    """The message itself when these are its own blocks, as they nearly always are."""
    own = message.blocks
    return message if len(own) == len(blocks) and all(map(is_, own, blocks)) else Message(message.role, blocks)


def _clean(block: Block) -> Block:
    """The block itself when it is clean, as nearly all are."""
    if isinstance(block, Text | ToolResult):
        text = storable(block.text)
        return block if text is block.text else replace(block, text=text)
    if isinstance(block, ToolUse):
        given = storable_deep(block.input)
        return block if given is block.input else replace(block, input=given)
    kept = storable_deep(block.block)
    return block if kept is block.block else replace(block, block=kept)


def _is_empty(block: Block) -> bool:
    if isinstance(block, Text):
        return not block.text.strip()
    if isinstance(block, Raw):
        return block.block.get("type") == "text" and not str(block.block.get("text", "")).strip()
    return False


def _merged(messages: Iterable[Message]) -> list[Message]:
    out: list[Message] = []
    for message in messages:
        if out and out[-1].role == message.role:
            out[-1] = replace(message, blocks=(*out[-1].blocks, *message.blocks))
        else:
            out.append(message)
    return out


def _paired(messages: Sequence[Message]) -> Iterator[Message]:
    """Each assistant message with calls is followed by a user message that answers exactly these, results first."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message.role == USER:
            yield _answering(message, open_calls)
            open_calls = []
            continue
        message = _with(message, tuple(_first_of_each(message.blocks, seen)))
        if not message.blocks:
            continue
        open_calls = [call for block in message.blocks if (call := call_id_of(block)) is not None]
        yield message
    if open_calls:
        yield _answering(Message(USER, ()), open_calls)


def _first_of_each(blocks: Iterable[Block], seen: set[str]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, ToolResult):
            continue  # a result is never the assistant's
        call = call_id_of(block)
        if call is not None and call in seen:
            continue
        if call is not None:
            seen.add(call)
        yield block


def _answering(message: Message, open_calls: Sequence[str]) -> Message:
    results: dict[str, ToolResult] = {}
    rest: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolResult):
            if block.tool_use_id in open_calls:
                results.setdefault(block.tool_use_id, block)
        elif call_id_of(block) is None:
            rest.append(block)
    missing = (ToolResult(call, UNANSWERED, is_error=True) for call in open_calls if call not in results)
    return _with(message, (*results.values(), *missing, *rest))
