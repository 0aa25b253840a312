"""When the scripted creator shows or sells something: it looks first, and takes what the lookup put in front."""

import re
from dataclasses import dataclass
from typing import Any

from workers.simulator.scene import Scene

LOOK = "get_media"
_BUY = re.compile(r"\b(achet\w*|vends?|vendre|payante?s?|buy|sell|paid|for sale)\b", re.IGNORECASE)
_SEE = re.compile(r"\b(photos?|selfies?|une image|montre[- ]moi|pictures?|pics?|show me)\b", re.IGNORECASE)
_REQUIRED = re.compile(r"^- Before you end your turn, use: (.*)$", re.MULTILINE)
_FOUND = re.compile(r'"id": "([^"]+)"')
_LONGEST_QUERY = 200


@dataclass(frozen=True, slots=True)
class Wish:
    """`shelf` as the lookup calls it, the tool that hands over what it finds, and what is written beside it."""

    shelf: str
    tool: str
    french: tuple[str, ...]
    english: tuple[str, ...]


SEE = Wish(
    "free",
    "send_image",
    ("Celle-ci, je l'aime bien.", "Je pense qu'elle est pour toi.", "Un petit bout de mon monde."),
    ("I am fond of this one.", "I think this one is for you.", "A little piece of my world."),
)
BUY = Wish(
    "paid",
    "send_payment",
    ("C'est par ici, si le cœur t'en dit.", "Si tu en as envie, c'est là.", "À toi de voir, sans pression."),
    ("Right here, if you feel like it.", "If you fancy it, here you go.", "Up to you, no pressure."),
)
TOOLS = frozenset({SEE.tool, BUY.tool})


def wish_of(scene: Scene, tools: dict[str, Any]) -> Wish | None:
    """What the contact wants to see or to buy, or what the context says that this reply needs; None without the tools,
    and after a refusal."""
    needed = " ".join(_REQUIRED.findall(scene.now))
    for wish, words in ((BUY, _BUY), (SEE, _SEE)):
        asked = words.search(scene.text) is not None or wish.tool in needed
        if asked and {LOOK, wish.tool} <= tools.keys() and not scene.refused(wish.tool) and not scene.refused(LOOK):
            return wish
    return None


def first_found(scene: Scene) -> str | None:
    """The id that the newest lookup of this run put first; None when it found nothing, or there was none."""
    found = _FOUND.search(scene.results.get(LOOK, ""))
    return None if found is None else found[1]


def looking(wish: Wish, scene: Scene) -> dict[str, Any]:
    return {"name": LOOK, "input": {"kind": wish.shelf, "query": scene.text[:_LONGEST_QUERY]}}


def handing_over(wish: Wish, media: str, scene: Scene) -> dict[str, Any]:
    lines = wish.french if scene.french else wish.english
    words = next((line for line in lines if line not in scene.said), None)
    if wish is BUY:
        return {"name": wish.tool, "input": {"media_ids": [media]} | ({"message": words} if words else {})}
    return {"name": wish.tool, "input": {"media_id": media} | ({"caption": words} if words else {})}
