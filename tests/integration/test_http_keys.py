"""Keys: shown once, hashed, revoked, and where the first one comes from."""

import pytest

from tests.builders_face import ADMIN, a_gateway


async def test_a_key_is_shown_once_and_stored_hashed(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        body = {"role": "operator", "name": "anna", "organization": "acme"}
        made = (await gateway.call("POST", "/v1/keys", body)).json()
        listed = (await gateway.call("GET", "/v1/keys", org="acme")).json()
        rows = await gateway.run(
            "SELECT string_agg(api_keys::text, ' ') || (SELECT string_agg(audit_log::text, ' ') FROM audit_log) "
            "FROM api_keys"
        )
        used = await gateway.call("GET", "/v1/jobs", key=made["key"])

    secret = made.pop("key")
    assert listed == {"items": [made], "next": None}
    assert {"organization": "acme", "name": "anna", "role": "operator"}.items() <= made.items()
    assert secret not in rows
    assert used.status_code == 200


async def test_a_revoked_key_opens_nothing(database_url: str) -> None:
    async with (
        a_gateway(database_url) as gateway,
        a_gateway(database_url, REPLIQUE_GATEWAY__KNOWN_KEY_SECONDS="0") as other,
    ):
        made = (await gateway.call("POST", "/v1/keys", {"role": "ops"})).json()
        before = [(await one.call("GET", "/v1/jobs", key=made["key"])).status_code for one in (gateway, other)]
        revoked = await gateway.call("DELETE", f"/v1/keys/{made['id']}")
        again = await gateway.call("DELETE", f"/v1/keys/{made['id']}")
        after = [(await one.call("GET", "/v1/jobs", key=made["key"])).status_code for one in (gateway, other)]

    assert (before, after) == ([200, 200], [401, 401])
    assert revoked.json()["revoked_at"] == again.json()["revoked_at"] is not None


async def test_roles_and_organisations_go_together(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        wanted = [
            ({"role": "app"}, None, 422),
            ({"role": "app", "organization": "nowhere"}, None, 422),
            ({"role": "app", "organization": "acme"}, "nowhere", 404),
            ({"role": "ops", "organization": "acme"}, None, 422),
            ({"role": "king"}, None, 422),
            ({"role": "app"}, "acme", 201),
            ({"role": "ops"}, "acme", 201),
            ({"role": "admin"}, None, 201),
        ]
        found = [(await gateway.call("POST", "/v1/keys", body, org=org)).status_code for body, org, _ in wanted]

    assert found == [status for _, _, status in wanted]


async def test_the_bootstrap_key_is_made_once_and_stays_revoked(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        keys = (await gateway.call("GET", "/v1/keys")).json()["items"]
        own = await gateway.call("DELETE", f"/v1/keys/{keys[0]['id']}")
        other = (await gateway.call("POST", "/v1/keys", {"role": "admin", "name": "zoe"})).json()["key"]
        await gateway.call("DELETE", f"/v1/keys/{keys[0]['id']}", key=other)
    async with a_gateway(database_url) as gateway:
        refused = await gateway.call("GET", "/v1/keys")
        count = await gateway.run("SELECT count(*) FROM api_keys")

    assert [(key["name"], key["role"], key["organization"]) for key in keys] == [("bootstrap", "admin", None)]
    assert own.status_code == 409, "nobody shuts themselves out"
    assert (refused.status_code, count) == (401, 2)


async def test_pages_of_keys_follow_each_other(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        for n in range(4):
            await gateway.call("POST", "/v1/keys", {"role": "ops", "name": f"n{n}"})
        names, cursor = [], ""
        while cursor is not None:
            page = (await gateway.call("GET", f"/v1/keys?limit=2{cursor and '&cursor=' + cursor}")).json()
            names += [key["name"] for key in page["items"]]
            cursor = page["next"]
        wrong = await gateway.call("GET", "/v1/keys?cursor=yesterday")

    assert names == ["n3", "n2", "n1", "n0", "bootstrap"]
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "cursor")


async def test_what_was_done_with_keys_is_in_the_audit_log(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        made = (await gateway.call("POST", "/v1/keys", {"role": "ops", "name": "carol"})).json()
        await gateway.call("DELETE", f"/v1/keys/{made['id']}", key=ADMIN)
        log = await gateway.run("SELECT json_agg(json_build_array(who, action, subject) ORDER BY id) FROM audit_log")

    assert log == [
        ["environment", "key.created", "key_1"],
        ["bootstrap", "key.created", made["id"]],
        ["bootstrap", "key.revoked", made["id"]],
    ]


async def test_two_people_without_names_are_told_apart(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        operator = {"role": "operator", "organization": "acme"}
        one, two = [(await gateway.call("POST", "/v1/keys", operator)).json() for _ in range(2)]
        message = {"id": "m-1", "conversation": "c-1", "persona": "maya", "author": "contact", "text": "coucou"}
        await gateway.call("POST", "/v1/messages", {**message, "contact": {"id": "fan"}}, org="acme")
        first = await gateway.call("POST", "/v1/conversations/c-1/takeover", key=one["key"])
        second = await gateway.call("POST", "/v1/conversations/c-1/takeover", key=two["key"])
        listed = (await gateway.call("GET", "/v1/keys", org="acme")).json()["items"]

    assert [made["name"] for made in (one, two)] == [f"operator-{made['id']}" for made in (one, two)]
    assert (first.json()["by"], second.status_code, second.json()["by"]) == (one["name"], 409, one["name"])
    assert [key["name"] for key in listed] == [two["name"], one["name"]]


async def test_two_keys_in_use_never_look_like_one_another(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await gateway.organization("other")

        async def made(name: str, org: str = "acme") -> tuple[int, str]:
            answer = await gateway.call("POST", "/v1/keys", {"role": "operator", "name": name, "organization": org})
            return answer.status_code, answer.json().get("name") or answer.json()["detail"]

        first = await gateway.call("POST", "/v1/keys", {"role": "operator", "name": "eve", "organization": "acme"})
        refused = [await made(name) for name in ("eve", "Eve ", "\u00c9ve", "e\u200bve")]
        elsewhere, spaced, blank = await made("eve", "other"), await made(" Zo\u00eb "), await made("  ")
        await gateway.call("DELETE", f"/v1/keys/{first.json()['id']}", org="acme")
        again = await made("Eve")

    assert [status for status, _ in refused] == [409] * 4
    assert all("'eve' is in use" in sentence for _, sentence in refused)
    assert (elsewhere, spaced, blank[0], again) == ((201, "eve"), (201, "Zo\u00eb"), 422, (201, "Eve"))


@pytest.mark.parametrize("redis", ["there", "away", "none"])
async def test_wrong_keys_are_counted_over_all_gateways_where_there_is_redis(
    database_url: str, redis_url: str, redis: str
) -> None:
    courier = {"there": {"REDIS_URL": redis_url}, "away": {"REDIS_URL": "redis://127.0.0.1:1/0"}, "none": {}}[redis]
    limited = {"REPLIQUE_GATEWAY__FAILED_KEYS_PER_MINUTE": "5", **courier}
    async with a_gateway(database_url, **limited) as one, a_gateway(database_url, **limited) as other:
        found = [
            (await gateway.call("GET", "/v1/jobs", key=f"guess-{n}")).status_code
            for n in range(10)
            for gateway in (one, other)
        ]
        known = (await one.call("GET", "/v1/keys")).status_code

    let_through = {"there": 6, "away": 10, "none": 10}[redis]
    assert (found.count(401), found.count(429), known) == (let_through, 20 - let_through, 429)
