"""The OpenAPI document: FastAPI's, with our problems, our key, and the header that admins send."""

from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from schemas.answers import Problem
from schemas.ids import NAME_PATTERN
from workers.gateway.auth import ORGANIZATION, need_of

_TEXT = "Answers incoming conversations with LLM agents, on a job queue, under human control."
_KEY = {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer rq_…`"}
_HEADER = {
    "name": ORGANIZATION,
    "in": "header",
    "required": False,
    "description": "The organisation an admin acts in. Other roles may not send it.",
    "schema": {"type": "string", "pattern": NAME_PATTERN},
}


def describe(app: FastAPI, routers: Iterable[APIRouter], version: str) -> dict[str, Any]:
    document = get_openapi(title="Replique", version=version, description=_TEXT, routes=app.routes)
    components = document.setdefault("components", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components.setdefault("schemas", {}).update({**problem.pop("$defs", {}), "Problem": problem})
    components["securitySchemes"] = {"key": _KEY}
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                _mark(document["paths"][route.path], route)
    return document


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
