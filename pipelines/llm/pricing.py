"""What a call cost, and what must be set aside before it."""

import json
from dataclasses import dataclass

from pipelines.ports import PriceTable
from schemas.agent import Kept
from schemas.ids import CallId
from schemas.llm import Model, ModelAnswer, ModelRequest, Raw, Reservation, SettledCall, Task, Text, ToolResult, Usage
from schemas.resources import Budgets

BYTES_PER_TOKEN = 3
"""Lower than what any tokenizer averages on European text, so that the estimate is high rather than low."""

GROWTH = 2_000
"""Tokens allowed for what the tools of a turn add to the next request, before they have run."""


@dataclass(frozen=True, slots=True)
class Purse:
    """Turns tokens into money for one run's calls."""

    prices: PriceTable
    max_tokens: int

    def reserve(self, call: CallId, task: Task, model: Model, tokens: int) -> Reservation:
        """The most a call of about `tokens` can cost: all input written to the dearest cache, all output used."""
        worst = Usage(cache_write_1h=tokens, output=self.max_tokens)
        return Reservation(call, task, model, self.prices.cost(model, worst))

    def settle(self, call: CallId, task: Task, answer: ModelAnswer) -> SettledCall:
        cost = self.prices.cost(answer.model, answer.usage)
        return SettledCall(
            call,
            task,
            answer.model,
            "ok",
            answer.usage,
            cost,
            answer.latency_ms,
            answer.request_id,
        )


def over_budget(kept: Kept, budgets: Budgets, held: Reservation) -> str:
    """Why a call is not made, in a sentence."""
    scope = {Kept.OVER_RUN: "run", Kept.OVER_CONVERSATION: "conversation", Kept.OVER_MONTH: "month"}[kept]
    budget = getattr(budgets, f"per_{scope}")
    most = "an unknown sum" if held.cost_usd is None else f"up to {held.cost_usd:.6f} $"
    return f"budgets.per_{scope} ({budget} $) has no room for the next call of task {held.task}, which may cost {most}"


def estimate(request: ModelRequest) -> int:
    """Input tokens of a request, roughly and rather too many."""
    size = sum(len(block.text.encode()) for block in request.system)
    size += sum(len(json.dumps([tool.description, tool.schema])) for tool in request.tools)
    for message in request.messages:
        for block in message.blocks:
            size += _size(block.text if isinstance(block, Text | ToolResult) else _json(block))
    return size // BYTES_PER_TOKEN + 1


def after(answer: ModelAnswer) -> int:
    """The same for the request that follows an answer."""
    return answer.usage.total_input + answer.usage.output + GROWTH


def _json(block: object) -> str:
    return json.dumps(block.block if isinstance(block, Raw) else getattr(block, "input", None), ensure_ascii=False)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
