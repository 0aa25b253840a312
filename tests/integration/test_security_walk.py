"""Every route of the running gateway, with every key that must not open it, and the real ids of somebody else.

Nothing of the other organisation may come back, whatever the status, and nothing of it may have changed. The table has
to name each route that the gateway's own routing table has: a new one that nobody classified fails here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.builders_face import Gateway, a_gateway
from tests.routing import table_of
from tests.victim import ORG, WORD, furnish
from tests.visitor import Visitor, signed_in

RIVAL = "rival"
APP = ("app", "operator")
PEOPLE = ("operator",)
OPS = ("ops",)
READ = ("app", "operator", "ops")
NOBODY = ()
"""Admins alone."""


@dataclass(frozen=True)
class Way:
    """Who may come, besides admins; the paths that are tried, with the other's ids; and what is sent."""

    roles: tuple[str, ...]
    paths: tuple[str, ...] = ()
    body: Any = None


MESSAGE = {"conversation": "c-1", "persona": "maya", "author": "contact", "contact": {"id": "fan-7"}, "text": "x"}
RULE = {"name": "x", "when": "true", "then": {"inject": "x"}}
API = {
    "PATCH /v1/messages/{id}": Way(APP, ("/v1/messages/m-1",), {"text": "x"}),
    "DELETE /v1/messages/{id}": Way(APP, ("/v1/messages/m-1",)),
    "GET /v1/conversations/{id}": Way(READ, ("/v1/conversations/c-1", "/v1/conversations/c-2")),
    "POST /v1/conversations/{id}/takeover": Way(PEOPLE, ("/v1/conversations/c-1/takeover",)),
    "POST /v1/conversations/{id}/resume": Way(PEOPLE, ("/v1/conversations/c-1/resume",)),
    "POST /v1/conversations/{id}/reopen": Way(PEOPLE, ("/v1/conversations/c-1/reopen",), {"reason": "x"}),
    "POST /v1/conversations/{id}/consent": Way(APP, ("/v1/conversations/c-4/consent",)),
    "GET /v1/conversations/{id}/consent": Way(READ, ("/v1/conversations/c-4/consent",)),
    "DELETE /v1/contacts/{id}": Way(APP, ("/v1/contacts/fan-7",)),
    "GET /v1/contacts/{id}/export": Way(APP, ("/v1/contacts/fan-7/export",)),
    "GET /v1/erasures/{id}": Way(APP, ("/v1/erasures/era_1",)),
    "GET /v1/jobs": Way(READ, ("/v1/jobs", "/v1/jobs?conversation=c-1", "/v1/jobs?attention=true&cursor=job_99")),
    "GET /v1/jobs/{id}": Way(READ, ("/v1/jobs/job_1", "/v1/jobs/job_2", "/v1/jobs/job_3")),
    **{
        f"POST /v1/jobs/{{id}}/{verb}": Way(roles, (f"/v1/jobs/job_2/{verb}", f"/v1/jobs/job_1/{verb}"))
        for verb, roles in {
            "approve": PEOPLE,
            "hold": PEOPLE,
            "release": PEOPLE,
            "cancel": PEOPLE + OPS,
            "retry": PEOPLE + OPS,
        }.items()
    },
    "POST /v1/jobs/{id}/regenerate": Way(PEOPLE, ("/v1/jobs/job_2/regenerate",), {"instruction": "x"}),
    "PATCH /v1/candidates/{id}": Way(PEOPLE, ("/v1/candidates/bub_1", "/v1/candidates/bub_3"), {"text": "x"}),
    "DELETE /v1/candidates/{id}": Way(PEOPLE, ("/v1/candidates/bub_3",)),
    "POST /v1/attention/{job}/dismiss": Way(PEOPLE, ("/v1/attention/job_3/dismiss",), {"reason": "x"}),
    "GET /v1/dead-letters": Way(OPS, ("/v1/dead-letters",)),
    "GET /v1/dead-letters/{id}": Way(OPS, ("/v1/dead-letters/dead_1",)),
    "POST /v1/dead-letters/retry": Way(OPS, ("/v1/dead-letters/retry?all=true",)),
    "DELETE /v1/dead-letters": Way(OPS, ("/v1/dead-letters?all=true",)),
    "POST /v1/dead-letters/{id}/retry": Way(OPS, ("/v1/dead-letters/dead_1/retry",)),
    "DELETE /v1/dead-letters/{id}": Way(OPS, ("/v1/dead-letters/dead_1",)),
    "GET /v1/queues": Way(OPS, ("/v1/queues",)),
    "GET /v1/costs": Way(READ, tuple(f"/v1/costs?group={group}" for group in ("org", "model", "day", "conversation"))),
    "GET /v1/doctor": Way(OPS, ("/v1/doctor",)),
    "GET /v1/explain/{id}": Way(READ, ("/v1/explain/job_1", "/v1/explain/c-1", "/v1/explain/m-1")),
    "POST /v1/rules/dry-run": Way(PEOPLE, ("/v1/rules/dry-run",), {"rule": RULE}),
    "POST /v1/apply": Way(NOBODY, ("/v1/apply",), {"resources": [{"kind": "Organization", "name": ORG}]}),
    "POST /v1/documents": Way(NOBODY, ("/v1/documents",)),
    "POST /v1/keys": Way(NOBODY, ("/v1/keys",), {"role": "app", "organization": ORG}),
    "GET /v1/keys": Way(NOBODY, ("/v1/keys",)),
    "DELETE /v1/keys/{id}": Way(NOBODY, ("/v1/keys/key_2",)),
    "POST /v1/users": Way(NOBODY, ("/v1/users",), {"name": "eve", "email": "eve@rival.example", "organization": ORG}),
    "GET /v1/users": Way(NOBODY, ("/v1/users",)),
    "POST /v1/users/{id}/link": Way(NOBODY, ("/v1/users/user_1/link",)),
    "DELETE /v1/users/{id}": Way(NOBODY, ("/v1/users/user_1",)),
    "POST /v1/payments/{id}/events": Way(APP, ("/v1/payments/pay_1/events",), {"status": "paid"}),
    # Last: from here on the rival has messages under the same ids.
    "POST /v1/messages": Way(APP, ("/v1/messages",), {"id": "m-1", **MESSAGE}),
}
OWN = {
    "GET /v1/jobs", "GET /v1/costs", "POST /v1/rules/dry-run", "POST /v1/messages",
}  # fmt: skip
"""Answered to anybody of the role, about their own organisation."""
OPEN = {
    "GET /openapi.json": ("/openapi.json",),
    "GET /healthz": ("/healthz",),
    "GET /readyz": ("/readyz",),
    "GET /metrics": ("/metrics",),
    "GET /v1/files/{id}": ("/v1/files/{file}", "/v1/files/{file}?exp=99999999999&sig=" + "0" * 64),
    "POST /v1/payments/stripe": ("/v1/payments/stripe",),
    "GET /v1/payments/done": ("/v1/payments/done",),
    "GET /v1/payments/{id}/page": ("/v1/payments/pay_1/page", "/v1/payments/pay_1/page?sig=" + "0" * 64),
    "POST /v1/payments/{id}/page": ("/v1/payments/pay_1/page", "/v1/payments/pay_1/page?sig=" + "0" * 64),
    "GET /console": ("/console",),
    "GET /console/static/…": ("/console/static/", "/console/static/../app.py"),
    "GET /console/sign-in": ("/console/sign-in",),
    "POST /console/sign-in": ("/console/sign-in",),
    "GET /console/link/{token}": ("/console/link/x",),
    "POST /console/link/{token}": ("/console/link/x",),
}
"""Without a key: what they show is of nobody, or opened by a signature that nobody here has."""
ALL = ("operator", "ops")
CONSOLE = {
    "POST /console/choose": Way(ALL, ("/choose",), {"organization": ORG}),
    "GET /console/organizations": Way(ALL, ("/organizations",)),
    "GET /console/live": Way(ALL),
    "GET /console/": Way(PEOPLE, ("/",)),
    "GET /console/window/rows": Way(PEOPLE, ("/window/rows",)),
    "GET /console/candidates/{id}/edit": Way(PEOPLE, ("/candidates/bub_1/edit", "/candidates/bub_3/edit")),
    "POST /console/candidates/{id}": Way(
        PEOPLE, ("/candidates/bub_3",), {"job": "job_2", "text": "x", "version": "0", "ordinal": "0"}
    ),
    "POST /console/jobs/{id}/{verb:str}": Way(
        PEOPLE,
        tuple(
            f"/jobs/job_{job}/{verb}"
            for verb in ("approve", "hold", "release", "cancel", "retry", "regenerate", "dismiss", "takeover")
            for job in (1, 2, 3)
        ),
        {"reason": "x", "instruction": "x"},
    ),
    "GET /console/attention": Way(PEOPLE, ("/attention",)),
    "GET /console/attention/list": Way(PEOPLE, ("/attention/list",)),
    "GET /console/find": Way(ALL, ("/find?q=c-1", "/find?q=job_2", "/find?q=m-1")),
    "GET /console/conversations/{name}": Way(ALL, ("/conversations/c-1", "/conversations/c-2")),
    "GET /console/conversations/{name}/part": Way(ALL, ("/conversations/c-1/part",)),
    "POST /console/conversations/{name}/{verb}": Way(
        PEOPLE,
        tuple(f"/conversations/c-{n}/{verb}" for verb in ("takeover", "resume", "reopen", "consent") for n in (1, 4)),
        {"reason": "x"},
    ),
    "GET /console/jobs/{id}": Way(ALL, ("/jobs/job_1", "/jobs/job_2", "/jobs/job_3")),
    "GET /console/dead-letters": Way(OPS, ("/dead-letters",)),
    "GET /console/dead-letters/{id}": Way(OPS, ("/dead-letters/dead_1",)),
    "POST /console/dead-letters": Way(OPS, ("/dead-letters",), {"verb": "retry", "sure": "yes"}),
    "POST /console/dead-letters/{id}/{verb}": Way(
        OPS, ("/dead-letters/dead_1/retry", "/dead-letters/dead_1/purge"), {}
    ),
    "GET /console/queues": Way(OPS, ("/queues",)),
    "GET /console/queues/part": Way(OPS, ("/queues/part",)),
    "POST /console/queues/check-up": Way(OPS, ("/queues/check-up",), {}),
    "GET /console/costs": Way(ALL, ("/costs",)),
    "GET /console/rules": Way(PEOPLE, ("/rules",)),
    "POST /console/rules/dry-run": Way(PEOPLE, ("/rules/dry-run",), {"rule": "calm", "conversation": "c-1"}),
    "POST /console/rules/{name}/switch": Way(NOBODY, ("/rules/calm/switch",), {"on": "no"}),
    "GET /console/agents": Way(ALL, ("/agents",)),
    "GET /console/chatting": Way(ALL, ("/chatting",)),
    "POST /console/parameters/{sheet}": Way(NOBODY, ("/parameters/agents",), {}),
    "GET /console/personas": Way(ALL, ("/personas",)),
    "GET /console/personas/{name}": Way(ALL, ("/personas/maya",)),
    "POST /console/personas/{name}": Way(NOBODY, ("/personas/maya",), {"tone": "x"}),
    "POST /console/personas/{name}/media": Way(PEOPLE, ("/personas/maya/media",), {"media": "v-1", "on": "no"}),
    "GET /console/playground": Way(PEOPLE, ("/playground",)),
    "POST /console/playground": Way(PEOPLE, ("/playground",), {"text": "x", "persona": "maya", "rule": "calm"}),
    "POST /console/sign-out": Way(ALL, ("/sign-out",), {}),
}
KEPT = (
    "albums", "audit_log", "candidates", "chunks", "consent_records", "contacts", "conversations", "dead_letters",
    "deliveries", "documents", "erasures", "intents", "job_events", "jobs", "media_items", "messages", "organizations",
    "payments", "personas", "rules", "run_steps", "runs", "summaries", "users", "user_links",
)  # fmt: skip


