"""Who gets into the console, how far, for how long; and which forms are believed."""

import re

import pytest
from starlette.routing import Route

from tests.builders_face import ADMIN, Gateway, a_gateway
from tests.visitor import FORM, Visitor, signed_in
from workers.gateway.console.app import PAGES
from workers.gateway.console.render import POLICY

OPEN = {"GET /sign-in", "POST /sign-in", "GET /link/{token}", "POST /link/{token}"}
ALL = {"operator", "ops", "admin"}
ALLOWED = {
    "POST /sign-out": ALL,
    "GET /organizations": ALL,
    "POST /choose": ALL,
    "GET /live": ALL,
    "GET /": {"operator", "admin"},
    "GET /window/rows": {"operator", "admin"},
    "GET /candidates/{id}/edit": {"operator", "admin"},
    "POST /candidates/{id}": {"operator", "admin"},
    "POST /jobs/{id}/{verb:str}": ALL,
    "GET /attention": {"operator", "admin"},
    "GET /attention/list": {"operator", "admin"},
    "GET /find": ALL,
    "GET /conversations/{name}": ALL,
    "GET /conversations/{name}/part": ALL,
    "POST /conversations/{name}/{verb}": {"operator", "admin"},
    "GET /jobs/{id}": ALL,
    "GET /dead-letters": {"ops", "admin"},
    "GET /dead-letters/{id}": {"ops", "admin"},
    "POST /dead-letters": {"ops", "admin"},
    "POST /dead-letters/{id}/{verb}": {"ops", "admin"},
    "GET /queues": {"ops", "admin"},
    "GET /queues/part": {"ops", "admin"},
    "POST /queues/check-up": {"ops", "admin"},
    "GET /costs": ALL,
    "GET /rules": {"operator", "admin"},
    "POST /rules/dry-run": {"operator", "admin"},
    "POST /rules/{name}/switch": {"admin"},
    "GET /agents": ALL,
    "GET /chatting": ALL,
    "POST /parameters/{sheet}": {"admin"},
    "GET /personas": ALL,
    "GET /personas/{name}": ALL,
    "POST /personas/{name}": {"admin"},
    "POST /personas/{name}/media": {"operator", "admin"},
    "GET /playground": {"operator", "admin"},
    "POST /playground": {"operator", "admin"},
}
SHOWN = (
    "/",
    "/attention",
    "/costs",
    "/rules",
    "/agents",
    "/chatting",
    "/personas",
    "/personas/maya",
    "/playground",
    "/queues",
    "/dead-letters",
    "/organizations",
)


def routes() -> dict[str, Route]:
    found = {}
    for route in PAGES:
        assert isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}:
            found[f"{method} {route.path}"] = route
    return found


def test_every_page_is_in_the_table() -> None:
    found = routes()

    assert set(found) == OPEN | set(ALLOWED)
    needs = {name: getattr(route.endpoint, "need", None) for name, route in found.items()}
    assert {name for name, need in needs.items() if need is None} == OPEN
    assert {name: {role.value for role in need.roles} for name, need in needs.items() if need} == ALLOWED


async def call(visitor: Visitor, route: str) -> int:
    method, path = route.split(" ")
    path = path.replace("{verb:str}", "approve").replace("{verb}", "takeover").replace("{sheet}", "agents")
    path = re.sub(r"\{\w+\}", "nothing-has-it", path)
    answer = await (visitor.get(path) if method == "GET" else visitor.post(path))
    return answer.status_code


