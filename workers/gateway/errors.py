"""Failures as HTTP answers: RFC 9457 problems, whatever went wrong."""

import json
import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from schemas.errors import CODES, AppError, Code, Invalid
from schemas.manifest import KINDS

PROBLEM = "application/problem+json"
_KIND_TAGS = frozenset(KINDS)
_OF_STATUS = {404: Code.GONE, 405: Code.METHOD, 413: Code.TOO_LARGE, 415: Code.MEDIA_TYPE}


def problem(
    code: Code, status: int, detail: str, request_id: str, facts: dict[str, Any], headers: dict[str, str] | None = None
) -> Response:
    """`facts` become members beside those of the RFC; `retry_after` also becomes the header, in whole seconds."""
    body = {
        "type": f"urn:replique:{code.value}",
        "title": CODES[code].of_http,
        "status": status,
        "detail": detail,
        "code": code.value,
        "request_id": request_id,
        **facts,
    }
    headers = dict(headers or {})
    if (wait := facts.get("retry_after")) is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(json.dumps(body, default=_plain), status, headers, PROBLEM)


def of_app_error(error: AppError, request_id: str) -> Response:
    facts = error.facts if error.title is None else {**error.facts, "title": error.title}
    return problem(error.code, error.http_status, error.sentence, request_id, facts)


def of_fault(request_id: str) -> Response:
    """Nothing about the fault leaves the house: the log has it under the request id."""
    detail = "something went wrong on our side; the log knows it by this request id"
    return problem(Code.INTERNAL, 500, detail, request_id, {})


def install(app: FastAPI) -> None:
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)


async def _app_error(request: Request, error: Exception) -> Response:
    return of_app_error(cast(AppError, error), request.state.request_id)


async def _validation(request: Request, error: Exception) -> Response:
    return of_app_error(invalid(cast(RequestValidationError, error).errors()), request.state.request_id)


async def _http(request: Request, error: Exception) -> Response:
    """What the router itself refuses: unknown paths, wrong methods."""
    status = cast(HTTPException, error).status_code
    code = _OF_STATUS.get(status, Code.BAD_REQUEST)
    if code is Code.BAD_REQUEST:
        status = 400
    headers, detail = {}, CODES[code].of_http
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = _methods(request)
        headers, detail = {"Allow": ", ".join(allowed)}, f"this route takes {' and '.join(allowed)}"
    if status == HTTPStatus.NOT_FOUND:
        detail = "no such route"
    return problem(code, status, detail, request.state.request_id, {}, headers)


def _methods(request: Request) -> list[str]:
    """All methods of the path: the router knows only those of the first route that fits."""
    found = set()
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            found.add(method)
    return sorted(found)


def invalid(errors: Sequence[Any], where: str = "body") -> Invalid:
    """Pydantic's findings as ours: a dotted path and a sentence each. What the caller sent is not repeated."""
    listed = [{"field": _field(error, where), "message": _message(error)} for error in errors]
    fields = ", ".join(dict.fromkeys(item["field"] for item in listed))
    return Invalid(f"not accepted: {fields}", listed)


def _field(error: Any, where: str) -> str:
    path = list(error["loc"])
    if path and path[0] in ("body", "query", "path", "header"):
        path = path[1:]
    path = [str(part) for n, part in enumerate(path) if not _is_tag(path, n) and part != "[key]"]
    if error["type"].startswith("union_tag"):
        path.append("kind")
    return ".".join(path) or where


def _is_tag(path: list[Any], n: int) -> bool:
    """Pydantic puts the kind it recognised behind the index of a document: `resources.0.Persona.tone`."""
    return n > 0 and isinstance(path[n - 1], int) and path[n] in _KIND_TAGS


def _message(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown field"
    if error["type"] == "missing":
        return "missing"
    return str(error["msg"]).removeprefix("Value error, ")


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
