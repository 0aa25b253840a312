"""Answers nobody scripted: a small creator who notes a plan, writes a line or two, and ends the turn.

Everything is chosen by a hash of what the contact wrote, so the same conversation always goes the same way.
"""

import hashlib
import json
import re
from typing import Any

from workers.simulator import creator_media
from workers.simulator.creator_lines import FOLLOW_UPS_ENGLISH, FOLLOW_UPS_FRENCH, TOPICS, Topic
from workers.simulator.scene import Scene, read_scene
from workers.simulator.schema_samples import asks_for_a_verdict, sample
from workers.simulator.scripts import Turn

MAX_REFUSALS = 3
PLAN, SEND, SPEAK = "set_plan", "send_message", "send_vocal"
_WANTS_TO_HEAR = re.compile(
    r"\b(vocale?|vocaux|ta voix|t'entendre|your voice|hear you|voice (note|message))\b", re.IGNORECASE
)
_SOFT_OPENERS = {
    True: ("Dis-moi, ", "Au fait, ", "Tiens, "),
    False: ("So tell me, ", "By the way, ", "Say, "),
}


def improvise(body: dict[str, Any]) -> Turn:
    """The next turn for a request that no script answers."""
    wanted = (body.get("output_config") or {}).get("format")
    if wanted:
        return Turn(text=_structured(wanted["schema"], body))
    scene = read_scene(body)
    tools = {tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or []}
    choice = body.get("tool_choice") or {"type": "auto"}
    if choice["type"] == "none":
        tools = {}
    if choice["type"] == "tool":
        return Turn(calls=(_call(choice["name"], tools[choice["name"]], scene),))
    if SEND in tools:
        return _write(scene, tools, alone=bool(choice.get("disable_parallel_tool_use")))
    return Turn(text=_summary(scene) if not body.get("tools") else _reply(scene))


def _write(scene: Scene, tools: dict[str, dict[str, Any]], *, alone: bool) -> Turn:
    """First a plan and a line; a second line when the contact asked something; then the end. Who asks to hear a voice
    hears the first line; who asks for a photo or a purchase gets it first, when there is one."""
    sent = _written(scene)
    calls = []
    if PLAN in tools and not scene.accepted(PLAN) and not scene.refused(PLAN) and sent == 0:
        calls.append(_call(PLAN, tools[PLAN], scene))
    if (handed := _handed_over(scene, tools)) is not None:
        calls.append(handed)
    elif scene.refused(SEND) < MAX_REFUSALS and sent < _wanted_lines(scene):
        name = SPEAK if sent == 0 and _to_be_heard(scene, tools) else SEND
        calls.append(_call(name, tools[name], scene))
    if not calls:
        return Turn(text="Réponse prête." if scene.french else "The reply is ready.")
    return Turn(calls=tuple(calls[:1] if alone else calls))


def _handed_over(scene: Scene, tools: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """The next step towards what the contact wants to see or buy; None when there is none, or it has been taken."""
    wish = creator_media.wish_of(scene, tools)
    if wish is None or scene.accepted(wish.tool):
        return None
    if not scene.accepted(creator_media.LOOK):
        return creator_media.looking(wish, scene)
    media = creator_media.first_found(scene)
    return None if media is None else creator_media.handing_over(wish, media, scene)


def _to_be_heard(scene: Scene, tools: dict[str, dict[str, Any]]) -> bool:
    return SPEAK in tools and not scene.refused(SPEAK) and _WANTS_TO_HEAR.search(scene.text) is not None


def _written(scene: Scene) -> int:
    return sum(scene.accepted(name) for name in (SEND, SPEAK, *creator_media.TOOLS))


def _wanted_lines(scene: Scene) -> int:
    """Who asks gets a question back; who asks for the truth gets the truth alone."""
    return 2 if scene.asked and _topic(scene) is not Topic.IDENTITY else 1


def _call(name: str, schema: dict[str, Any], scene: Scene) -> dict[str, Any]:
    """Arguments that fit the schema; `text` and `plan` are ours, other required ones the smallest value."""
    members = schema.get("properties") or {}
    arguments = sample(schema) or {}
    if "text" in members:
        arguments["text"] = _fitting(_reply(scene), members["text"])
    if "plan" in members:
        arguments["plan"] = _fitting(_plan(scene), members["plan"])
    return {"name": name, "input": arguments}


def _fitting(text: str, schema: dict[str, Any]) -> str:
    return text[: int(schema.get("maxLength", len(text)))]


def _reply(scene: Scene) -> str:
    """A line that does not stand in the request yet."""
    follow_ups = FOLLOW_UPS_FRENCH if scene.french else FOLLOW_UPS_ENGLISH
    own = _lines(_topic(scene), scene)
    other = _lines(Topic.OTHER, scene)
    first, second = (follow_ups, own) if _written(scene) else (own, follow_ups)
    for lines in (first, second, other, _softened(follow_ups, scene), _softened(other, scene)):
        fresh = [line for line in _turned(lines, scene.text) if line not in scene.said]
        if fresh:
            # After a refusal a shorter line has better chances.
            return min(fresh, key=len) if scene.refused(SEND) else fresh[0]
    pairs = [f"{line} {question}" for line in own for question in follow_ups]
    return next((pair for pair in pairs if pair not in scene.said), pairs[0])


def _softened(lines: tuple[str, ...], scene: Scene) -> tuple[str, ...]:
    return tuple(o + line[0].lower() + line[1:] for o in _SOFT_OPENERS[scene.french] for line in lines)


def _topic(scene: Scene) -> Topic:
    text = scene.text.lower()
    return next((t for t, lines in TOPICS.items() if lines.words and re.search(lines.words, text)), Topic.OTHER)


def _lines(topic: Topic, scene: Scene) -> tuple[str, ...]:
    lines = TOPICS[topic].french if scene.french else TOPICS[topic].english
    name = scene.persona or ("la créatrice" if scene.french else "the creator")
    return tuple(line.format(name=name) for line in lines)


def _turned(lines: tuple[str, ...], text: str) -> tuple[str, ...]:
    start = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % len(lines)
    return lines[start:] + lines[:start]


def _topic_name(scene: Scene) -> str:
    topic = _topic(scene)
    return TOPICS[topic].french_name if scene.french else topic.replace("_", " ")


def _plan(scene: Scene) -> str:
    topic = _topic_name(scene)
    if scene.french:
        return f"Répondre avec chaleur ({topic}), puis relancer par une question ouverte."
    return f"Answer warmly ({topic}), then ask one open question."


def _summary(scene: Scene) -> str:
    topic = _topic_name(scene)
    if scene.french:
        return f"Échange amical, ton détendu. Dernier sujet : {topic}. Rien n'a été promis."
    return f"A friendly exchange in a relaxed tone. Latest topic: {topic}. Nothing was promised."


def _structured(schema: dict[str, Any], body: dict[str, Any]) -> str:
    """A clean review; messages to be sent are lines of the creator; all else is the smallest value that fits."""
    if asks_for_a_verdict(schema):
        return json.dumps({"verdict": "ok", "issues": []}, separators=(",", ":"))
    value = sample(schema)
    if isinstance(value, dict) and "messages" in value:
        value["messages"] = [_reply(read_scene(body))]
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
