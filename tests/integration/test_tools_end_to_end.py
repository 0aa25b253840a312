"""Each tool of a reply, through the queue: what comes of it, and the exact words the agent reads when it is refused."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipelines.autoreply.tools import TOOLS
from tests.builders_media import a_document
from tests.scripts import bubbles, call, done, heard
from tests.stack import Stack, Talk
from workers.simulator.control import SimulatorControl

Turns = list[dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """`works`: turns in which the tool is used, and what is seen of it then; `refused`: a turn with one refused call
    of it."""

    works: Turns
    seen: Callable[[Talk, Any], Any]
    expected: Any
    refused: dict[str, Any]
    sentence: str
    state: str = "sent"


def conversation(talk: Talk) -> Any:
    return talk.call("GET", f"/v1/conversations/{talk.name}", status=200)


def kinds(talk: Talk, job: Any) -> Any:
    return [(bubble["kind"], bubble["text"]) for bubble in talk.stack.receiver.applied(talk.name)]


def one(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [call(tool, **arguments)]}


def looked_up(talk: Talk, job: Any) -> Any:
    """Whether each lookup showed what is there."""
    return [(item["refused"], "la plage" in item["result"]) for item in job["trace"] if item.get("tool") in LOOKUPS]


LOOKUPS = {"search_rag", "get_media"}
ON_THE_SHELF = [
    a_document("v-1", "10.00", type="video", description="la plage"),
    a_document("ph-1", description="le chat sur la plage"),
    {"kind": "Document", "name": "faq", "scope": "organization", "text": "Maya filme toujours sur la plage."},
]
QUEUED_FIRST = {"calls": [call("send_message", text="Attends."), call("leave_on_read")]}
PAST = "2020-01-01T00:00:00+00:00"
TABLE = {
    "send_message": Row(
        [bubbles("Coucou."), done()],
        kinds,
        [("text", "Coucou.")],
        one("send_message", text="va <b>ici</b>"),
        "The text holds a tag. Write only what the contact should read. The bubble was not queued.",
    ),
    "send_vocal": Row(
        [one("send_vocal", text="Bonne nuit."), done()],
        kinds,
        [("voice", "Bonne nuit.")],
        one("send_vocal", text="👍🎉"),
        "There is no word in the text that could be spoken. Write one, or use send_message. The bubble was not queued.",
    ),
    "clear_messages": Row(
        [bubbles("Un."), one("clear_messages", reason="wrong"), bubbles("Deux."), done()],
        kinds,
        [("text", "Deux.")],
        one("clear_messages", why="wrong"),
        "why: Extra inputs are not permitted. Correct the arguments and call clear_messages again.",
    ),
    "set_plan": Row(
        [one("set_plan", plan="parler de Lyon"), bubbles("Oui."), done()],
        lambda talk, job: conversation(talk)["plan"],
        "parler de Lyon",
        one("set_plan", plan=""),
        "plan: String should have at least 1 character. Correct the arguments and call set_plan again.",
    ),
    "leave_on_read": Row(
        [one("leave_on_read", reason="rien à dire")],
        lambda talk, job: (job["reason"], conversation(talk)["follow_up_at"] is not None),
        ("left_on_read", True),
        QUEUED_FIRST,
        "1 bubbles are queued. Call clear_messages first, or just end your turn to have them sent.",
        state="silent",
    ),
    "conversation_pause": Row(
        [one("conversation_pause", until=(datetime.now(UTC) + timedelta(hours=2)).isoformat())],
        lambda talk, job: (job["reason"], conversation(talk)["paused_until"] is not None),
        ("paused", True),
        one("conversation_pause", until=PAST),
        f"until: {PAST} is not in the future. Give a later time.",
        state="silent",
    ),
    "search_rag": Row(
        [one("search_rag", query="où filme Maya ?"), bubbles("Au soleil."), done()],
        looked_up,
        [(False, True)],
        one("search_rag", query=" "),
        "query: it is blank. Say what you want to know, and call search_rag again.",
    ),
    "get_media": Row(
        [one("get_media", kind="paid"), bubbles("Oui."), done()],
        looked_up,
        [(False, True)],
        one("get_media", kind="paid", limit=21),
        "limit: Input should be less than or equal to 20. Correct the arguments and call get_media again.",
    ),
    "send_image": Row(
        [one("get_media", kind="free"), one("send_image", media_id="ph-1", caption="mon chat"), done()],
        kinds,
        [("image", "mon chat")],
        one("send_image", media_id="ph-9"),
        "media_id: get_media gave no 'ph-9' in this conversation. Call get_media with kind free, and use an id of its "
        "answer.",
    ),
    "send_payment": Row(
        [one("send_payment", media_ids=["v-1"], message="Rien que pour toi, 10 euros"), done()],
        kinds,
        [("payment", "Rien que pour toi, 10 euros")],
        one("send_payment", media_ids=["ph-1"]),
        "The media 'ph-1' is free, there is nothing to pay. Use send_image. The offer was not queued.",
    ),
}


def equipped(stack: Stack) -> Talk:
    talk = stack.organization()
    talk.call("POST", "/v1/apply", json={"resources": ON_THE_SHELF}, status=200)
    return talk


def told(body: str) -> list[str]:
    """The refusals among the tool results of a request."""
    messages = json.loads(body)["messages"]
    blocks = [block for message in messages if message["role"] == "user" for block in message["content"]]
    return [_text(block["content"]) for block in blocks if block["type"] == "tool_result" and block.get("is_error")]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_the_table_holds_every_tool() -> None:
    assert {tool.name for tool in TOOLS} == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
async def test_the_tool_does_what_it_is_for(stack: Stack, model: SimulatorControl, name: str) -> None:
    row, talk = TABLE[name], equipped(stack)
    await model.script(*row.works, match=talk.marker, task="reply")

    job = talk.ended(talk.say("salut")["job"], row.state, seconds=60)

    assert row.seen(talk, job) == row.expected


@pytest.mark.parametrize("name", TABLE)
async def test_a_refusal_tells_the_agent_what_was_wrong(stack: Stack, model: SimulatorControl, name: str) -> None:
    row, talk = TABLE[name], equipped(stack)
    await model.script(row.refused, bubbles("Bon."), done(), match=talk.marker, task="reply")

    job = talk.ended(talk.say("salut")["job"])

    refusals = [item["reason"] for item in job["trace"] if item.get("tool") == name and item["refused"]]
    assert (told((await heard(model, talk.marker))[1].body), refusals) == ([row.sentence], [row.sentence])
    assert talk.texts()[-1] == "Bon."
