"""Which key opens which route, and that organisations are strangers to each other."""

import itertools

import pytest

from tests.builders_face import ADMIN, ROUTES, a_gateway
from workers.gateway.auth import need_of

ALLOWED = {
    "POST /v1/messages": {"app", "operator", "admin"},
    "PATCH /v1/messages/{id}": {"app", "operator", "admin"},
    "DELETE /v1/messages/{id}": {"app", "operator", "admin"},
    "GET /v1/conversations/{id}": {"app", "operator", "ops", "admin"},
    "POST /v1/conversations/{id}/takeover": {"operator", "admin"},
    "POST /v1/conversations/{id}/resume": {"operator", "admin"},
    "POST /v1/conversations/{id}/reopen": {"operator", "admin"},
    "POST /v1/conversations/{id}/consent": {"app", "operator", "admin"},
    "GET /v1/conversations/{id}/consent": {"app", "operator", "ops", "admin"},
    "DELETE /v1/contacts/{id}": {"app", "operator", "admin"},
    "GET /v1/contacts/{id}/export": {"app", "operator", "admin"},
    "GET /v1/erasures/{id}": {"app", "operator", "admin"},
    "GET /v1/jobs": {"app", "operator", "ops", "admin"},
    "GET /v1/jobs/{id}": {"app", "operator", "ops", "admin"},
    "POST /v1/jobs/{id}/approve": {"operator", "admin"},
    "POST /v1/jobs/{id}/cancel": {"operator", "ops", "admin"},
    "POST /v1/jobs/{id}/hold": {"operator", "admin"},
    "POST /v1/jobs/{id}/release": {"operator", "admin"},
    "POST /v1/jobs/{id}/retry": {"operator", "ops", "admin"},
    "POST /v1/jobs/{id}/regenerate": {"operator", "admin"},
    "PATCH /v1/candidates/{id}": {"operator", "admin"},
    "DELETE /v1/candidates/{id}": {"operator", "admin"},
    "POST /v1/attention/{job}/dismiss": {"operator", "admin"},
    "GET /v1/dead-letters": {"ops", "admin"},
    "GET /v1/dead-letters/{id}": {"ops", "admin"},
    "POST /v1/dead-letters/retry": {"ops", "admin"},
    "DELETE /v1/dead-letters": {"ops", "admin"},
    "POST /v1/dead-letters/{id}/retry": {"ops", "admin"},
    "DELETE /v1/dead-letters/{id}": {"ops", "admin"},
    "GET /v1/queues": {"ops", "admin"},
    "GET /v1/costs": {"app", "operator", "ops", "admin"},
    "GET /v1/doctor": {"ops", "admin"},
    "GET /v1/explain/{id}": {"app", "operator", "ops", "admin"},
    "POST /v1/rules/dry-run": {"operator", "admin"},
    "POST /v1/apply": {"admin"},
    "POST /v1/keys": {"admin"},
    "GET /v1/keys": {"admin"},
    "DELETE /v1/keys/{id}": {"admin"},
    "POST /v1/users": {"admin"},
    "GET /v1/users": {"admin"},
    "POST /v1/users/{id}/link": {"admin"},
    "DELETE /v1/users/{id}": {"admin"},
    "POST /v1/documents": {"admin"},
    "POST /v1/payments/{id}/events": {"app", "operator", "admin"},
    "POST /v1/payments/stripe": {"nobody"},  # signed
    "GET /v1/payments/done": {"nobody"},
    "GET /v1/payments/{id}/page": {"nobody"},  # signed
    "POST /v1/payments/{id}/page": {"nobody"},  # signed
    "GET /v1/files/{id}": {"nobody"},
    "GET /healthz": {"nobody"},
    "GET /readyz": {"nobody"},
    "GET /metrics": {"nobody"},
}
GUARDED = [route for route, roles in ALLOWED.items() if "nobody" not in roles]
TAKE_BODY = {
    "POST /v1/messages",
    "PATCH /v1/messages/{id}",
    "POST /v1/jobs/{id}/regenerate",
    "PATCH /v1/candidates/{id}",
    "POST /v1/attention/{job}/dismiss",
    "POST /v1/payments/{id}/events",
    "POST /v1/rules/dry-run",
    "POST /v1/apply",
    "POST /v1/keys",
    "POST /v1/users",
}


