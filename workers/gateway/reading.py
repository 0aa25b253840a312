"""Request bodies: bytes in, JSON out, or a clear refusal. Text that no database and no model can hold is repaired here,
once, for every route."""

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from fastapi import Request
from starlette.exceptions import HTTPException

from pipelines.text import deeper_than, storable_deep
from schemas.errors import BadRequest, Invalid, UnsupportedMedia

MAX_DEPTH = 64
_ESCAPED_TROUBLE = re.compile(rb"\\u(0000|[dD][89a-fA-F])")


async def read_json(request: Request) -> Any:
    """The body as JSON, or None when there is none. Raises BadRequest, UnsupportedMedia, TooLarge."""
    body = await request.body()
    if not body:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMedia("send the body as application/json")
    return parse(body)


async def check_form(request: Request, known: set[str]) -> None:
    """A multipart form with no field but the `known`, each once. Raises BadRequest, UnsupportedMedia, Invalid."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise UnsupportedMedia("send the body as multipart/form-data")
    await request.body()
    try:
        form = await request.form()
    except HTTPException:
        raise BadRequest("the body is not a multipart form") from None
    names = [name for name, _ in form.multi_items()]
    strange = sorted(set(names) - known)
    if strange or len(names) > len(set(names)):
        await form.close()  # its files are ours: nobody else gets to see it
        raise unknown("field", strange) if strange else BadRequest("a field of the form stands twice")


def check_shape(parsed: Any, wanted: bool, needed: bool) -> None:
    """Every body is an object. Where none is `wanted` an empty one is let through, a field is not silently ignored."""
    if parsed is None and not needed:
        return
    if not isinstance(parsed, dict):
        raise BadRequest("the body must be a JSON object")
    if parsed and not wanted:
        raise unknown("field", parsed)


def unknown(what: str, names: Iterable[str]) -> Invalid:
    listed = [{"field": name, "message": f"unknown {what}"} for name in names]
    return Invalid(f"unknown {what}: {', '.join(item['field'] for item in listed)}", listed)


def parse(body: bytes) -> Any:
    """Strict JSON in UTF-8: no NaN, no infinite numbers, no name twice in an object, at most 64 levels deep. NUL
    characters are dropped and lone surrogates replaced: PostgreSQL and the models' wires refuse both. Raises
    `BadRequest`."""
    try:
        parsed = json.loads(
            body.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_each_once
        )
    except _Twice:
        raise BadRequest("a name stands twice in an object of the body: readers would differ on which counts") from None
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON in UTF-8") from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and deeper_than(parsed, MAX_DEPTH):
        raise BadRequest(f"the body is nested more than {MAX_DEPTH} levels deep")
    return storable_deep(parsed) if _ESCAPED_TROUBLE.search(body) else parsed


class _Twice(Exception):
    """An object holds a name more than once."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(digits)
    return number
