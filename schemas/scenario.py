"""What a cost scenario says, and what is worked out from it."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.llm import Usage


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ScenarioTokens(_Part):
    """Per message of a contact, `system` aside. A call before the last writes `tool_call`, reads `tool_result`."""

    system: int = Field(ge=0, le=1_000_000, description="Tools and system prompt: the same in every request.")
    message: int = Field(ge=1, le=100_000, description="What the contact writes.")
    context: int = Field(0, ge=0, le=100_000, description="What is true only now, and not kept for the next message.")
    tool_call: int = Field(0, ge=0, le=100_000)
    tool_result: int = Field(0, ge=0, le=100_000)
    reply: int = Field(ge=1, le=100_000, description="What the last call writes.")


class Scenario(_Part):
    name: str = Field(min_length=1, max_length=200)
    model: str
    plan: Literal["starter", "pro", "enterprise"] | None = Field(None, description="Its price gives the margin.")
    messages_per_month: int = Field(ge=1, le=100_000_000)
    turns_per_conversation: int = Field(5, ge=1, le=200)
    calls_per_message: int = Field(1, ge=1, le=50)
    gap_seconds: float = Field(60, ge=0, le=2_592_000, description="Between the messages of a conversation.")
    hours_a_day: float = Field(24, gt=0, le=24, description="When conversations begin, evenly spread.")
    window: int = Field(15, ge=1, le=200, description="Messages kept; cut back to it when there are twice as many.")
    keeps_history: bool = Field(True, description="Off: each message is read alone.")
    caching: bool = True
    assume_cached_share: float | None = Field(
        None, ge=0, le=1, description="Share of the input taken for cached; shown beside what the rules give."
    )
    tokens: ScenarioTokens


@dataclass(frozen=True, slots=True)
class Month:
    """What the model calls of a month read, write and cost, in US dollars."""

    requests: int
    usage: Usage
    usd: Decimal

    @property
    def cached_share(self) -> float:
        total = self.usage.total_input
        return self.usage.cache_read / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Simulated:
    """`minimum`: tokens from which the model caches. `longest`: tokens of the longest request."""

    conversations: int
    minimum: int
    longest: int
    by_rules: Month
    assumed: Month | None