def a_call(route: str) -> tuple[str, str, dict[str, str] | None]:
    """The route with an id that nothing has, and a body that is JSON and wrong where one is taken."""
    method, path = route.split()
    path = path.replace("{id}", "nothing-has-it").replace("{job}", "nothing-has-it")
    return method, path, {"strange": "1"} if route in TAKE_BODY else None


def test_every_route_is_in_the_table() -> None:
    needs = {f"{method} {route.path}": need_of(route.endpoint) for route in ROUTES for method in route.methods or ()}

    assert sorted(ALLOWED) == sorted(needs)
    assert {route for route, need in needs.items() if need is None} == set(ALLOWED) - set(GUARDED)


async def test_each_role_may_call_what_the_table_says(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        keys = {
            "app": await gateway.key("app", "acme"),
            "operator": await gateway.key("operator", "acme"),
            "ops": await gateway.key("ops"),
            "admin": ADMIN,
        }
        found, faults = {}, []
        for route, role in itertools.product(GUARDED, keys):
            method, path, body = a_call(route)
            answer = await gateway.call(method, path, body, key=keys[role], org="acme" if role == "admin" else None)
            found[route, role] = answer.status_code != 403
            faults += [(route, role)] if answer.status_code == 500 else []

    assert faults == []
    assert found == {(route, role): role in ALLOWED[route] for route, role in found}


async def test_without_a_good_key_no_route_says_more_than_401(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        found = set()
        for route, key in itertools.product(GUARDED, (None, "rq_wrong", "")):
            method, path, body = a_call(route)
            answer = await gateway.call(method, path, body, key=key)
            found.add((answer.status_code, answer.json()["code"], answer.headers["www-authenticate"]))
        unread = await gateway.call(
            "POST", "/v1/messages", content=b"{", headers={"Content-Type": "text/plain"}, key=None
        )

    assert found == {(401, "AR-401", "Bearer")}
    assert unread.status_code == 401


async def test_only_an_admin_names_the_organisation(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        calls = [
            (await gateway.key("app", "acme"), "acme", 403),
            (await gateway.key("operator", "acme"), "acme", 403),
            (await gateway.key("ops"), "acme", 403),
            (ADMIN, "acme", 200),
            (ADMIN, "nowhere", 404),
            (ADMIN, None, 200),
        ]
        answers = [(await gateway.call("GET", "/v1/jobs", key=key, org=org)).status_code for key, org, _ in calls]

    assert answers == [status for _, _, status in calls]


async def test_an_admin_is_asked_for_the_organisation_where_names_are_not_unique(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        answer = await gateway.call("GET", "/v1/conversations/c-1")

    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"field": "X-Organization", "message": "missing: an admin names the organisation"}
    ]
    assert answer.json()["organizations"] == ["acme"]


async def test_many_wrong_keys_from_one_address_are_429(database_url: str) -> None:
    async with a_gateway(database_url, REPLIQUE_GATEWAY__FAILED_KEYS_PER_MINUTE="2") as gateway:
        found = [(await gateway.call("GET", "/v1/jobs", key=f"rq_{n}")).status_code for n in range(3)]
        known = await gateway.call("GET", "/healthz")

    assert found == [401, 401, 429]
    assert known.status_code == 200


@pytest.mark.parametrize(
    "path", ["/v1/jobs/job_0", "/v1/jobs/job_99999999999999999999", "/v1/jobs/bub_1", "/v1/jobs/1"]
)
async def test_an_id_that_cannot_be_one_is_not_found(database_url: str, path: str) -> None:
    async with a_gateway(database_url) as gateway:
        assert (await gateway.call("GET", path)).status_code == 404


async def test_a_name_that_cannot_be_one_is_not_found(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        for name in ("a%00b", "a%20b", "a" * 129, "%F0%9F%98%80"):
            assert (await gateway.call("GET", f"/v1/conversations/{name}", org="acme")).status_code == 404


async def test_a_guesser_does_not_shut_out_a_key_that_was_good(database_url: str) -> None:
    few = {"REPLIQUE_GATEWAY__FAILED_KEYS_PER_MINUTE": "3", "REPLIQUE_GATEWAY__KNOWN_KEY_SECONDS": "0"}
    async with a_gateway(database_url, **few) as gateway:
        before = await gateway.call("GET", "/v1/keys")
        guesses = [(await gateway.call("GET", "/v1/keys", key=f"guess-{n}")).status_code for n in range(5)]
        after = await gateway.call("GET", "/v1/keys")

    assert guesses == [401, 401, 401, 429, 429]
    assert (before.status_code, after.status_code) == (200, 200)
