"""One chat completion, from bytes to answer: what is checked, billed, said and broken, in order."""

import asyncio
import json
import uuid
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workers.simulator import answers
from workers.simulator.creator import improvise
from workers.simulator.delivery import Delivery
from workers.simulator.exchange import broken, halves, task_of
from workers.simulator.faults import Fault, FaultKind
from workers.simulator.journal import Seen
from workers.simulator.openai.cache import AutomaticCache, Bill
from workers.simulator.openai.refusals import ChatFailed, ChatRefused
from workers.simulator.openai.translated import as_messages
from workers.simulator.openai.validation import check_chat
from workers.simulator.scripts import Script, Turn
from workers.simulator.state import Simulator
from workers.simulator.tokens import output_tokens

_STOPS = {"tool_use": "tool_calls", "max_tokens": "length"}
REFUSAL = "I'm sorry, but I can't help with that."


class ChatExchange:
    """State of one call between its steps. `key` is the account."""

    def __init__(self, simulator: Simulator, cache: AutomaticCache, seen: Seen, request: Request, key: str) -> None:
        self._simulator = simulator
        self._cache = cache
        self._seen = seen
        self._request = request
        self._key = key

    async def run(self, body: dict[str, Any]) -> Response:
        """Raises ChatRefused or ChatFailed."""
        simulator, seen = self._simulator, self._seen
        seen.model = str(body.get("model"))
        model = check_chat(body)
        wanted = body.get("max_completion_tokens") or body.get("max_tokens") or model.max_output
        asked = as_messages(body, wanted)
        seen.task = task_of((asked.get("output_config") or {}).get("format"))
        text = json.dumps(body["messages"], ensure_ascii=False)

        fault = simulator.outages.take(seen.task, model.id, text)
        await _fail_if_error(fault)
        turn, script, own_fault = self._turn(text, asked, fault)
        await _fail_if_error(own_fault)
        fault = own_fault or fault

        bill = self._cache.bill(body, model, self._key, seen.at)
        if bill.total > model.context:
            raise ChatRefused("This model's maximum context length is exceeded.", "messages", "context_length_exceeded")
        answer = answers.within_limits(answers.compose(turn), asked)
        if fault is not None:
            answer = answers.spoil(answer, fault.kind, asked)
        completion = self._bill(answer, bill, model.id)
        seen.script = script.id if script else None
        await asyncio.sleep(simulator.options.latency + turn.delay + (fault.delay if fault else 0.0))
        return self._deliver(completion, fault)

    def _turn(self, text: str, asked: dict[str, Any], fault: Fault | None) -> tuple[Turn, Script | None, Fault | None]:
        """As the other dialect: a fault from outside uses no turn up, except a slow one."""
        script = self._simulator.scripts.find(self._seen.task or "", text)
        turn = script.next_turn if script else None
        if script is None or turn is None:
            return improvise(asked), None, None
        if fault is None or fault.kind is FaultKind.SLOW:
            script.used += 1
            return turn, script, turn.fault
        return turn, script, None

    def _bill(self, answer: answers.Answer, bill: Bill, model: str) -> dict[str, Any]:
        written = output_tokens(list(answer.content))
        usage = {
            "prompt_tokens": bill.total,
            "completion_tokens": written,
            "total_tokens": bill.total + written,
            "prompt_tokens_details": {"cached_tokens": bill.cached, "cache_write_tokens": bill.written},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }
        completion = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(self._simulator.clock.stamp().timestamp()),
            "model": model,
            "choices": [_choice(answer)],
            "usage": usage,
        }
        self._seen.answer = completion
        self._simulator.journal.billed(self._seen, {**usage, **as_billed(usage)})
        self._simulator.spend(model, bill.total - bill.cached, written)
        return completion

    def _deliver(self, completion: dict[str, Any], fault: Fault | None) -> Response:
        self._seen.status = 200
        if fault is not None:
            status = 0 if fault.kind is FaultKind.CUT_BEFORE else 200
            self._simulator.journal.failed(self._seen, status, fault.kind)
        frames, cut_after = broken(halves(answers.compact(completion).encode()), fault)
        headers = {"x-request-id": self._seen.request_id, "content-type": "application/json"}
        return Delivery(frames, headers, lambda: None, cut_after)


async def _fail_if_error(fault: Fault | None) -> None:
    if fault is not None and (fault.is_error or fault.kind is FaultKind.STREAM_ERROR):
        await asyncio.sleep(fault.delay)
        raise ChatFailed(fault)


def as_billed(usage: dict[str, Any]) -> dict[str, Any]:
    """The same tokens under the names that the journal adds up."""
    details = usage.get("prompt_tokens_details") or {}
    cached, written = details.get("cached_tokens", 0), details.get("cache_write_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"] - cached - written,
        "cache_read_input_tokens": cached,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.get("completion_tokens", 0),
    }


def _choice(answer: answers.Answer) -> dict[str, Any]:
    texts = [block["text"] for block in answer.content if block.get("type") == "text"]
    message: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts) or None, "refusal": None}
    if calls := [_call(block) for block in answer.content if block.get("type") == "tool_use"]:
        message["tool_calls"] = calls
    if answer.stop == "refusal":
        message["refusal"] = REFUSAL
    return {"index": 0, "message": message, "logprobs": None, "finish_reason": _STOPS.get(answer.stop, "stop")}


def _call(block: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
    function = {"name": block["name"], "arguments": arguments}
    return {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": function}
