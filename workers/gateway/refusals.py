"""What OpenAPI says about refusals: each route names the statuses it may answer, all as problems."""

from typing import Any

from workers.gateway.errors import PROBLEM

Responses = dict[int | str, dict[str, Any]]

_SENTENCES = {
    400: "Not JSON, or not a JSON object.",
    401: "No key, or one that is unknown or revoked.",
    403: "The key's role may not do this.",
    404: "Not found, or of another organisation.",
    408: "The request did not arrive in time.",
    409: "Too late, or it clashes with what is stored.",
    410: "The link has expired.",
    413: "Larger than accepted.",
    415: "The body's content type is not accepted here.",
    422: "A field is missing, unknown or out of bounds; `errors` names each.",
    429: "Too many wrong keys from this address.",
    431: "Address and headers are larger than accepted.",
    500: "A fault of ours, logged under the request id.",
    503: "The database does not answer.",
}
_EVERY = (408, 431)
_EVERY_GUARDED = (400, 401, 403, 413, 415, 422, 429, 500, 503)


def refusals(*statuses: int) -> Responses:
    """Those of every guarded route, and `statuses`."""
    return {status: _described(status) for status in sorted({*_EVERY, *_EVERY_GUARDED, *statuses})}


def only(*statuses: int) -> Responses:
    """Of a route that needs no key."""
    return {status: _described(status) for status in sorted({*_EVERY, *statuses})}


def _described(status: int) -> dict[str, Any]:
    headers = {"Retry-After": {"schema": {"type": "string"}}} if status in (429, 503) else {}
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": _SENTENCES[status], "content": content, **({"headers": headers} if headers else {})}
