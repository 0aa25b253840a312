"""Every route that changes something leaves a row in the audit log that says who it was; or it is listed here, with
why it does not."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from schemas.access import Role
from tests.builders_face import Gateway, a_gateway
from tests.routing import table_of
from tests.victim import ORG, furnish, held, said
from tests.visitor import Visitor, signed_in

UNHEARD = {
    "POST /v1/messages": "the message is kept itself, with who wrote it",
    "PATCH /v1/messages/{id}": "the same, with when it was edited",
    "DELETE /v1/messages/{id}": "the same, with when it was deleted",
    "POST /v1/rules/dry-run": "nothing is changed",
    "POST /console/rules/dry-run": "nothing is changed",
    "POST /v1/payments/stripe": "nobody of ours: a payment keeps who told of it",
    "POST /v1/payments/{id}/page": "nobody of ours: the page on which paying is tried out",
    "POST /console/queues/check-up": "it looks",
    "POST /console/choose": "what somebody's own pages show",
    "POST /console/sign-out": "what ends is their own session",
}
MEDIA = "SELECT name FROM media_items ORDER BY id LIMIT 1"
STEPS: dict[str, Callable[["Walk"], Awaitable[Any]]] = {}


@dataclass
class Walk:
    gateway: Gateway
    anna: Visitor
    root: Visitor
    keys: dict[str, str] = field(default_factory=dict)

    async def call(self, method: str, path: str, body: Any = None, role: str = "operator") -> Any:
        org = ORG if role == "admin" else None
        answer = await self.gateway.call(method, path, body, key=self.keys[role], org=org)
        assert answer.status_code < 300, (path, answer.text)
        return answer.json()

    async def held(self) -> tuple[str, str]:
        """A new reply that waits: its job and its first bubble."""
        number = await self.gateway.run("SELECT count(*) FROM messages")
        await self.gateway.run("UPDATE jobs SET state = 'cancelled', due_at = NULL WHERE state IN ('queued', 'held')")
        await held(self.gateway, f"m-a{number}", f"c-a{number}")
        job = await self.gateway.run("SELECT max(id) FROM jobs")
        bubble = await self.gateway.run("SELECT max(id) FROM candidates")
        return f"job_{job}", f"bub_{bubble}"

    async def post(self, visitor: Visitor, path: str, fields: dict[str, str] | None = None) -> None:
        answer = await visitor.post(path, fields)
        assert answer.status_code < 400, (path, answer.status_code, answer.text[-2000:])

    async def heard(self) -> list[dict[str, Any]]:
        found = await self.gateway.run(
            "SELECT coalesce(json_agg(json_build_object('who', who, 'action', action) ORDER BY id), '[]') "
            "FROM audit_log"
        )
        return found if isinstance(found, list) else list(json.loads(found))


def step(route: str) -> Callable[[Callable[[Walk], Awaitable[Any]]], Callable[[Walk], Awaitable[Any]]]:
    def keep(does: Callable[[Walk], Awaitable[Any]]) -> Callable[[Walk], Awaitable[Any]]:
        STEPS[route] = does
        return does

    return keep


def on_a_held_job(verb: str, before: tuple[str, ...] = (), body: Any = None) -> None:
    async def over_http(walk: Walk) -> None:
        job, _ = await walk.held()
        for earlier in before:
            await walk.call("POST", f"/v1/jobs/{job}/{earlier}", role="admin")
        await walk.call("POST", f"/v1/jobs/{job}/{verb}", body)

    STEPS[f"POST /v1/jobs/{{id}}/{verb}"] = over_http


on_a_held_job("approve")
on_a_held_job("hold")
on_a_held_job("release", ("hold",))
on_a_held_job("cancel")
on_a_held_job("retry", ("cancel",))
on_a_held_job("regenerate", body={"instruction": "x"})


@step("PATCH /v1/candidates/{id}")
async def edit(walk: Walk) -> None:
    await walk.call("PATCH", f"/v1/candidates/{(await walk.held())[1]}", {"text": "autre"})


@step("DELETE /v1/candidates/{id}")
async def drop(walk: Walk) -> None:
    await walk.call("DELETE", f"/v1/candidates/{(await walk.held())[1]}")


@step("POST /v1/attention/{job}/dismiss")
async def dismiss(walk: Walk) -> None:
    await walk.gateway.run("UPDATE jobs SET attention = 'open' WHERE id = 1")
    await walk.call("POST", "/v1/attention/job_1/dismiss", {"reason": "seen"})


for verb in ("takeover", "resume"):

    async def turn(walk: Walk, verb: str = verb) -> None:
        await walk.call("POST", f"/v1/conversations/c-1/{verb}")

    STEPS[f"POST /v1/conversations/{{id}}/{verb}"] = turn


@step("POST /v1/conversations/{id}/consent")
async def consent(walk: Walk) -> None:
    await walk.call("POST", "/v1/conversations/c-4/consent", {"how": "form"})


@step("POST /v1/conversations/{id}/reopen")
async def reopen(walk: Walk) -> None:
    await said(walk.gateway, "m-lock", "c-lock", text="j'ai 14 ans", contact="fan-lock")
    await walk.call("POST", "/v1/conversations/c-lock/reopen", {"reason": "checked"})


@step("POST /v1/payments/{id}/events")
async def pay(walk: Walk) -> None:
    await walk.call("POST", "/v1/payments/pay_1/events", {"status": "paid"})


@step("DELETE /v1/contacts/{id}")
async def erase(walk: Walk) -> None:
    await said(walk.gateway, "m-gone", "c-gone", contact="fan-gone")
    await walk.call("DELETE", "/v1/contacts/fan-gone")


async def letter(walk: Walk) -> str:
    number = await walk.gateway.run(
        "INSERT INTO dead_letters (org_id, source, code, error, attempts, payload, job_id) "
        "SELECT org_id, 'job', 'AR-520', 'x', 1, '{}', id FROM jobs WHERE id = (SELECT max(id) FROM jobs) RETURNING id"
    )
    return f"dead_{number}"


async def failed(walk: Walk) -> str:
    await walk.held()
    await walk.gateway.run(
        "UPDATE jobs SET state = 'failed', code = 'AR-520', due_at = NULL, attention = 'open', "
        "ended_at = clock_timestamp() WHERE id = (SELECT max(id) FROM jobs)"
    )
    await walk.gateway.run("UPDATE dead_letters SET state = 'purged' WHERE state = 'open'")
    return await letter(walk)


@step("POST /v1/dead-letters/{id}/retry")
async def retry_letter(walk: Walk) -> None:
    await walk.call("POST", f"/v1/dead-letters/{await failed(walk)}/retry", role="ops")


@step("POST /v1/dead-letters/retry")
async def retry_letters(walk: Walk) -> None:
    await failed(walk)
    told = await walk.call("POST", "/v1/dead-letters/retry?all=true", role="ops")
    assert len(told["retried"]) == 1, told


@step("DELETE /v1/dead-letters/{id}")
async def purge_letter(walk: Walk) -> None:
    await walk.call("DELETE", f"/v1/dead-letters/{await failed(walk)}", role="ops")


@step("DELETE /v1/dead-letters")
async def purge_letters(walk: Walk) -> None:
    await failed(walk)
    await walk.call("DELETE", "/v1/dead-letters?all=true", role="ops")


@step("POST /v1/apply")
async def apply(walk: Walk) -> None:
    await walk.call("POST", "/v1/apply", {"resources": [{"kind": "Intent", "name": "new"}]}, role="admin")


@step("POST /v1/documents")
async def upload(walk: Walk) -> None:
    answer = await walk.gateway.http.post(
        "/v1/documents",
        data={"name": "file", "scope": "organization"},
        files={"file": ("a.txt", b"Les colis partent le vendredi.")},
        headers={"Authorization": f"Bearer {walk.keys['admin']}", "X-Organization": ORG},
    )
    assert answer.status_code == 200, answer.text


@step("POST /v1/keys")
async def make_key(walk: Walk) -> None:
    await walk.call("POST", "/v1/keys", {"role": "app", "name": "for the walk"}, role="admin")


@step("DELETE /v1/keys/{id}")
async def revoke_key(walk: Walk) -> None:
    number = await walk.gateway.run("SELECT id FROM api_keys WHERE name = 'for the walk'")
    await walk.call("DELETE", f"/v1/keys/key_{number}", role="admin")


@step("POST /v1/users")
async def add_user(walk: Walk) -> None:
    await walk.call("POST", "/v1/users", {"name": "eve", "email": "eve@acme.example"}, role="admin")


@step("POST /v1/users/{id}/link")
async def link_user(walk: Walk) -> None:
    await walk.call("POST", "/v1/users/user_1/link", role="admin")


@step("DELETE /v1/users/{id}")
async def disable_user(walk: Walk) -> None:
    await walk.call("DELETE", "/v1/users/user_1", role="admin")


@step("POST /console/sign-in")
async def enter(walk: Walk) -> None:
    await Visitor(walk.gateway.http).sign_in(key=walk.keys["operator"])


@step("POST /console/link/{token}")
async def by_link(walk: Walk) -> None:
    made = await walk.gateway.call("POST", "/v1/users", {"name": "operator", "email": "o@acme.example"}, org=ORG)
    path = made.json()["link"]["url"].partition("/console")[2]
    visitor = Visitor(walk.gateway.http)
    await visitor.get(path)
    await walk.post(visitor, path, {"password": "a short sentence", "again": "a short sentence"})


@step("POST /console/candidates/{id}")
async def console_edit(walk: Walk) -> None:
    job, bubble = await walk.held()
    await walk.post(walk.anna, f"/candidates/{bubble}", {"job": job, "text": "autre", "version": "0"})


@step("POST /console/jobs/{id}/{verb:str}")
async def console_verbs(walk: Walk) -> None:
    for verb in ("approve", "hold", "cancel", "regenerate", "takeover"):
        job, _ = await walk.held()
        before = len(await walk.heard())
        await walk.post(walk.anna, f"/jobs/{job}/{verb}", {"instruction": "x"})
        assert len(await walk.heard()) == before + 1, verb


@step("POST /console/conversations/{name}/{verb}")
async def console_turn(walk: Walk) -> None:
    await walk.post(walk.anna, "/conversations/c-2/takeover")


@step("POST /console/dead-letters/{id}/{verb}")
async def console_letter(walk: Walk) -> None:
    for verb in ("retry", "purge"):
        before = len(await walk.heard())
        await walk.post(walk.root, f"/dead-letters/{await failed(walk)}/{verb}")
        assert len(await walk.heard()) > before, verb


@step("POST /console/dead-letters")
async def console_letters(walk: Walk) -> None:
    await failed(walk)
    await walk.post(walk.root, "/dead-letters", {"verb": "retry", "sure": "yes"})


@step("POST /console/rules/{name}/switch")
async def console_rule(walk: Walk) -> None:
    await walk.post(walk.root, "/rules/calm/switch", {"on": "no"})


@step("POST /console/personas/{name}/media")
async def console_media(walk: Walk) -> None:
    await walk.post(walk.anna, "/personas/maya/media", {"media": await walk.gateway.run(MEDIA), "on": "no"})


@step("POST /console/parameters/{sheet}")
async def parameters(walk: Walk) -> None:
    await walk.post(walk.root, "/parameters/agents", await form_of(walk, "/agents") | {"agent.MaxIterations": "9"})


@step("POST /console/personas/{name}")
async def persona(walk: Walk) -> None:
    await walk.post(walk.root, "/personas/maya", await form_of(walk, "/personas/maya") | {"tone": "calm"})


@step("POST /console/playground")
async def play(walk: Walk) -> None:
    await walk.anna.post("/playground", {"persona": "maya", "text": "coucou"})  # nobody answers for the model


async def form_of(walk: Walk, path: str) -> dict[str, str]:
    page = (await walk.root.get(path)).text
    return {"version": re.findall(r'name="version" value="(\d+)"', page)[0]}


async def test_every_route_that_writes_is_walked_or_excused(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        writes = {route for route in table_of(gateway.app) if not route.startswith("GET ")}

    assert writes == set(STEPS) | set(UNHEARD)


async def test_every_change_says_who_made_it(database_url: str) -> None:
    silent_model = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    async with a_gateway(database_url, **silent_model) as gateway:
        await furnish(gateway)
        keys = {role.value: await gateway.key(role.value, ORG if role.of_one_organization else None) for role in Role}
        anna = await signed_in(gateway, "operator", ORG)
        root = await signed_in(gateway, "admin")
        await root.post("/choose", {"organization": ORG})
        walk = Walk(gateway, anna, root, keys)
        silent = {}
        for route, does in STEPS.items():
            before = len(await walk.heard())
            await does(walk)
            new = [row for row in (await walk.heard())[before:] if row["who"] != "bootstrap"]
            if not new or not all(row["who"].startswith(("operator", "ops", "admin")) for row in new):
                silent[route] = new

    assert silent == {}
