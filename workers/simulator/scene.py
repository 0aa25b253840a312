"""What the scripted creator knows when it answers: read from the request, like any model would."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_STAMP = re.compile(r"^\s*\[\d{1,2}[:h]\d{2}\]\s*")
_NOT_CHAT = re.compile(r"^\s*[<\[{#]")
_LONGEST_CHAT_LINE = 1_500
_NOW = re.compile(r"^\s*<run_context>")
_WAITING = re.compile(r'<external_content type="message">\n(.*?)\n</external_content>', re.DOTALL)
_NAMED = (
    re.compile(r"(?im)^\W*(?:display[_ ]name|nom affiché|persona|name|nom|prénom)"
               r"[^\S\n]*[:=][^\S\n]*"
               r"([^\W\d_][\w' -]{0,40})"),
    re.compile(r"(?:[Yy]ou are|[Yy]ou play|[Tt]u es|[Vv]ous êtes|on behalf of|au nom de|pour le compte de) "
               r"([A-ZÀ-Ý][\w'-]+(?: [A-ZÀ-Ý][\w'-]+)?)"),
)  # fmt: skip
_FRENCH = re.compile(
    r"[àâçéèêëîïôùûœ]|\b(je|tu|toi|moi|est|et|le|la|les|un|une|des|pas|quoi|bien|merci|salut|coucou|bonjour|bonsoir|ça|ca|vas|nuit)\b",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"\b(the|you|your|is|are|and|what|how|my|hi|hello|hey|thanks|thank|good|night|do|it|not|i'm)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Scene:
    """`lines` are the contact's newest ones; `calls` this run's tool calls with whether each was accepted; `results`
    what this run's newest call of each tool was answered; `now` what the request says is true only now."""

    persona: str | None
    lines: tuple[str, ...]
    french: bool
    calls: tuple[tuple[str, bool], ...]
    said: str
    results: dict[str, str]
    now: str

    @property
    def text(self) -> str:
        return " ".join(self.lines)

    @property
    def asked(self) -> bool:
        return "?" in self.text

    def accepted(self, name: str) -> int:
        return sum(1 for called, ok in self.calls if called == name and ok)

    def refused(self, name: str) -> int:
        return sum(1 for called, ok in self.calls if called == name and not ok)


def read_scene(body: dict[str, Any]) -> Scene:
    system = "\n".join(_texts(body.get("system")))
    turns = [(message["role"], _blocks(message["content"])) for message in body["messages"]]
    newest, lines = _waiting_lines(turns) or _newest_lines(turns)
    return Scene(
        persona=_persona(system),
        lines=lines,
        french=_is_french(" ".join(lines), " ".join(_contact_texts(turns)), system),
        calls=tuple(_calls(turns[newest + 1 :])),
        said="\n".join(_strings(body["messages"])),
        results=_results(turns[newest + 1 :]),
        now="\n".join(text for role, blocks in turns[newest:] if role == "user" for text in _now(blocks)),
    )


def _waiting_lines(turns: list[tuple[str, list[dict[str, Any]]]]) -> tuple[int, tuple[str, ...]] | None:
    """Messages that the run's context says are not answered, wherever they stand among the turns."""
    for n, (role, blocks) in enumerate(turns):
        named = [found[1] for text in _now(blocks) if (found := _WAITING.search(text))]
        if role == "user" and named and (lines := _chat_lines(named[-1].split("\n"))):
            return n, lines
    return None


def _now(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["text"] for block in blocks if block["type"] == "text" and _NOW.match(block["text"])]


def _newest_lines(turns: list[tuple[str, list[dict[str, Any]]]]) -> tuple[int, tuple[str, ...]]:
    for n in reversed(range(len(turns))):
        role, blocks = turns[n]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        if role == "user" and (lines := _chat_lines(texts)):
            return n, lines
    return len(turns) - 1, ()


def _chat_lines(texts: list[str]) -> tuple[str, ...]:
    """A contact's lines carry the time; without any, what does not look like context is taken for chat."""
    stamped = [_STAMP.sub("", text) for text in texts if _STAMP.match(text)]
    plain = [text for text in texts if not _NOT_CHAT.match(text) and len(text) <= _LONGEST_CHAT_LINE]
    return tuple(stamped or plain)


def _calls(turns: list[tuple[str, list[dict[str, Any]]]]) -> Iterator[tuple[str, bool]]:
    blocks = [block for _, content in turns for block in content]
    failed = {b["tool_use_id"] for b in blocks if b["type"] == "tool_result" and b.get("is_error")}
    return ((b["name"], b["id"] not in failed) for b in blocks if b["type"] == "tool_use")


def _results(turns: list[tuple[str, list[dict[str, Any]]]]) -> dict[str, str]:
    blocks = [block for _, content in turns for block in content]
    names = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
    answered = [block for block in blocks if block["type"] == "tool_result" and block["tool_use_id"] in names]
    return {names[block["tool_use_id"]]: "\n".join(_strings(block.get("content"))) for block in answered}


@lru_cache(maxsize=256)
def _persona(system: str) -> str | None:
    for pattern in _NAMED:
        if found := pattern.search(system):
            return found[1].strip(" -'")
    return None


def _is_french(*texts: str) -> bool:
    """The first text that leans to one of the two languages decides: "ok" alone does not."""
    for text in texts:
        french, english = len(_FRENCH.findall(text)), len(_ENGLISH.findall(text))
        if french != english:
            return french > english
    return False


def _contact_texts(turns: list[tuple[str, list[dict[str, Any]]]]) -> Iterator[str]:
    for role, blocks in turns:
        if role == "user":
            yield from _chat_lines([block["text"] for block in blocks if block["type"] == "text"])


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(system: Any) -> list[str]:
    if system is None:
        return []
    return [system] if isinstance(system, str) else [block["text"] for block in system]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
