"""What goes to a model and what comes back, whoever the provider is, and what it cost."""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from schemas.ids import CallId


class Task(StrEnum):
    """What a call is for. A task picks its route; adding one is a name here and a route in the settings."""

    REPLY = "reply"
    REPLY_STRONG = "reply_strong"
    REVIEW = "review"
    CONCIERGE = "concierge"
    CONCIERGE_STRONG = "concierge_strong"
    ASSISTANT = "assistant"
    AUXILIARY = "auxiliary"
    PARSE = "parse"
    DRAFT = "draft"
    BULK = "bulk"
    EMBEDDINGS = "embeddings"


WRITES = frozenset({Task.REPLY, Task.REPLY_STRONG})
"""Tasks of the agent that writes replies. A run keeps the one that it began with."""


class Stop(StrEnum):
    """Why the model stopped, in our words."""

    END = "end"
    TOOLS = "tools"
    CUT = "cut"
    REFUSED = "refused"


class Ttl(StrEnum):
    FIVE_MINUTES = "5m"
    ONE_HOUR = "1h"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `input` is what was read at full price, beside cache reads and writes."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_1h

    @property
    def total_input(self) -> int:
        return self.input + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True)
class Model:
    """One model behind one provider, e.g. `anthropic:claude-haiku-5-5`."""

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


@dataclass(frozen=True, slots=True)
class Text:
    """`cache` marks this block as a breakpoint of that lifetime."""

    text: str
    cache: Ttl | None = None


@dataclass(frozen=True, slots=True)
class ToolUse:
    id: str
    name: str
    input: dict[str, Any]
    cache: Ttl | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    tool_use_id: str
    text: str
    is_error: bool = False
    cache: Ttl | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """A provider's own block, sent back exactly as it was received (signed thinking needs it).

    `by` is the model that wrote it; another provider's model is told it in neutral words. None: whoever is asked."""

    block: dict[str, Any]
    cache: Ttl | None = None
    by: Model | None = None


Block = Text | ToolUse | ToolResult | Raw


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    """`user` or `assistant`."""
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. `schema` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. Everything that changes the bytes on the wire is here, so that equal requests are equal bytes."""

    call: CallId
    task: Task
    model: Model
    system: tuple[Text, ...]
    messages: tuple[Message, ...]
    max_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    output_schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """`content` is the provider's blocks as received, ready to be sent back byte for byte."""

    content: tuple[dict[str, Any], ...]
    text: str
    calls: tuple[ToolCall, ...]
    stop: Stop
    usage: Usage
    model: Model
    request_id: str | None = None
    latency_ms: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """Money set aside before a call: what it may cost if its answer is never heard."""

    call: CallId
    task: Task
    model: Model
    cost_usd: Decimal | None
    """None: the model has no known price; shown as unpriced, never as 0."""


@dataclass(frozen=True, slots=True)
class SettledCall:
    """What one HTTP attempt turned out to be. `outcome` is `ok` or a `FailureKind`.

    `unknown` says that the answer was lost after the request was out: the reservation is then the cost.
    """

    call: CallId
    task: Task
    model: Model
    outcome: str
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = Decimal(0)
    latency_ms: int = 0
    request_id: str | None = None
    unknown: bool = False
