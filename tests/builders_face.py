"""A gateway on a database of its own, and a client that checks every answer against the OpenAPI document."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from sqlalchemy import text

from schemas.settings import read_settings
from workers.gateway.app import create_app
from workers.gateway.parts import Parts
from workers.gateway.routes import ROUTERS

ADMIN = "bootstrap-key-of-the-tests"
ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]


@dataclass
class Gateway:
    app: FastAPI
    http: httpx2.AsyncClient
    keys: dict[tuple[str, str | None], str] = field(default_factory=dict)

    @property
    def parts(self) -> Parts:
        return self.app.state.parts  # type: ignore[no-any-return]

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = ADMIN,
        org: str | None = None,
        content: Any = None,
        headers: dict[str, str] | None = None,
    ) -> httpx2.Response:
        """`key` None: none is sent. Every answer is held against the OpenAPI document on the way."""
        sent = dict(headers or {})
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        if org is not None:
            sent["X-Organization"] = org
        if body is not None:
            content, sent = json.dumps(body).encode(), {"Content-Type": "application/json", **sent}
        response = await self.http.request(method, path, content=content, headers=sent)
        check_documented(method, path, response)
        return response

    async def key(self, role: str, org: str | None = None, name: str | None = None) -> str:
        """A key of that role, and of that person; made at the first asking."""
        who = name or f"{role}-{org or 'all'}"
        if (role, who) not in self.keys:
            body = {"role": role, "name": who, "organization": org}
            made = await self.call("POST", "/v1/keys", body)
            self.keys[role, who] = made.json()["key"]
        return self.keys[role, who]

    async def organization(self, name: str, *personas: dict[str, Any], **spec: Any) -> None:
        documents = [{"kind": "Organization", "name": name, **spec}]
        documents += [{"kind": "Persona", **persona} for persona in personas or ({"name": "maya"},)]
        answer = await self.call("POST", "/v1/apply", {"resources": documents})
        assert answer.status_code == 200, answer.text

    async def run(self, sql: str, **values: Any) -> Any:
        """One statement, and its first value if it answers rows."""
        async with self.parts.counter._db.transaction() as connection:
            result = await connection.execute(text(sql), values)
            return result.scalar() if result.returns_rows else None


@asynccontextmanager
async def a_gateway(database_url: str, **environ: str) -> AsyncIterator[Gateway]:
    """`environ` in the names of the environment: `REPLIQUE_GATEWAY__BODY_BYTES="65536"`."""
    settings = read_settings({"DATABASE_URL": database_url, "REPLIQUE_BOOTSTRAP_KEY": ADMIN, **environ})
    app = create_app(settings)
    transport = httpx2.ASGITransport(app=app, client=("192.0.2.7", 4711))
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://it") as http:
        yield Gateway(app, http)


@cache
def the_document() -> Any:
    return create_app(read_settings({})).openapi()


def check_documented(method: str, path: str, response: httpx2.Response) -> None:
    """Its status and media type are in the document, a problem is whole, and a body is what its model says."""
    assert response.headers["x-request-id"]
    media = response.headers["content-type"].partition(";")[0]
    if response.status_code >= 400:
        assert media == "application/problem+json"
        check_problem(response)
    route = route_of(method, path)
    if route is None:
        assert response.status_code in (404, 405, 413, 200), response.text
        return
    documented = the_document()["paths"][route.path][method.lower()]["responses"]
    assert str(response.status_code) in documented, (method, path, response.status_code, response.text)
    assert {media, "*/*"} & documented[str(response.status_code)]["content"].keys()
    if response.status_code < 400 and route.response_model is not None:
        TypeAdapter(route.response_model).validate_json(response.content)


def check_problem(response: httpx2.Response) -> None:
    body = response.json()
    assert {"type", "title", "status", "detail", "code", "request_id"} <= body.keys()
    assert body["status"] == response.status_code
    assert body["code"] == f"AR-{response.status_code}"
    assert body["request_id"] == response.headers["x-request-id"]
    assert ("retry-after" in response.headers) == (response.status_code in (429, 503))


def route_of(method: str, path: str) -> APIRoute | None:
    bare = path.partition("?")[0]
    for route in ROUTES:
        if method in (route.methods or ()) and re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), bare):
            return route
    return None
