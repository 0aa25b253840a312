"""People who may sign in: over HTTP, from a manifest, on the command line."""

from tests.builders_face import a_gateway

ZOE = {"name": "zoe", "email": "Zoe@acme.example", "role": "operator"}


async def test_a_user_is_made_listed_and_disabled_and_the_log_knows_by_whom(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        made = (await gateway.call("POST", "/v1/users", ZOE, org="acme")).json()
        link = made.pop("link")
        listed = (await gateway.call("GET", "/v1/users", org="acme")).json()["items"]
        again = (await gateway.call("POST", f"/v1/users/{made['id']}/link", org="acme")).json()
        disabled = (await gateway.call("DELETE", f"/v1/users/{made['id']}", org="acme")).json()
        refused = await gateway.call("POST", f"/v1/users/{made['id']}/link", org="acme")
        log = await gateway.run(
            "SELECT string_agg(who || ' ' || action || ' ' || subject, ', ' ORDER BY id) FROM audit_log "
            "WHERE action LIKE 'user.%'"
        )
        kept = await gateway.run("SELECT string_agg(hash, ',') FROM user_links")

    assert (made["email"], made["organization"], made["has_password"]) == ("zoe@acme.example", "acme", False)
    assert listed == [made]
    assert link["url"].startswith("http://127.0.0.1:8080/console/link/")
    assert link["url"] != again["url"]
    assert disabled["disabled_at"] is not None
    assert refused.status_code == 409
    assert log == "bootstrap user.created zoe, bootstrap user.linked zoe, bootstrap user.disabled zoe"
    assert link["url"].rpartition("/")[2] not in kept


async def test_names_and_emails_are_one_persons(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await gateway.key("operator", "acme", "bob")
        await gateway.call("POST", "/v1/users", ZOE, org="acme")
        answers = [
            await gateway.call("POST", "/v1/users", {**ZOE, **other}, org="acme")
            for other in ({}, {"name": "zoe2"}, {"name": "bob", "email": "bob@acme.example"}, {"email": "nobody"})
        ]
        homeless = await gateway.call("POST", "/v1/users", {**ZOE, "email": "y@acme.example"})
        ops = await gateway.call("POST", "/v1/users", {"name": "olga", "email": "o@acme.example", "role": "ops"})

    assert [answer.status_code for answer in (*answers, homeless, ops)] == [409, 422, 422, 422, 422, 201]


async def test_a_manifest_describes_users(database_url: str) -> None:
    zoe = {"kind": "User", "name": "zoe", "email": "zoe@acme.example", "role": "operator", "locale": "fr"}
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        results = [
            (await gateway.call("POST", "/v1/apply", {"resources": [{**zoe, **change}]}, org="acme")).json()
            for change in ({}, {}, {"locale": "en"})
        ]
        strange = await gateway.call("POST", "/v1/apply", {"resources": [{**zoe, "role": "app"}]}, org="acme")
        password = await gateway.call("POST", "/v1/apply", {"resources": [{**zoe, "password": "x"}]}, org="acme")

    assert [result["resources"][0]["result"] for result in results] == ["created", "unchanged", "updated"]
    assert (strange.status_code, password.status_code) == (422, 422)


async def test_an_organisation_sees_its_own_users_alone(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await gateway.organization("other")
        made = (await gateway.call("POST", "/v1/users", ZOE, org="acme")).json()["id"]
        listed = (await gateway.call("GET", "/v1/users", org="other")).json()["items"]
        astray = await gateway.call("DELETE", f"/v1/users/{made}", org="other")

    assert (listed, astray.status_code) == ([], 404)
