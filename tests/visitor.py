"""Somebody at the console without a browser: cookies, forms and their tokens."""

import re
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.builders_face import Gateway

CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
FORM = re.compile(r'<form[^>]*method="post".*?</form>', re.S)


@dataclass
class Visitor:
    http: httpx2.AsyncClient
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self._ask("GET", path, None, headers)

    async def post(self, path: str, fields: dict[str, str] | None = None, **headers: str) -> httpx2.Response:
        """With the token of the page seen last, unless `fields` has one."""
        return await self._ask("POST", path, {"csrf": self.csrf, **(fields or {})}, headers)

    async def _ask(self, method: str, path: str, fields: Any, headers: dict[str, str]) -> httpx2.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = await self.http.request(method, f"/console{path}", data=fields, headers=sent)
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
        if found := CSRF.search(answer.text):
            self.csrf = found[1]
        return answer

    async def sign_in(self, **fields: str) -> httpx2.Response:
        """`key=…`, or `email=…` and `password=…`."""
        await self.get("/sign-in")
        answer = await self.post("/sign-in", fields)
        if answer.status_code == 303:
            await self.get("/costs")
        return answer


async def signed_in(gateway: Gateway, role: str, org: str | None = None, name: str | None = None) -> Visitor:
    """Somebody in, by a new key of that role."""
    visitor = Visitor(gateway.http)
    answer = await visitor.sign_in(key=await gateway.key(role, org, name))
    assert answer.status_code == 303, answer.text
    return visitor