async def test_every_route_is_classified(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        assert table_of(gateway.app) == {*API, *OPEN, *CONSOLE}


@contextmanager
def unchanged(database_url: str) -> Iterator[None]:
    """Whatever stood before still stands as it stood; somebody else's rows may have come."""
    before = rows_of(database_url)
    yield
    after = rows_of(database_url)
    assert {table: before[table] - after[table] for table in KEPT} == {table: set() for table in KEPT}


def rows_of(database_url: str) -> dict[str, set[str]]:
    with psycopg.connect(database_url) as connection:
        return {
            table: {row[0] for row in connection.execute(f"SELECT t::text FROM {table} t").fetchall()}  # type: ignore[arg-type]
            for table in KEPT
        }


async def knock(gateway: Gateway, route: str, path: str, body: Any, key: str | None, org: str | None = None) -> Any:
    answer = await gateway.call(route.split()[0], path, body, key=key, org=org)
    assert WORD not in answer.text + str(answer.headers), (route, path, answer.text)
    return answer


async def test_without_a_good_key_nothing_is_said(database_url: str) -> None:
    async with a_gateway(database_url, REPLIQUE_GATEWAY__FAILED_KEYS_PER_MINUTE="100000") as gateway:
        await furnish(gateway)
        found = {}
        with unchanged(database_url):
            for route, way in API.items():
                for path in way.paths:
                    for key in (None, "wrong", "rk_" + "0" * 40, "Bearer", "x y"):
                        found[route, path, key] = (await knock(gateway, route, path, way.body, key)).status_code

    assert set(found.values()) == {401}


async def test_a_key_of_a_lesser_role_opens_nothing(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await furnish(gateway)
        keys = {role: await gateway.key(role, None if role == "ops" else ORG) for role in READ}
        found = {}
        with unchanged(database_url):
            for route, way in API.items():
                for role in set(READ) - set(way.roles):
                    for path in way.paths:
                        found[route, role] = (await knock(gateway, route, path, way.body, keys[role])).status_code

    assert set(found.values()) == {403}
    assert len(found) > 60


async def test_a_key_of_another_organisation_finds_nothing(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await furnish(gateway)
        await gateway.organization(RIVAL)
        keys = {role: await gateway.key(role, RIVAL) for role in APP}
        found = {}
        with unchanged(database_url):
            for route, way in API.items():
                for role in APP:
                    for path in way.paths:
                        answer = await knock(gateway, route, path, way.body, keys[role])
                        named = await knock(gateway, route, path, way.body, keys[role], ORG)
                        found[route, role, path] = (answer.status_code, named.status_code)

    for (route, role, path), (status, named) in found.items():
        may = role in API[route].roles
        wanted = {200, 202} if route in OWN and may else {404} if may else {403}
        assert (status in wanted, named) == (True, 403), (route, role, path, status, named)


async def test_an_admin_who_names_another_organisation_finds_nothing_of_the_first(database_url: str) -> None:
    """The header scopes as a key does."""
    async with a_gateway(database_url) as gateway:
        await furnish(gateway)
        await gateway.organization(RIVAL)
        with unchanged(database_url):
            for route, way in API.items():
                if route in ("POST /v1/apply", "POST /v1/users", "POST /v1/keys", "GET /v1/doctor"):
                    continue  # they name the organisation in their body, or are of the whole installation
                for path in way.paths:
                    answer = await gateway.call(route.split()[0], path, way.body, org=RIVAL)
                    assert WORD not in answer.text, (route, path)
                    assert answer.status_code == 404 or "{" not in route, (route, path, answer.status_code)


async def test_what_is_open_shows_nothing_of_anybody(database_url: str, tmp_path: Path) -> None:
    async with a_gateway(database_url, STORAGE_URL=str(tmp_path)) as gateway:
        file = await furnish(gateway)
        with unchanged(database_url):
            for route, paths in OPEN.items():
                for path in paths:
                    content = b"{}" if route == "POST /v1/payments/stripe" else None
                    answer = await gateway.http.request(
                        route.split()[0],
                        path.replace("{file}", file),
                        content=content,
                        headers={"Content-Type": "application/json"} if content else {},
                    )
                    assert answer.status_code < 500, (path, answer.text)
                    assert WORD not in answer.text + str(answer.headers), path
                    assert "{id}" not in route or answer.status_code in (403, 404), path
        signed = (await gateway.parts.files.url(file.replace("~", "/"))).partition("/v1/")[2]
        opened = await gateway.http.get(f"/v1/{signed}")

    assert opened.text == WORD


async def visit(visitor: Visitor, route: str, path: str, body: Any, **headers: str) -> int:
    answer = await (visitor.get(path, **headers) if route[0] == "G" else visitor.post(path, body, **headers))
    assert WORD not in answer.text + str(answer.headers), (route, path)
    return answer.status_code


@pytest.mark.parametrize("htmx", [{}, {"hx_request": "true", "hx_current_url": "http://it/console/"}])
async def test_the_console_shows_and_changes_nothing_of_another_organisation(
    database_url: str, htmx: dict[str, str]
) -> None:
    async with a_gateway(database_url) as gateway:
        await furnish(gateway)
        await gateway.organization(RIVAL)
        rival = await signed_in(gateway, "operator", RIVAL)
        found = {}
        with unchanged(database_url):
            for route, way in CONSOLE.items():
                for path in way.paths:
                    found[route, path] = await visit(rival, route, path, way.body, **htmx)

    assert not [where for where, status in found.items() if status >= 500 and "playground" not in where[1]]
    named = {where: status for where, status in found.items() if "{" in where[0] and "personas" not in where[0]}
    assert {where: status for where, status in named.items() if status not in (403, 404, 422)} == {}


async def test_the_console_shows_nothing_without_a_session_and_to_lesser_roles(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await furnish(gateway)
        stranger = Visitor(gateway.http)
        ops = await signed_in(gateway, "ops")
        anna = await signed_in(gateway, "operator", ORG)
        with unchanged(database_url):
            for route, way in CONSOLE.items():
                for path in way.paths:
                    assert await visit(stranger, route, path, way.body) == 303, path
                    forged = {"replique": "x" * 43}
                    assert await visit(Visitor(gateway.http, forged), route, path, way.body) == 303, path
                    for who, visitor in (("ops", ops), ("operator", anna)):
                        if who not in way.roles and "verb" not in route:
                            assert await visit(visitor, route, path, way.body) == 403, (who, path)


async def test_the_word_is_everywhere_for_who_may_see_it(database_url: str) -> None:
    """What the other tests look for would be found: each of these shows it to its own people."""
    async with a_gateway(database_url) as gateway:
        await furnish(gateway)
        keys = {role: await gateway.key(role, None if role == "ops" else ORG) for role in READ}
        blind = set()
        for route, way in API.items():
            if route[0] == "G" and "costs" not in route and "erasures" not in route and "doctor" not in route:
                for path in way.paths[:1]:
                    key = keys[way.roles[-1]] if way.roles and way.roles[-1] != "ops" else None
                    asked = {"key": key} if key else {"org": ORG}
                    if WORD not in (await gateway.call("GET", path, **asked)).text:
                        blind.add(route)
        anna = await signed_in(gateway, "operator", ORG)
        pages = {
            path: WORD in (await anna.get(path)).text for path in ("/", "/conversations/c-1", "/rules", "/personas")
        }

    assert blind <= {"GET /v1/queues", "GET /v1/explain/{id}"}
    assert all(pages.values()), pages
