"""One call of the Messages API, from bytes to answer: what is checked, billed, said and broken, in order."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workers.simulator import answers, sse
from workers.simulator.cache import Charge
from workers.simulator.creator import improvise
from workers.simulator.delivery import Delivery
from workers.simulator.faults import ERRORS, Fault, FaultKind
from workers.simulator.gate import check_key, check_version
from workers.simulator.headers import common_headers, rate_limit_headers
from workers.simulator.journal import Seen
from workers.simulator.refusals import STATUS, ErrorType, Refused
from workers.simulator.schema_samples import asks_for_a_verdict
from workers.simulator.scripts import Script, Turn
from workers.simulator.state import Simulator
from workers.simulator.tokens import output_tokens
from workers.simulator.validation import check_request
from workers.simulator.wire import parse


class Failed(Exception):
    """The provider's own failure, as an error answer. Never billed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.kind)
        self.fault = fault
        # What would break a stream is an overload to a caller who asked for no stream.
        self.kind, self.sentence = ERRORS.get(fault.kind, ERRORS[FaultKind.OVERLOADED])
        self.status = STATUS[self.kind]
        self.error_code = "enforced_spend_limit_reached" if fault.kind is FaultKind.SPEND_CAP else None

    @property
    def headers(self) -> dict[str, str]:
        if self.fault.kind is FaultKind.RATE_LIMITED:
            return {"retry-after": f"{self.fault.retry_after:g}", "x-should-retry": "true"}
        return {"x-should-retry": "false" if self.fault.kind is FaultKind.SPEND_CAP else "true"}


class Exchange:
    """State of one call between its steps."""

    def __init__(self, simulator: Simulator, seen: Seen, request: Request) -> None:
        self._simulator = simulator
        self._seen = seen
        self._request = request

    async def run(self) -> Response:
        """Raises Refused (the API's answer to a wrong request) or Failed (a fault that was asked for)."""
        simulator, seen = self._simulator, self._seen
        workspace = check_key(self._request.headers, simulator.options.api_keys)
        version = check_version(self._request.headers)
        text, body = parse(await self._request.body())
        self._note(body)
        model = check_request(body, version)
        prompt = simulator.reader.read(text, body)
        if prompt.tokens > model.context:
            raise Refused(f"prompt is too long: {prompt.tokens} tokens > {model.context} maximum")

        fault = simulator.outages.take(seen.task or "", body["model"], text)
        await self._fail_if_error(fault)
        turn, script, own_fault = self._turn(text, body, fault)
        await self._fail_if_error(own_fault)
        fault = own_fault or fault

        charge = simulator.cache.begin(prompt, seen.at, workspace)
        answer = answers.within_limits(answers.compose(turn), body)
        if fault is not None:
            answer = answers.spoil(answer, fault.kind, body)
        message = self._bill(answer, charge, body)
        seen.script = script.id if script else None
        await asyncio.sleep(simulator.options.latency + turn.delay + (fault.delay if fault else 0.0))
        return self._deliver(message, charge, fault)

    def _note(self, body: dict[str, Any]) -> None:
        output = body.get("output_config")
        self._seen.task = task_of(output.get("format") if isinstance(output, dict) else None)
        self._seen.model = str(body.get("model"))
        self._seen.stream = body.get("stream") is True

    async def _fail_if_error(self, fault: Fault | None) -> None:
        if fault is None:
            return
        if fault.is_error or (fault.kind is FaultKind.STREAM_ERROR and not self._seen.stream):
            await asyncio.sleep(fault.delay)
            raise Failed(fault)

    def _turn(self, text: str, body: dict[str, Any], fault: Fault | None) -> tuple[Turn, Script | None, Fault | None]:
        """Turn, its script, its own fault. A fault from outside uses no turn up, except a slow one."""
        script = self._simulator.scripts.find(self._seen.task or "", text)
        turn = script.next_turn if script else None
        if script is None or turn is None:
            return improvise(body), None, None
        if fault is None or fault.kind is FaultKind.SLOW:
            script.used += 1
            return turn, script, turn.fault
        return turn, script, None

    def _bill(self, answer: answers.Answer, charge: Charge, body: dict[str, Any]) -> dict[str, Any]:
        usage = answers.usage_of(charge, output_tokens(list(answer.content)))
        message = answers.message(answer, body["model"], usage)
        self._seen.answer = message
        self._simulator.journal.billed(self._seen, usage)
        self._simulator.spend(body["model"], charge.total - charge.read, usage["output_tokens"])
        return message

    def _deliver(self, message: dict[str, Any], charge: Charge, fault: Fault | None) -> Response:
        simulator, seen = self._simulator, self._seen
        seen.status = 200
        if fault is not None:
            simulator.journal.failed(seen, 0 if fault.kind is FaultKind.CUT_BEFORE else 200, fault.kind)
        frames = list(sse.events(message)) if seen.stream else halves(answers.compact(message).encode())
        frames, cut_after = broken(frames, fault)
        headers = {
            **common_headers(seen.request_id),
            **rate_limit_headers(simulator, message["model"]),
            "content-type": "text/event-stream; charset=utf-8" if seen.stream else "application/json",
        }
        return Delivery(frames, headers, lambda: simulator.cache.answer_began(charge), cut_after)


def task_of(form: Any) -> str:
    """What a request seems to be for: the shape that it asks for says so."""
    if not isinstance(form, dict) or not form:
        return "reply"
    return "review" if asks_for_a_verdict(form.get("schema")) else "auxiliary"


def halves(body: bytes) -> list[bytes]:
    return [body[: len(body) // 2], body[len(body) // 2 :]]


def broken(frames: list[bytes], fault: Fault | None) -> tuple[list[bytes], int | None]:
    """The frames as the fault leaves them, and after how many the connection is cut."""
    match fault.kind if fault else None:
        case FaultKind.CUT_BEFORE:
            return frames, 0
        case FaultKind.CUT_BODY:
            return frames, len(frames) // 2
        case FaultKind.BAD_JSON:
            return [frame.replace(b"}", b")") for frame in frames], None
        case FaultKind.STREAM_ERROR:
            error = {"error": {"type": ErrorType.OVERLOADED, "message": "Overloaded"}}
            return [*frames[: len(frames) // 2], sse.frame("error", error)], None
        case _:
            return frames, None