async def test_each_role_gets_what_the_table_says(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        found = {}
        for role in sorted(ALL):
            visitor = await signed_in(gateway, role, "acme" if role == "operator" else None)
            for route in sorted(set(ALLOWED) - {"GET /live", "POST /sign-out"}):
                found[route, role] = await call(visitor, route) != 403

    # What ops may not do with a job is refused by its verb: see below.
    assert found == {(route, role): role in ALLOWED[route] for route, role in found} | {
        ("POST /jobs/{id}/{verb:str}", "ops"): found["POST /jobs/{id}/{verb:str}", "ops"]
    }


async def test_ops_may_cancel_and_retry_jobs_and_no_more(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        ops = await signed_in(gateway, "ops")
        verbs = ("approve", "hold", "release", "regenerate", "dismiss", "takeover", "cancel", "retry")
        found = {verb: (await ops.post(f"/jobs/job_1/{verb}")).status_code for verb in verbs}

    assert {verb for verb, status in found.items() if status != 403} == {"cancel", "retry"}


async def test_without_a_session_every_page_leads_to_the_door(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        stranger = Visitor(gateway.http)
        found = set()
        for route in ALLOWED:
            method, path = route.split(" ")
            path = re.sub(r"\{[\w:]+\}", "x", path)
            answer = await (stranger.get(path) if method == "GET" else stranger.post(path))
            found.add((answer.status_code, answer.headers.get("location")))

    assert found == {(303, "/console/sign-in")}


async def test_the_key_of_an_app_opens_nothing(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        key = await gateway.key("app", "acme")
        visitor = Visitor(gateway.http)
        refused = await visitor.sign_in(key=key)
        by_header = await gateway.http.get("/console/", headers={"Authorization": f"Bearer {key}"})

    assert (refused.status_code, "replique" in visitor.cookies) == (401, False)
    assert "key of an app" in refused.text
    assert (by_header.status_code, by_header.headers["location"]) == (303, "/console/sign-in")


async def test_a_revoked_key_and_a_disabled_user_are_out_at_once(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        by_key = await signed_in(gateway, "operator", "acme")
        key = next(
            one["id"] for one in (await gateway.call("GET", "/v1/keys")).json()["items"] if one["role"] == "operator"
        )
        by_password, user = await somebody(gateway)
        before = [(await one.get("/")).status_code for one in (by_key, by_password)]
        await gateway.call("DELETE", f"/v1/keys/{key}")
        await gateway.call("DELETE", f"/v1/users/{user}")
        after = [(await one.get("/")).status_code for one in (by_key, by_password)]

    assert (before, after) == ([200, 200], [303, 303])


async def somebody(gateway: Gateway, password: str = "a short sentence") -> tuple[Visitor, str]:
    """Zoe, an operator of `acme`, in by the password she has set under her link; and her id."""
    made = await gateway.call("POST", "/v1/users", {"name": "zoe", "email": "Zoe@acme.example"}, org="acme")
    assert made.status_code == 201, made.text
    visitor = Visitor(gateway.http)
    path = made.json()["link"]["url"].partition("/console")[2]
    await visitor.get(path)
    answer = await visitor.post(path, {"password": password, "again": password})
    assert answer.status_code == 303, answer.text
    await visitor.get("/costs")
    return visitor, made.json()["id"]


async def test_a_link_works_once_and_the_password_ever_after(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        made = await gateway.call("POST", "/v1/users", {"name": "zoe", "email": "zoe@acme.example"}, org="acme")
        path = made.json()["link"]["url"].partition("/console")[2]
        visitor = Visitor(gateway.http)
        await visitor.get(path)
        short = await visitor.post(path, {"password": "too short", "again": "too short"})
        other = await visitor.post(path, {"password": "a short sentence", "again": "another sentence"})
        first = await visitor.post(path, {"password": "a short sentence", "again": "a short sentence"})
        again = await Visitor(gateway.http).get(path)
        wrong = await Visitor(gateway.http).sign_in(email="zoe@acme.example", password="a short sentenc")
        right = await Visitor(gateway.http).sign_in(email="ZOE@acme.example", password="a short sentence")
        kept = await gateway.run("SELECT password FROM users")

    assert [answer.status_code for answer in (short, other, first, again, wrong, right)] == [
        422, 422, 303, 404, 401, 303,
    ]  # fmt: skip
    assert kept.startswith("$argon2id$")


async def test_a_new_link_signs_out_who_was_in(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        zoe, user = await somebody(gateway)
        link = (await gateway.call("POST", f"/v1/users/{user}/link", org="acme")).json()["url"]
        before = (await zoe.get("/")).status_code
        other = Visitor(gateway.http)
        await other.get(link.partition("/console")[2])
        await other.post(link.partition("/console")[2], {"password": "another sentence", "again": "another sentence"})
        after = (await zoe.get("/")).status_code
        old = (await Visitor(gateway.http).sign_in(email="zoe@acme.example", password="a short sentence")).status_code

    assert (before, after, old) == (200, 303, 401)


@pytest.mark.parametrize("passed", ["idle", "absolute"])
async def test_a_session_ends(database_url: str, passed: str) -> None:
    short = {"REPLIQUE_CONSOLE__IDLE_MINUTES": "30", "REPLIQUE_CONSOLE__SESSION_HOURS": "10"}
    ages = {"idle": "seen_at = seen_at - interval '31 min'", "absolute": "created_at = created_at - interval '11 h'"}
    async with a_gateway(database_url, **short) as gateway:
        await gateway.organization("acme")
        visitor = await signed_in(gateway, "operator", "acme")
        before = (await visitor.get("/")).status_code
        await gateway.run(f"UPDATE console_sessions SET {ages[passed]}")
        after = (await visitor.get("/")).status_code

    assert (before, after) == (200, 303)


async def test_what_a_page_fetches_by_itself_keeps_no_session_alive(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        visitor = await signed_in(gateway, "operator", "acme")
        await gateway.run("UPDATE console_sessions SET seen_at = seen_at - interval '10 min'")
        seen = "SELECT clock_timestamp() - seen_at > interval '9 min' FROM console_sessions"
        await visitor.get("/window/rows?ids=job_1", x_live="1")
        by_itself = await gateway.run(seen)
        await visitor.get("/")
        by_hand = await gateway.run(seen)

    assert (by_itself, by_hand) == (True, False)


async def test_signing_out_ends_the_session_for_good(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        visitor = await signed_in(gateway, "operator", "acme")
        cookies = dict(visitor.cookies)
        await visitor.post("/sign-out")
        visitor.cookies = cookies
        again = await visitor.get("/")

    assert again.status_code == 303


async def test_a_form_without_the_sessions_token_is_refused(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        visitor, other = await signed_in(gateway, "operator", "acme"), await signed_in(gateway, "admin")
        await visitor.get("/")
        forged = [
            await visitor.post("/choose", {"csrf": csrf, "language": "fr"}) for csrf in ("", "0" * 64, other.csrf)
        ]
        elsewhere = await visitor.post("/choose", {"language": "fr"}, origin="https://evil.example")
        ours = await visitor.post("/choose", {"language": "fr"}, origin="http://it")
        door = await Visitor(gateway.http).post("/sign-in", {"csrf": "0" * 64, "key": ADMIN})

    assert [answer.status_code for answer in (*forged, elsewhere, ours, door)] == [403, 403, 403, 403, 303, 403]


async def test_every_form_has_its_token_and_every_page_its_policy(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        admin = await signed_in(gateway, "admin")
        found = {path: await admin.get(path) for path in SHOWN}
        door = await Visitor(gateway.http).get("/sign-in")

    for path, answer in {**found, "door": door}.items():
        assert answer.status_code == 200, path
        assert answer.headers["content-security-policy"] == POLICY
        assert (answer.headers["x-frame-options"], answer.headers["cache-control"]) == ("DENY", "no-store")
        forms = FORM.findall(answer.text)
        assert forms
        assert [form for form in forms if 'name="csrf"' not in form] == []
    assert "unsafe" not in POLICY


async def test_the_cookie_is_out_of_reach(database_url: str) -> None:
    async with a_gateway(database_url, PUBLIC_URL="https://acme.example") as gateway:
        visitor = Visitor(gateway.http)
        answer = await visitor.sign_in(key=ADMIN)
        cookie = next(line for line in answer.headers.get_list("set-cookie") if line.startswith("__Host-replique"))

    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {"httponly", "path=/", "samesite=lax", "secure"}


async def test_who_guesses_is_stopped_and_others_are_not(database_url: str) -> None:
    async with a_gateway(database_url, REPLIQUE_CONSOLE__FAILED_SIGN_INS="3") as gateway:
        await gateway.organization("acme")
        guesses = [
            (await Visitor(gateway.http).sign_in(email="zoe@acme.example", password=f"guess {n}")).status_code
            for n in range(5)
        ]
        keys = (await Visitor(gateway.http).sign_in(key="rq_guess")).status_code
        await gateway.run("UPDATE sign_in_failures SET at = at - interval '16 min'")
        later = (await Visitor(gateway.http).sign_in(email="zoe@acme.example", password="guess")).status_code

    assert (guesses, keys, later) == ([401, 401, 401, 429, 429], 429, 401)


async def test_an_operator_sees_one_organisation_and_ops_choose(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await gateway.organization("other")
        operator, ops = await signed_in(gateway, "operator", "acme"), await signed_in(gateway, "ops")
        asked = await ops.get("/agents")
        await ops.post("/choose", {"organization": "other"})
        chosen = await ops.get("/agents")
        across = (await operator.post("/choose", {"organization": "other"})).status_code
        astray = (await ops.post("/choose", {"organization": "nowhere"})).status_code

    assert "Which organisation?" in asked.text
    assert '<span class="where">other</span>' in chosen.text
    assert (across, astray) == (404, 404)


async def test_nobody_sees_what_belongs_to_others(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await gateway.organization("other")
        body = {"id": "m-1", "conversation": "c-1", "persona": "maya", "author": "contact", "contact": {"id": "f"}}
        await gateway.call("POST", "/v1/messages", {**body, "text": "coucou"}, org="acme")
        stranger = await signed_in(gateway, "operator", "other")
        paths = [
            "/jobs/job_1",
            "/conversations/c-1",
            "/conversations/c-1/part",
            "/candidates/bub_1/edit",
            "/find?q=c-1",
        ]
        reads = {path: (await stranger.get(path)).status_code for path in paths}
        rows = await stranger.get("/window/rows?ids=job_1")
        acts = {verb: (await stranger.post(f"/jobs/job_1/{verb}")).status_code for verb in ("approve", "cancel")}
        taken = (await stranger.post("/conversations/c-1/takeover")).status_code

    assert set(reads.values()) == {404}
    assert (rows.text, set(acts.values()), taken) == ("", {404}, 404)


async def test_third_party_text_is_escaped(database_url: str) -> None:
    evil = "<script>alert(1)</script>\" onmouseover='x' {{ 7919*7907 }}"
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        body = {"id": "m-1", "conversation": "c-1", "persona": "maya", "author": "contact", "text": evil}
        await gateway.call("POST", "/v1/messages", {**body, "contact": {"id": "f", "name": evil}}, org="acme")
        visitor = await signed_in(gateway, "operator", "acme")
        shown = await visitor.get("/conversations/c-1")

    assert "&lt;script&gt;alert(1)" in shown.text
    assert ("<script>alert" in shown.text, "62615533" in shown.text) == (False, False)


def test_the_pages_of_the_table_are_all_looked_at() -> None:
    named = {path.split(" ")[1] for path in ALLOWED if path.startswith("GET")}
    plain = {path for path in named if "{" not in path} - {
        "/live",
        "/window/rows",
        "/find",
        "/attention/list",
        "/queues/part",
    }

    assert plain | {"/personas/maya"} == set(SHOWN)
