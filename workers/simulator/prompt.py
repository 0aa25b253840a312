"""A request as the cache sees it: tools, system, messages, each block keyed by its bytes as sent."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workers.simulator.spans import Part, array_parts, object_parts
from workers.simulator.tokens import block_tokens

MEMO_BLOCKS = 50_000


class Tier(StrEnum):
    """A change in one tier loses the cache of that tier and of those after it."""

    TOOLS = "tools"
    SYSTEM = "system"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Block:
    """One cacheable unit. `ttl` is its marker's ("5m", "1h") or None; `run` groups positions."""

    tier: Tier
    digest: bytes
    tokens: int
    ttl: str | None
    run: str | None
    markable: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """All blocks, what else each tier's cache depends on, and the TTL of automatic caching (None: off)."""

    model: str
    blocks: tuple[Block, ...]
    salts: dict[Tier, str]
    automatic_ttl: str | None

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)


class PromptReader:
    """Turns request texts into prompts; a block that was seen before is neither parsed nor hashed again."""

    def __init__(self) -> None:
        self._memo: dict[tuple[str, str], tuple[Block, ...]] = {}

    def read(self, text: str, body: dict[str, Any]) -> Prompt:
        parts = {part.name: part for part in object_parts(text)}
        blocks = [
            *self._tier(text, parts.get("tools"), Tier.TOOLS),
            *self._tier(text, parts.get("system"), Tier.SYSTEM),
            *self._tier(text, parts.get("messages"), Tier.MESSAGES),
        ]
        automatic = body.get("cache_control")
        return Prompt(
            body["model"], tuple(blocks), _salts(text, body), _ttl(automatic) if automatic else None
        )

    def _tier(self, text: str, part: Part | None, tier: Tier) -> Iterator[Block]:
        if part is None or not part.value:
            return
        if isinstance(part.value, str):
            yield _text_block(tier, "", text[part.start : part.end], part.value)
            return
        for item in array_parts(text, part.start):
            yield from self._remembered(tier, text[item.start : item.end])

    def _remembered(self, tier: Tier, piece: str) -> tuple[Block, ...]:
        key = (tier, piece)
        if (known := self._memo.get(key)) is not None:
            return known
        if len(self._memo) >= MEMO_BLOCKS:
            self._memo.clear()
        blocks = tuple(_message(piece)) if tier is Tier.MESSAGES else tuple(_blocks(tier, "", piece))
        self._memo[key] = blocks
        return blocks


def _message(piece: str) -> Iterator[Block]:
    members = {part.name: part for part in object_parts(piece)}
    role, content = members["role"].value, members["content"]
    if isinstance(content.value, str):
        yield _text_block(Tier.MESSAGES, role, piece[content.start : content.end], content.value)
        return
    for item in array_parts(piece, content.start):
        yield from _blocks(Tier.MESSAGES, role, piece[item.start : item.end])


def _blocks(tier: Tier, role: str, piece: str) -> Iterator[Block]:
    """One block, its marker not part of its key; none for a deferred tool, which is not in the prefix."""
    members = list(object_parts(piece))
    block = {part.name: part.value for part in members}
    if block.get("defer_loading"):
        return
    sent = ",".join(piece[part.named_at : part.end] for part in members if part.name != "cache_control")
    marker, kind = block.get("cache_control"), block.get("type")
    yield Block(
        tier=tier,
        digest=_digest(tier, role, sent),
        tokens=block_tokens(block),
        ttl=_ttl(marker) if marker else None,
        run=kind if tier is Tier.MESSAGES and kind in ("tool_use", "tool_result") else None,
        markable=kind not in ("thinking", "redacted_thinking") and (kind != "text" or bool(block.get("text"))),
    )


def _text_block(tier: Tier, role: str, quoted: str, text: str) -> Block:
    """A plain string is the same prompt as the one text block it stands for."""
    sent = f'"type":"text","text":{quoted}'
    return Block(tier, _digest(tier, role, sent), block_tokens({"text": text}), None, None, bool(text))


def _digest(tier: Tier, role: str, sent: str) -> bytes:
    return hashlib.sha256(f"{tier}\0{role}\0{sent}".encode()).digest()


def _ttl(marker: dict[str, Any]) -> str:
    return str(marker.get("ttl") or "5m")


def _salts(text: str, body: dict[str, Any]) -> dict[Tier, str]:
    output = body.get("output_config") or {}
    tools = body.get("tools") or []
    web = [t["type"] for t in tools if str(t.get("type", "")).startswith(("web_search", "web_fetch"))]
    choice = body.get("tool_choice") or {"type": "auto"}
    thinking = [body.get("thinking"), output.get("effort"), output.get("format")]
    return {
        Tier.TOOLS: body["model"],
        Tier.SYSTEM: json.dumps([body.get("speed"), sorted(web)]),
        Tier.MESSAGES: json.dumps([choice, thinking, '"image"' in text and _has_image(body["messages"])]),
    }


def _has_image(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_image(item) for item in value)
    if not isinstance(value, dict):
        return False
    return value.get("type") == "image" or _has_image(value.get("content"))
