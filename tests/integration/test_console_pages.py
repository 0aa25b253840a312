"""What the pages do, without a browser: forms in, HTML out, and the database as it is afterwards."""

import asyncio
import json
import re
from typing import Any

from tests.builders_face import ADMIN, Gateway, a_gateway
from tests.integration.test_http_steering import held
from tests.visitor import Visitor, signed_in
from workers.adapters.postgres.views.changes import Changes
from workers.gateway.console.live import Hub

HTMX = {"hx_request": "true", "hx_current_url": "http://it/console/"}


async def anna_and_a_held_reply(gateway: Gateway, *texts: str) -> tuple[Visitor, str]:
    job = await held(gateway, *texts)
    anna = await signed_in(gateway, "operator", "acme", "anna")
    await anna.get("/")
    return anna, job


async def test_the_window_shows_what_waits_and_the_servers_time(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        anna, job = await anna_and_a_held_reply(gateway, "salut", "ça va ?")
        page = (await anna.get("/")).text
        due = await gateway.run("SELECT round(extract(epoch FROM due_at) * 1000) FROM jobs")
        now = await gateway.run("SELECT extract(epoch FROM clock_timestamp()) * 1000")

    assert f'data-due="{due}"' in page
    assert 0 <= float(now) - int(re.findall(r'data-now="(\d+)"', page)[0]) < 10_000
    assert (page.count("<article"), f'id="{job}"' in page, "ça va ?" in page) == (1, True, True)


async def test_every_action_does_what_its_route_does_under_the_name_of_who_acts(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        anna, job = await anna_and_a_held_reply(gateway, "un", "deux")
        found = {
            "hold": await anna.post(f"/jobs/{job}/hold", **HTMX),
            "release": await anna.post(f"/jobs/{job}/release", **HTMX),
            "edit": await anna.post("/candidates/bub_2", {"job": job, "text": "UN", "version": "0"}, **HTMX),
            "drop": await anna.post("/candidates/bub_3", {"job": job, "drop": "1"}, **HTMX),
            "approve": await anna.post(f"/jobs/{job}/approve", **HTMX),
            "cancel": await anna.post(f"/jobs/{job}/cancel", **HTMX),
        }
        log = await gateway.run("SELECT string_agg(action, ' ' ORDER BY id) FROM audit_log WHERE who = 'anna'")

    assert {name: answer.status_code for name, answer in found.items()} == dict.fromkeys(found, 200)
    assert "UN" in found["edit"].text
    assert "deux" not in found["drop"].text
    assert "Nothing of it will leave." in found["cancel"].text
    assert log == (
        "console.signed_in job.held job.released candidate.edited candidate.dropped job.approved job.cancelled"
    )


async def test_who_is_late_is_told_who_when_and_what(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        anna, job = await anna_and_a_held_reply(gateway, "salut")
        bob = await signed_in(gateway, "operator", "acme", "bob")
        await anna.post(f"/jobs/{job}/cancel", **HTMX)
        late = await bob.post(f"/jobs/{job}/approve", **HTMX)
        edit = await bob.post("/candidates/bub_2", {"job": job, "text": "x", "version": "0"}, **HTMX)

    assert late.status_code == 409
    assert re.search(r"Too late: anna was faster, at \d\d:\d\d:\d\d; it is cancelled\.", late.text)
    assert (edit.status_code, "data-remove" in edit.text) == (409, True)


async def test_two_edits_of_one_bubble_do_not_overwrite_each_other(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        anna, job = await anna_and_a_held_reply(gateway, "salut")
        bob = await signed_in(gateway, "operator", "acme", "bob")
        first = await anna.post("/candidates/bub_2", {"job": job, "text": "d'Anna", "version": "0"}, **HTMX)
        second = await bob.post("/candidates/bub_2", {"job": job, "text": "de Bob", "version": "0"}, **HTMX)
        text = await gateway.run("SELECT text FROM candidates WHERE id = 2")

    assert (first.status_code, second.status_code, text) == (200, 409, "d'Anna")
    assert "anna was faster" in second.text
    assert "d&#39;Anna" in second.text


async def test_a_dead_letter_is_run_again_once(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "salut")
        await gateway.run("UPDATE jobs SET state = 'failed', code = 'AR-520', attention = 'open', ended_at = now()")
        await gateway.run(
            "INSERT INTO dead_letters (org_id, source, job_id, code, error, payload) "
            "VALUES (1, 'job', 1, 'AR-520', 'no model', '{}')"
        )
        ops = await signed_in(gateway, "ops")
        listed = await ops.get("/dead-letters")
        first = await ops.post("/dead-letters/dead_1/retry")
        second = await ops.post("/dead-letters/dead_1/retry")
        state = (await gateway.call("GET", f"/v1/jobs/{job}")).json()["state"]

    assert "Every model on the route failed." in listed.text
    assert (first.status_code, second.status_code, state) == (303, 409, "queued")
    assert "it is run again" in second.text


async def test_parameters_keep_their_bounds_and_whoever_is_second_is_told(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme", {"name": "maya", "instructions": "Maya."})
        admin = await signed_in(gateway, "admin")
        page = (await admin.get("/agents?persona=maya")).text
        fields = {"persona": "maya", "version": re.findall(r'name="version" value="(\d+)"', page)[0]}
        bad = await admin.post("/parameters/agents", {**fields, "agent.MaxIterations": "51"})
        good = await admin.post("/parameters/agents", {**fields, "agent.MaxIterations": "7", "agent.Enable": "false"})
        late = await admin.post("/parameters/agents", {**fields, "agent.MaxIterations": "9"})
        spec = await gateway.run("SELECT spec FROM personas")
        log = await gateway.run("SELECT facts FROM audit_log WHERE action = 'persona.updated'")

    assert (bad.status_code, "MaxIterations: from 1 to 50" in bad.text) == (422, True)
    assert (good.status_code, late.status_code) == (200, 409)
    assert "admin-all has changed this at" in late.text
    assert (spec["agent"]["MaxIterations"], spec["agent"]["Enable"], spec["instructions"]) == (7, False, "Maya.")
    assert log["agent"] == {"MaxIterations": [None, 7], "Enable": [None, False]}


async def test_a_disabled_webhook_stays_so_when_a_parameter_is_changed(database_url: str) -> None:
    webhook = {"url": "https://app.example/hook", "secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme", webhook=webhook)
        await gateway.run("UPDATE organizations SET webhook_disabled_at = now()")
        admin = await signed_in(gateway, "admin")
        page = (await admin.get("/agents")).text
        version = re.findall(r'name="version" value="(\d+)"', page)[0]
        saved = await admin.post("/parameters/agents", {"version": version, "agent.MaxIterations": "7"})
        kept = await gateway.run("SELECT webhook_disabled_at IS NOT NULL FROM organizations")
        secret = await gateway.run("SELECT spec -> 'webhook' ->> 'secret' FROM organizations")

    assert (saved.status_code, kept, secret) == (200, True, webhook["secret"])
    assert webhook["secret"] not in page


async def test_two_people_open_a_safety_lock(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        body = {"id": "m-1", "conversation": "c-1", "persona": "maya", "author": "contact", "contact": {"id": "f"}}
        await gateway.call("POST", "/v1/messages", {**body, "text": "j'ai 15 ans"}, org="acme")
        anna, bob = [await signed_in(gateway, "operator", "acme", name) for name in ("anna", "bob")]
        locked = (await anna.get("/conversations/c-1")).text
        await anna.post("/conversations/c-1/reopen", {"reason": "a typo"})
        same = await anna.post("/conversations/c-1/reopen", {"reason": "a typo"})
        still = await gateway.run("SELECT locked_at IS NOT NULL FROM contacts")
        await bob.post("/conversations/c-1/reopen")
        opened = await gateway.run("SELECT locked_at IS NULL FROM contacts")

    assert ("Safety lock" in locked, same.status_code, still, opened) == (True, 409, True, True)


async def test_a_stream_tells_what_changed_and_ends_with_the_session(database_url: str) -> None:
    async with a_gateway(database_url, REPLIQUE_CONSOLE__LOOK_SECONDS="0.1") as gateway:
        anna, job = await anna_and_a_held_reply(gateway, "salut")
        hub: Hub = gateway.app.state.hub
        org = await gateway.run("SELECT id FROM organizations")
        with hub.listening(org) as listener:
            await asyncio.sleep(0.3)
            await anna.post(f"/jobs/{job}/hold", **HTMX)
            await asyncio.wait_for(listener.bell.wait(), 5)
            told, counts = listener.take()
        with hub.listening(org + 1) as stranger:
            await asyncio.sleep(0.3)
            await anna.post(f"/jobs/{job}/release", **HTMX)
            await asyncio.sleep(0.5)

    assert (told.jobs, counts and counts.window) == ({job}, 1)
    assert not stranger.bell.is_set()


async def test_a_row_that_is_committed_late_is_not_missed(database_url: str) -> None:
    insert = "INSERT INTO audit_log (org_id, who, action, subject, facts) VALUES ({org}, 'x', 'x', '{subject}', '{{}}')"
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        org = await gateway.run("SELECT id FROM organizations")
        database = gateway.parts.counter._db
        changes, seconds = Changes(database, lambda: clock[0]), 1.0
        clock = [0.0]
        await changes.since()
        async with database.engine.connect() as slow:
            await slow.exec_driver_sql(insert.format(org=org, subject="slow"))
            await gateway.run(insert.format(org=org, subject="quick"))
            clock[0] += seconds
            first = (await changes.since())[org].names
            await slow.commit()
        clock[0] += seconds
        second = (await changes.since())[org].names
        clock[0] += 20 * seconds
        third = await changes.since()

    assert (first, second, third) == ({"quick"}, {"slow"}, {})


async def test_the_playground_asks_a_model_writes_its_cost_and_sends_nothing(database_url: str) -> None:
    from tests.simulator import running_simulator

    with running_simulator() as simulator:
        model = {"ANTHROPIC_BASE_URL": simulator.base_url, "ANTHROPIC_API_KEY": "sk-simulated"}
        async with a_gateway(database_url, **model) as gateway:
            await gateway.organization("acme")
            anna = await signed_in(gateway, "operator", "acme", "anna")
            await anna.get("/playground")
            said = json.dumps([["contact", "coucou"], ["ai", "salut"], ["system", "ignored"]])
            page = await anna.post("/playground", {"persona": "maya", "said": said, "text": "tu fais quoi ?"})
            bot = await anna.post("/playground", {"persona": "maya", "said": "nonsense", "text": "t'es un bot ?"})
            counted = await counts(gateway)

    assert page.status_code == 200
    assert page.text.count('class="said contact"') == 2
    assert page.text.count('class="said ai"') >= 2
    assert "AR-531" in bot.text
    assert counted["ledger"] >= 1
    assert {table: n for table, n in counted.items() if n and table != "ledger"} == {}


async def counts(gateway: Gateway) -> dict[str, Any]:
    tables = ("ledger", "jobs", "messages", "conversations", "contacts", "candidates", "deliveries", "dead_letters")
    settled = "state <> 'reserved'"
    return {
        table: await gateway.run(f"SELECT count(*) FROM {table} WHERE {settled if table == 'ledger' else 'true'}")
        for table in tables
    }


async def test_without_a_model_the_playground_says_so(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        visitor = Visitor(gateway.http)
        await visitor.sign_in(key=ADMIN)
        answer = await visitor.post("/playground", {"persona": "maya", "text": "coucou"})

    assert answer.status_code == 503
    assert "No model can be asked from this gateway" in answer.text
