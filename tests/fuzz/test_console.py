"""The console's forms and addresses with values that no page of ours would send: never a fault, always a page."""

import re
from urllib.parse import quote

import pytest

from tests.builders_face import a_gateway
from tests.fuzz.hostile import TEXTS
from tests.integration.test_http_steering import held
from tests.visitor import Visitor, signed_in

FORMS = {
    "/choose": ("organization", "language", "to"),
    "/candidates/bub_2": ("job", "text", "version", "ordinal", "amount", "currency", "drop"),
    "/jobs/job_1/regenerate": ("instruction",),
    "/jobs/job_1/dismiss": ("reason",),
    "/conversations/c-1/reopen": ("reason",),
    "/conversations/c-1/consent": ("reason",),
    "/rules/dry-run": ("rule", "draft", "persona", "conversation", "limit"),
    "/parameters/agents": ("version", "persona", "agent.MaxIterations", "agent.TimeoutSeconds", "agent.Enable"),
    "/parameters/chatting": ("version", "persona", "limits.max_chars", "pacing.jitter", "autonomy", "engine"),
    "/personas/maya": ("version", "display_name", "tone", "instructions", "voice", "language"),
    "/playground": ("persona", "text", "said"),
}
ALSO = {"/candidates/bub_2": {"job": "job_1", "version": "0"}, "/playground": {"persona": "maya"}}
QUERIES = (
    "/find?q=", "/window/rows?ids=", "/conversations/c-1?before=", "/conversations/c-1/part?before=", "/costs?days=",
    "/dead-letters?cursor=", "/dead-letters?state=", "/playground?persona=", "/agents?persona=", "/chatting?persona=",
    "/jobs/", "/conversations/", "/candidates/{}/edit", "/dead-letters/", "/personas/", "/link/", "/sign-in?x=",
    "/personas/maya?after=",
)  # fmt: skip


def shortened(text: str) -> str:
    return text[:2_000]


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


async def test_no_form_makes_the_console_fail(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await held(gateway, "un", "deux")
        admin = await signed_in(gateway, "admin")
        await admin.post("/choose", {"organization": "acme"})
        found = {}
        for path, fields in FORMS.items():
            for field in fields:
                for text in TEXTS:
                    body = {**ALSO.get(path, {}), field: text}
                    answer = await admin.post(path, body)
                    if path == "/choose":
                        await admin.post("/choose", {"organization": "acme", "language": "en"})
                    found[path, field, text[:60]] = answer.status_code

    assert {where: status for where, status in found.items() if status >= 500 and where[0] != "/playground"} == {}
    assert {status for (path, *_), status in found.items() if path == "/playground"} <= {200, 422, 404, 503}


async def test_no_address_makes_the_console_fail(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await held(gateway, "un", "deux")
        admin = await signed_in(gateway, "admin")
        await admin.post("/choose", {"organization": "acme"})
        found = {}
        for pattern in QUERIES:
            for text in map(shortened, TEXTS):
                part = quote(text, safe="")
                path = pattern.replace("{}", part) if "{}" in pattern else pattern + part
                found[pattern, text[:60]] = (await admin.get(path)).status_code

    assert {where: status for where, status in found.items() if status >= 500} == {}


async def test_the_door_takes_anything(database_url: str) -> None:
    async with a_gateway(database_url, REPLIQUE_CONSOLE__FAILED_SIGN_INS="1000") as gateway:
        visitor = Visitor(gateway.http)
        await visitor.get("/sign-in")
        found = set()
        for field in ("email", "password", "key", "csrf"):
            for text in TEXTS:
                fields = {"email": "a@b.example", "password": "x" * 20} if field in ("email", "password") else {}
                found.add((await visitor.post("/sign-in", {**fields, field: text})).status_code)
        cookies = [Visitor(gateway.http, {"replique": re.sub(r"[^!-~]", "x", text[:500])}) for text in TEXTS]
        found |= {(await one.get("/")).status_code for one in cookies}

    assert found <= {303, 401, 403, 422, 429, 413}
