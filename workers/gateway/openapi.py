"""The OpenAPI document: FastAPI's, with our problems, our key, the header that admins send, and our webhooks."""

from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel

from schemas.answers import Problem
from schemas.ids import NAME_LENGTH, NAME_PATTERN
from schemas.webhooks import EVENTS
from workers.gateway.auth import ORGANIZATION, need_of

_TEXT = "Answers incoming conversations with LLM agents, on a job queue, under human control."
_KEY = {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer rq_…`"}
_HEADER = {
    "name": ORGANIZATION,
    "in": "header",
    "required": False,
    "description": "The organisation an admin acts in. Other roles may not send it.",
    "schema": {"type": "string", "pattern": NAME_PATTERN, "maxLength": NAME_LENGTH},
}


_SIGNED = {
    "webhook-id": "The same at every attempt: show each once, however often it arrives.",
    "webhook-timestamp": "Seconds since 1970, of this attempt.",
    "webhook-signature": "Of Standard Webhooks: `v1,` and the base64 of HMAC-SHA-256 over id, timestamp and body.",
}
_REF = "#/components/schemas/{model}"
_ANSWERS = {
    "2XX": ("Taken. The body may say what the platform calls it.", {"type": "object", "properties": {"id": {}}}),
    "410": ("The endpoint is gone for good: nothing more is sent to it.", None),
    "4XX": ("Refused for good; 408, 425 and 429 are tried again.", None),
    "5XX": ("Tried again under the same `webhook-id` for 24 hours, with `Retry-After` where it is given.", None),
}


def describe(app: FastAPI, routers: Iterable[APIRouter], version: str) -> dict[str, Any]:
    document = get_openapi(title="Replique", version=version, description=_TEXT, routes=app.routes)
    components = document.setdefault("components", {})
    _add(Problem, components.setdefault("schemas", {}))
    components["securitySchemes"] = {"key": _KEY}
    document["webhooks"] = {kind: {"post": _webhook(kind, components["schemas"])} for kind in EVENTS}
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                _mark(document["paths"][route.path], route)
    return document


def _add(model: type[BaseModel], schemas: dict[str, Any]) -> str:
    """Among the components, with what it refers to. Answers the reference."""
    found = model.model_json_schema(ref_template=_REF, mode="serialization")
    schemas.update({**found.pop("$defs", {}), model.__name__: found})
    return _REF.format(model=model.__name__)


def _webhook(kind: str, schemas: dict[str, Any]) -> dict[str, Any]:
    data = EVENTS[kind]
    body = {
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "additionalProperties": False,
        "properties": {
            "type": {"const": kind},
            "timestamp": {"type": "string", "format": "date-time"},
            "data": {"$ref": _add(data, schemas)},
        },
    }
    headers = [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in _SIGNED.items()
    ]
    answers = {
        status: {"description": text, **({"content": {"application/json": {"schema": schema}}} if schema else {})}
        for status, (text, schema) in _ANSWERS.items()
    }
    return {
        "summary": kind,
        "description": data.__doc__,
        "tags": ["webhooks"],
        "security": [],
        "parameters": headers,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": answers,
    }


def _mark(path: dict[str, Any], route: APIRoute) -> None:
    """Says of each operation whether it needs a key, of which roles, and that an admin may send the header."""
    need = need_of(route.endpoint)
    if need is None:
        return
    for method in route.methods or ():
        operation = path[method.lower()]
        operation["security"] = [{"key": []}]
        operation["x-roles"] = sorted(role.value for role in need.roles)
        operation.setdefault("parameters", []).append(_HEADER)
