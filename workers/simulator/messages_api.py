"""The Messages dialect: `/v1/messages`, its token count, and `/v1/models`."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from workers.simulator.answers import new_id
from workers.simulator.cache import breakpoints
from workers.simulator.exchange import Exchange, Failed
from workers.simulator.gate import check_key, check_version
from workers.simulator.headers import common_headers
from workers.simulator.journal import Seen, without_secrets
from workers.simulator.models import MODELS, Model, find_model
from workers.simulator.refusals import ErrorType, Refused, error_body
from workers.simulator.state import Simulator
from workers.simulator.validation import check_request
from workers.simulator.wire import MAX_REQUEST_BYTES, TOO_LARGE, parse

Endpoint = Callable[[Request, Seen], Awaitable[Response]]


def messages_routes(simulator: Simulator) -> list[Route]:
    async def create(request: Request, seen: Seen) -> Response:
        return await Exchange(simulator, seen, request).run()

    async def count(request: Request, seen: Seen) -> Response:
        check_key(request.headers, simulator.options.api_keys)
        version = check_version(request.headers)
        text, body = parse(await request.body())
        check_request(body, version, counting=True)
        prompt = simulator.reader.read(text, body)
        breakpoints(prompt)
        seen.status, seen.answer = 200, {"input_tokens": prompt.tokens}
        return JSONResponse(seen.answer, headers=common_headers(seen.request_id))

    async def models(request: Request, seen: Seen) -> Response:
        check_key(request.headers, simulator.options.api_keys)
        seen.status = 200
        return JSONResponse(_models_answer(request), headers=common_headers(seen.request_id))

    def journaled(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def call(request: Request) -> Response:
            return await _answered(simulator, endpoint, request)

        return call

    return [
        Route("/v1/messages", journaled(create), methods=["POST"]),
        Route("/v1/messages/count_tokens", journaled(count), methods=["POST"]),
        Route("/v1/models", journaled(models)),
        Route("/v1/models/{id}", journaled(models)),
    ]


async def _answered(simulator: Simulator, endpoint: Endpoint, request: Request) -> Response:
    """Journal first, so that what follows is on record however it ends."""
    seen = await _open(simulator, request)
    headers = common_headers(seen.request_id)
    try:
        if _too_large(request):
            raise Refused(TOO_LARGE, ErrorType.TOO_LARGE)
        return await endpoint(request, seen)
    except Refused as refused:
        simulator.journal.refused(seen, refused.status, refused.sentence)
        body = error_body(refused.kind, refused.sentence, seen.request_id)
        return JSONResponse(body, refused.status, {**headers, "x-should-retry": "false"})
    except Failed as failed:
        simulator.journal.failed(seen, failed.status, failed.fault.kind)
        body = error_body(failed.kind, failed.sentence, seen.request_id, failed.error_code)
        return JSONResponse(body, failed.status, {**headers, **failed.headers})


async def _open(simulator: Simulator, request: Request) -> Seen:
    at = simulator.clock.now()
    raw = b"" if _too_large(request) else await request.body()
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


def _too_large(request: Request) -> bool:
    """By the declared length, so that the body need not be read."""
    return int(request.headers.get("content-length", "0")) > MAX_REQUEST_BYTES


def _models_answer(request: Request) -> dict[str, object]:
    wanted = request.path_params.get("id")
    if wanted is None:
        rows = [_model_row(model) for model in MODELS.values()]
        return {"data": rows, "has_more": False, "first_id": rows[0]["id"], "last_id": rows[-1]["id"]}
    if (model := find_model(wanted)) is None:
        raise Refused(f"model: {wanted}", ErrorType.NOT_FOUND)
    return _model_row(model)


def _model_row(model: Model) -> dict[str, object]:
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.display_name,
        "created_at": f"{model.released}T00:00:00Z",
        "max_input_tokens": model.context,
        "max_tokens": model.max_output,
    }
