"""The conversation as the model reads it, in blocks that never change once they are there.

Each message of the contact is one block. Each bubble of ours is the tool call that made it: shown as plain text, it
would teach the model to answer without its tools.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from pipelines.llm.history import ASSISTANT, OPENING, USER
from pipelines.llm.layout import Kept
from pipelines.memory.external import Source, neutralised, wrapped
from pipelines.memory.window import fitting, shortened
from pipelines.text import is_blank, storable
from schemas.conversation import Author, BubbleKind, Case, Turn
from schemas.llm import Block, Message, Text, ToolResult, ToolUse

SUMMARY = (
    "[Summary] What was said before, in short. It was made by a program: where the messages say otherwise, they count."
)
SENT = "sent"
SENT_BY_A_PERSON = "sent by a person"

_OURS = re.compile(
    r"([\n\r\v\f\x85\u2028\u2029]\s*)\[(?=\s*(?:\d{1,2}\s*:|notice|check|review|step|plan|summary))", re.I
)
"""What stands in front of a line that we write: a time, or the name of a notice."""

_CALLS = {
    BubbleKind.TEXT: ("send_message", "text"),
    BubbleKind.VOICE: ("send_vocal", "text"),
    BubbleKind.IMAGE: ("send_image", "caption"),
    BubbleKind.VIDEO: ("send_image", "caption"),
    BubbleKind.PAYMENT: ("send_payment", "message"),
}


def kept_messages(case: Case, zone: ZoneInfo) -> Kept:
    """What was said before the window, the window, ending with the newest message, and where the run before this one
    ended."""
    messages = before_window(case)
    previous, count = None, 0
    for ours, turns in groupby(window_of(case), key=is_ours):
        group = list(turns)
        if ours:
            messages += _our_calls(group) if messages else [Message(USER, (Text(OPENING),)), *_our_calls(group)]
            continue
        count = sum(len(message.blocks) for message in messages)
        answered = [at for at, turn in enumerate(group) if turn.answered]
        previous = count + answered[-1] if answered else previous
        messages.append(Message(USER, tuple(Text(stamped(turn, zone)) for turn in group)))
    return Kept(tuple(_joined(messages)), previous)


def before_window(case: Case) -> list[Message]:
    """The summary, written by a model from what others said: as any foreign text it is information alone."""
    if case.summary is None:
        return []
    return [Message(USER, (Text(f"{SUMMARY}\n{wrapped(Source.MEMORY, case.summary)}"),))]


def window_of(case: Case) -> list[Turn]:
    """The turns that a prompt shows: of a conversation that is too long for one, the newest."""
    shown = [turn for turn in case.turns if is_shown(turn)]
    return shown[fitting([_length(turn) for turn in shown]) :] if shown else []


def _length(turn: Turn) -> int:
    return len(shortened(turn.text).encode("utf-8", "replace"))


def overtaken(case: Case) -> tuple[Turn, ...]:
    """What the contact waits for an answer to, in order, when a part of it stands before bubbles of ours: read from the
    top, it looks answered. A reply that was pinned left behind it, or one that was called off had begun to leave."""
    shown = window_of(case)
    waiting = tuple(turn for turn in shown if turn.author is Author.CONTACT and not turn.answered)
    return waiting if waiting and any(is_ours(turn) for turn in shown[shown.index(waiting[0]) :]) else ()


def is_ours(turn: Turn) -> bool:
    return turn.author is not Author.CONTACT


def is_shown(turn: Turn) -> bool:
    """System lines and notices are not ours to repeat."""
    if turn.author is Author.SYSTEM or turn.kind is BubbleKind.NOTICE:
        return False
    return bool(turn.attachments) or turn.author is not Author.CONTACT or not is_blank(turn.text)


def _our_calls(group: list[Turn]) -> list[Message]:
    uses: list[Block] = []
    results: list[Block] = []
    for turn in group:
        use = ToolUse(_call_id(turn), *_call_of(turn))
        uses.append(use)
        results.append(ToolResult(use.id, SENT_BY_A_PERSON if turn.author is Author.OPERATOR else SENT))
    return [Message(ASSISTANT, tuple(uses)), Message(USER, tuple(results))]


def _call_of(turn: Turn) -> tuple[str, dict[str, Any]]:
    """As the tool was called: what may be left out is left out."""
    name, field = _CALLS[turn.kind]
    words = {field: shortened(storable(turn.text))}
    if not turn.media:
        return name, words
    named: dict[str, Any] = {"media_id": turn.media[0]}
    if turn.kind is BubbleKind.PAYMENT:
        named = {"media_ids": list(turn.media)} | ({} if turn.price is None else {"price": turn.price.text})
    return name, named | (words if turn.text else {})


def _call_id(turn: Turn) -> str:
    return f"msg_{turn.position}" if turn.candidate is None else f"bub_{turn.candidate}"


def stamped(turn: Turn, zone: ZoneInfo) -> str:
    """Attachments are named, not shown: an image in the prompt would be another prompt. A line that begins like one of
    ours loses its bracket, as a false tag does: the only time is the one that is put here."""
    parts = [shortened(turn.text)] if not is_blank(turn.text) else []
    parts += [f"({attachment.type} attached)" for attachment in turn.attachments]
    said = _OURS.sub(r"\1(", neutralised(" ".join(parts)))
    return f"[{turn.at.astimezone(zone):%H:%M}] {said}"


def _joined(messages: list[Message]) -> Iterator[Message]:
    for role, group in groupby(messages, key=lambda message: message.role):
        yield Message(role, tuple(block for message in group for block in message.blocks))
