"""What the pages do, without a browser: forms in, HTML out, and the database as it is afterwards."""

import asyncio
import json
import re
from typing import Any

from tests.builders_face import ADMIN, Gateway, a_gateway
from tests.builders_media import a_document
from tests.integration.test_http_steering import held
from tests.scripts import bubbles, call, done
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


PLAN_NOTE = {
    "n": 0,
    "kind": "note",
    "at": "2026-11-30T10:00:01+00:00",
    "note": "the plan from last time was read",
    "plan": "parler de <Lyon>",
}


async def test_the_plan_that_a_run_read_is_shown_and_explained(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        anna, job = await anna_and_a_held_reply(gateway, "salut")
        await gateway.run(
            "INSERT INTO run_steps (run_id, n, task, content, trace) "
            "SELECT max(id), 1, 'reply', '[]', CAST(:trace AS json) FROM runs",
            trace=json.dumps([PLAN_NOTE]),
        )
        shown = (await gateway.call("GET", f"/v1/jobs/{job}")).json()["trace"]
        why = (await gateway.call("GET", f"/v1/explain/{job}")).json()["facts"]
        page = (await anna.get(f"/jobs/{job}")).text
        french = (await anna.get(f"/jobs/{job}", accept_language="fr")).text

    assert [item["plan"] for item in shown if "plan" in item] == [PLAN_NOTE["plan"]]
    assert why["plan"] == PLAN_NOTE["plan"]
    assert "[PLAN] parler de &lt;Lyon&gt;" in page
    assert "the plan from last time was read" in page
    assert "le plan de la dernière fois a été lu" in french


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


FORGED = {
    "ordinal": ("-1", "Not accepted. Place: a whole number, counted from 0"),
    "version": ("abc", "Not accepted. Version: not the one this page had shown; load the page again"),
    "amount": ("dear", "Not accepted. Price: a price such as 12.50"),
}


async def test_a_forged_form_is_told_which_field_is_wrong(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        anna, job = await anna_and_a_held_reply(gateway, "salut")
        found = {
            field: await anna.post("/candidates/bub_2", {"job": job, "currency": "EUR", field: value}, **HTMX)
            for field, (value, _) in FORGED.items()
        }
        large = await anna.post("/candidates/bub_2", {"job": job, "text": "x", "version": "2147483648"}, **HTMX)

    assert {field: answer.status_code for field, answer in found.items()} == dict.fromkeys(FORGED, 422)
    assert [field for field, answer in found.items() if FORGED[field][1] not in answer.text] == []
    assert (large.status_code, FORGED["version"][1] in large.text) == (422, True)


async def test_a_notice_is_never_edited_and_nobody_was_faster(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        anna, job = await anna_and_a_held_reply(gateway, "salut")
        await gateway.run("UPDATE candidates SET kind = 'notice' WHERE id = 2")
        edit = await anna.post("/candidates/bub_2", {"job": job, "text": "x", "version": "0"}, **HTMX)

    assert edit.status_code == 409
    assert "It was refused: a notice can be neither edited nor dropped." in edit.text
    assert "faster" not in edit.text


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


LETTER = (
    "INSERT INTO dead_letters (org_id, source, job_id, code, error, payload) "
    "VALUES (CAST(:org AS bigint), :source, CAST(:job AS bigint), :code, 'x', CAST(:payload AS jsonb))"
)


async def letters_of_two(gateway: Gateway) -> Visitor:
    """Of acme a job that can run again and two that cannot, of globex one, of nobody a queue message."""
    await held(gateway, "salut")
    await gateway.organization("globex")
    await gateway.run("UPDATE jobs SET state = 'failed', code = 'AR-520', attention = 'open', ended_at = now()")
    for org, source, job, code in (
        (1, "job", 1, "AR-520"),
        (1, "job", None, "AR-520"),
        (1, "delivery", None, "AR-560"),
        (2, "job", None, "AR-520"),
    ):
        await gateway.run(LETTER, org=org, source=source, job=job, code=code, payload="{}")
    ops = await signed_in(gateway, "ops")
    await ops.get("/dead-letters")
    return ops


def shown(page: str) -> list[str]:
    return re.findall(r'<article[^>]* id="(dead_\d+)"', page)


async def test_dead_letters_are_narrowed_by_code_source_and_organisation(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        ops = await letters_of_two(gateway)
        asked = (
            "",
            "?code=AR-520",
            "?code=AR-520&organization=acme",
            "?source=delivery",
            "?code=nonsense",
            "?state=purged",
        )
        found = [shown((await ops.get(f"/dead-letters{query}")).text) for query in asked]
        unknown = await ops.get("/dead-letters?organization=nobody")

    everything = ["dead_4", "dead_3", "dead_2", "dead_1"]
    assert found == [everything, ["dead_4", "dead_2", "dead_1"], ["dead_2", "dead_1"], ["dead_3"], everything, []]
    assert unknown.status_code == 404


async def test_all_that_a_filter_finds_is_tried_again_once_it_was_confirmed(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        ops = await letters_of_two(gateway)
        wanted = {"verb": "retry", "code": "AR-520", "organization": "acme"}
        asked = await ops.post("/dead-letters", wanted)
        untouched = await gateway.run("SELECT count(*) FROM dead_letters WHERE state = 'open'")
        until = re.findall(r'name="until" value="([^"]+)"', asked.text)[0]
        await gateway.run(LETTER, org=1, source="job", job=None, code="AR-520", payload="{}")  # nobody has agreed to it
        done = await ops.post("/dead-letters", {**wanted, "sure": "yes", "until": until})
        states = await gateway.run("SELECT string_agg(state, ' ' ORDER BY id) FROM dead_letters")
        job = await gateway.run("SELECT state FROM jobs")

    assert (asked.status_code, "2 dead letters" in asked.text, untouched) == (200, True, 4)
    assert "1 runs again. 1 came too late or cannot be tried again; it stays." in done.text
    assert (states, job) == ("retried open open open open", "queued")
    assert shown(done.text) == ["dead_5", "dead_2"]


async def test_dead_letters_are_thrown_away_and_the_log_says_by_whom_and_by_which_filter(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        ops = await letters_of_two(gateway)
        one = await ops.post("/dead-letters/dead_3/purge?source=delivery")
        await ops.get("/dead-letters")
        asked = await ops.post("/dead-letters", {"verb": "purge", "code": "AR-520"})
        done = await ops.post("/dead-letters", {"verb": "purge", "code": "AR-520", "sure": "yes"})
        states = await gateway.run("SELECT string_agg(state, ' ' ORDER BY id) FROM dead_letters")
        log = await gateway.run(
            "SELECT json_agg(json_build_array(who, subject, facts -> 'filter' ->> 'code') ORDER BY id) "
            "FROM audit_log WHERE action = 'dead_letter.purged'"
        )

    assert (one.status_code, one.headers["location"]) == (303, "/console/dead-letters?source=delivery")
    assert ("3 dead letters" in asked.text, "3 removed." in done.text, states) == (True, True, "purged " * 3 + "purged")
    assert sorted(subject for _, subject, _ in log) == ["dead_1", "dead_2", "dead_3", "dead_4"]
    assert {(who, code) for who, subject, code in log if subject != "dead_3"} == {("ops-all", "AR-520")}


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


async def test_a_rule_is_turned_off_and_on_for_the_next_run_and_the_log_says_by_whom(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        rule = {"kind": "Rule", "name": "calm", "when": "true", "then": {"inject": "Be calm."}, "priority": 3}
        await gateway.call("POST", "/v1/apply", {"resources": [rule]}, org="acme")
        admin = await signed_in(gateway, "admin")
        page = await admin.get("/rules")
        found = []
        for on in ("no", "no", "yes"):
            answer = await admin.post("/rules/calm/switch", {"on": on})
            version = await gateway.run("SELECT strategy_version FROM organizations")
            found.append((answer.status_code, version, await gateway.run("SELECT spec ->> 'enabled' FROM rules")))
        missing = await admin.post("/rules/nobody/switch", {"on": "no"})
        kept = await gateway.run("SELECT spec ->> 'priority' FROM rules")
        log = await gateway.run(
            "SELECT json_agg(json_build_array(who, subject, facts -> 'enabled') ORDER BY id) FROM audit_log "
            "WHERE action = 'rule.updated'"
        )

    assert "Turn off" in page.text
    assert found == [(303, 2, "false"), (303, 2, "false"), (303, 3, "true")]
    assert (missing.status_code, kept) == (404, "3")
    assert log == [["admin-all", "calm", False], ["admin-all", "calm", True]]


async def test_a_media_is_withdrawn_and_brought_back(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        media = {"kind": "MediaItem", "name": "hut", "persona": "maya", "type": "photo", "url": "https://cdn.example/a"}
        await gateway.call("POST", "/v1/apply", {"resources": [media]}, org="acme")
        anna = await signed_in(gateway, "operator", "acme", "anna")
        before = (await anna.get("/personas/maya")).text
        away = await anna.post("/personas/maya/media", {"media": "hut", "on": "no"})
        gone = await gateway.run("SELECT deleted_at IS NOT NULL FROM media_items")
        page = (await anna.get("/personas/maya")).text
        await anna.post("/personas/maya/media", {"media": "hut", "on": "yes"})
        there = await gateway.run("SELECT deleted_at IS NULL FROM media_items")
        unknown = await anna.post("/personas/maya/media", {"media": "nothing", "on": "no"})
        log = await gateway.run("SELECT string_agg(who || ' ' || action, ', ' ORDER BY id) FROM audit_log "
                                "WHERE subject = 'hut' AND action <> 'media.created'")  # fmt: skip

    assert (away.status_code, gone, there, unknown.status_code) == (303, True, True, 404)
    assert ("Withdrawn" in before, "Withdrawn" in page, "Bring back: hut" in page) == (False, True, True)
    assert log == "anna media.withdrawn, anna media.brought_back"


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


async def test_what_happened_while_a_page_was_on_its_way_is_told_to_it(database_url: str) -> None:
    async with a_gateway(database_url, REPLIQUE_CONSOLE__LOOK_SECONDS="0.1") as gateway:
        _, job = await anna_and_a_held_reply(gateway, "salut")
        hub: Hub = gateway.app.state.hub
        org = await gateway.run("SELECT id FROM organizations")
        with hub.listening(org) as first:  # nobody looked when it happened
            await asyncio.wait_for(first.bell.wait(), 5)
            with hub.listening(org) as second, hub.listening(org + 1) as stranger:
                told = [listener.take()[0].jobs for listener in (first, second, stranger)]
        await long_ago(gateway)
        with hub.listening(org) as third:
            await asyncio.sleep(0.5)
            late = third.take()[0].jobs

    assert (told, late) == ([{job}, {job}, set()], set())


async def long_ago(gateway: Gateway) -> None:
    """All that has happened to jobs. The table is only ever added to, but by whoever says so."""
    async with gateway.parts.counter._db.transaction() as connection:
        await connection.exec_driver_sql("SET LOCAL replique.erasing = 'on'")
        await connection.exec_driver_sql("UPDATE job_events SET at = at - interval '1 h'")


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


async def test_the_playground_looks_for_media_and_minds_the_limit_of_a_model_like_a_worker(
    database_url: str, redis_url: str
) -> None:
    from tests.simulator import running_simulator

    with running_simulator() as simulator:
        environment = {
            "ANTHROPIC_BASE_URL": simulator.base_url,
            "ANTHROPIC_API_KEY": "sk-simulated",
            "REDIS_URL": redis_url,
        }
        async with a_gateway(database_url, **environment) as gateway, simulator.control() as model:
            await gateway.organization("acme")
            resources = [a_document("p-1", tags=["montagne"])]
            applied = await gateway.call("POST", "/v1/apply", {"resources": resources}, org="acme")
            anna = await signed_in(gateway, "operator", "acme", "anna")
            await anna.get("/playground")
            looks = {"calls": [call("get_media", kind="free", query="montagne")]}
            await model.script(looks, bubbles("Regarde !"), done(), match="une photo", task="reply")
            found = await anna.post("/playground", {"persona": "maya", "text": "une photo ?"})
            await model.fault("rate_limited", next=1, retry_after=30)
            limited = await anna.post("/playground", {"persona": "maya", "text": "encore"})
            asked = len(await model.requests())
            again = await anna.post("/playground", {"persona": "maya", "text": "et là ?"})
            asked_again = len(await model.requests())
            kept = await gateway.run("SELECT count(*) FROM shown_media")

    assert applied.status_code == 200, applied.text
    assert (found.status_code, limited.status_code, again.status_code) == (200, 200, 200)
    assert "p-1" in found.text
    assert (asked_again - asked, kept) == (0, 0)


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
