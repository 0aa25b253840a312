"""Any history becomes one that the interface accepts, judged by the simulator's own reading of the rules."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.llm.dialects.anthropic import to_wire
from pipelines.llm.history import CONTINUE, OPENING, UNANSWERED, well_formed
from pipelines.llm.layout import Kept, marked_messages
from schemas.ids import CallId
from schemas.llm import Block, Message, ModelRequest, Raw, Task, Text, ToolResult, ToolSpec, ToolUse
from tests.fakes import HAIKU
from workers.simulator.cache import breakpoints
from workers.simulator.prompt import PromptReader
from workers.simulator.validation import check_request

IDS = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", " ", "\n", "\0", "\ud800", "ok", "\ud83d\ude00", "a\0b\udfff"]),
)


def conversations(ids: st.SearchStrategy[str]) -> st.SearchStrategy[list[Message]]:
    """Anything that could be put together by mistake."""
    arguments = st.dictionaries(st.just("x"), TEXTS)
    raw = st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
        st.builds(lambda id, x: {"type": "tool_use", "id": id, "name": "t", "input": x}, ids, arguments),
    )
    blocks: st.SearchStrategy[Block] = st.one_of(
        st.builds(Text, TEXTS),
        st.builds(ToolUse, ids, st.just("t"), arguments),
        st.builds(ToolResult, ids, TEXTS, st.booleans()),
        st.builds(Raw, raw),
    )
    roles = st.sampled_from(["user", "assistant"])
    return st.lists(st.builds(Message, roles, st.lists(blocks, max_size=4).map(tuple)), max_size=7)


MESSAGES = conversations(IDS)
LATER = conversations(IDS.map(lambda id: f"later_{id}"))
"""Tool ids of a run are the provider's, those of the history are ours."""


def wire(messages: tuple[Message, ...]) -> dict[str, Any]:
    tools = (ToolSpec("t", "a tool", {"type": "object"}),)
    return to_wire(
        ModelRequest(CallId("1.1.1"), Task.REPLY, HAIKU, (Text("rules"),), messages, max_tokens=100, tools=tools)
    )


def check(body: dict[str, Any]) -> None:
    """Raises what the API would refuse with."""
    text = json.dumps(body, ensure_ascii=False)
    text.encode()
    check_request(json.loads(text), "2026-10-21")
    breakpoints(PromptReader().read(text, json.loads(text)))


@settings(max_examples=100, deadline=None)
@given(MESSAGES)
def test_any_history_is_accepted(messages: list[Message]) -> None:
    check(wire(well_formed(messages)))


@settings(max_examples=60, deadline=None)
@given(MESSAGES)
def test_what_is_well_formed_stays_as_it_is(messages: list[Message]) -> None:
    once = well_formed(messages)

    assert well_formed(once) == once


@settings(max_examples=60, deadline=None)
@given(MESSAGES, LATER, st.booleans())
def test_marks_are_accepted_wherever_they_fall(kept: list[Message], run: list[Message], caching: bool) -> None:
    messages = marked_messages(Kept(well_formed(kept), 0), well_formed(run), caching=caching)

    check(wire(messages))


def test_a_good_conversation_keeps_every_block() -> None:
    good = (
        Message("user", (Text("hi"),)),
        Message("assistant", (ToolUse("a", "t", {"x": 1}), ToolUse("b", "t", {}))),
        Message("user", (ToolResult("a", "1"), ToolResult("b", "2", True), Text("and"))),
    )

    assert well_formed(good) == good


def test_what_is_missing_is_said_and_what_is_orphaned_goes() -> None:
    broken = (
        Message("assistant", (ToolUse("a", "t", {}), ToolUse("a", "t", {}))),
        Message("user", (Text("late"), ToolResult("zzz", "whose?"))),
        Message("user", (Text("  "),)),
        Message("assistant", (Text("bye"),)),
    )

    assert well_formed(broken) == (
        Message("user", (Text(OPENING),)),
        Message("assistant", (ToolUse("a", "t", {}),)),
        Message("user", (ToolResult("a", UNANSWERED, is_error=True), Text("late"))),
        Message("assistant", (Text("bye"),)),
        Message("user", (Text(CONTINUE),)),
    )
