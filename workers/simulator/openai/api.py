"""Routes of this dialect: each request is on record however it ends."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from workers.simulator.answers import new_id
from workers.simulator.delivery import Delivery
from workers.simulator.exchange import broken, halves
from workers.simulator.faults import FaultKind
from workers.simulator.journal import Seen, without_secrets
from workers.simulator.openai.cache import AutomaticCache
from workers.simulator.openai.embeddings import embedded
from workers.simulator.openai.exchange import ChatExchange, as_billed
from workers.simulator.openai.refusals import ChatFailed, ChatRefused
from workers.simulator.refusals import Refused
from workers.simulator.state import Simulator
from workers.simulator.wire import parse


def openai_routes(simulator: Simulator) -> list[Route]:
    cache = AutomaticCache()
    simulator.also_cleared.append(cache.clear)

    async def chat(request: Request) -> Response:
        seen = await _open(simulator, request)

        async def answer(key: str, body: dict[str, Any]) -> Response:
            return await ChatExchange(simulator, cache, seen, request, key).run(body)

        return await _answered(simulator, seen, request, answer)

    async def embeddings(request: Request) -> Response:
        seen = await _open(simulator, request)

        async def answer(key: str, body: dict[str, Any]) -> Response:
            return _embeddings(simulator, seen, body)

        return await _answered(simulator, seen, request, answer)

    return [
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/embeddings", embeddings, methods=["POST"]),
    ]


def _embeddings(simulator: Simulator, seen: Seen, body: dict[str, Any]) -> Response:
    seen.task, seen.model = "embeddings", str(body.get("model"))
    fault = simulator.outages.take(seen.task, seen.model, seen.body)
    if fault is not None and fault.is_error:
        raise ChatFailed(fault)
    found = embedded(body)
    seen.status, usage = 200, found["usage"]
    simulator.journal.billed(seen, {**usage, **as_billed(usage)})
    if fault is not None:
        simulator.journal.failed(seen, 0 if fault.kind is FaultKind.CUT_BEFORE else 200, fault.kind)
    response = JSONResponse(found)
    frames, cut_after = broken(halves(bytes(response.body)), fault)
    headers = {"x-request-id": seen.request_id, "content-type": "application/json"}
    return Delivery(frames, headers, lambda: None, cut_after)


async def _open(simulator: Simulator, request: Request) -> Seen:
    at = simulator.clock.now()
    raw = await request.body()
    return simulator.journal.open(
        Seen(
            n=simulator.journal.next_number(),
            request_id=new_id("req"),
            at=at,
            time=simulator.clock.stamp(at).isoformat(),
            path=request.url.path,
            headers=without_secrets(request.headers.items()),
            body=raw.decode("utf-8", "backslashreplace"),
        )
    )


async def _answered(simulator: Simulator, seen: Seen, request: Request, answer: Any) -> Response:
    headers = {"x-request-id": seen.request_id}
    try:
        key = _key(simulator, request)
        try:
            _, body = parse(await request.body())
        except Refused as refused:
            raise ChatRefused(refused.sentence, None, None, refused.status) from refused
        response: Response = await answer(key, body)
        return response
    except ChatRefused as refused:
        simulator.journal.refused(seen, refused.status, refused.sentence)
        return JSONResponse(refused.body, refused.status, headers)
    except ChatFailed as failed:
        simulator.journal.failed(seen, failed.status, failed.fault.kind)
        return JSONResponse(failed.body, failed.status, {**headers, **failed.headers})


def _key(simulator: Simulator, request: Request) -> str:
    bearer = request.headers.get("authorization", "")
    key = bearer.removeprefix("Bearer ").strip()
    accepted = simulator.options.api_keys
    if not bearer.startswith("Bearer ") or not key or (accepted and key not in accepted):
        raise ChatRefused("Incorrect API key provided.", None, "invalid_api_key", 401)
    return key
