"""What jobs, conversations, dead letters, queues and metrics show of the rows behind them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders_face import ADMIN, Gateway, a_gateway
from workers.adapters.files.address import open_files

MODEL = {"n": 1, "kind": "model", "at": "2026-11-30T10:00:01+00:00", "model": "claude-haiku-5-5", "cost_usd": "0.01"}
GUARD = {"n": 1, "kind": "guard", "at": "2026-11-30T10:00:02+00:00", "code": "AR-550", "rule": "max_iterations"}


async def a_conversation(gateway: Gateway, org: str, name: str) -> int:
    """A conversation of an organisation with one contact and one persona; answers its row's id."""
    await gateway.organization(org)
    await gateway.run(
        "INSERT INTO contacts (org_id, name, display_name, profile) SELECT id, 'fan-7', 'Léo', '{\"spent\": 3}' "
        "FROM organizations WHERE name = :org ON CONFLICT DO NOTHING",
        org=org,
    )
    found: int = await gateway.run(
        "INSERT INTO conversations (org_id, persona_id, contact_id, name, inbound_seq, last_position, plan) "
        "SELECT o.id, p.id, k.id, :name, 1, 1, 'sell less' FROM organizations o JOIN personas p ON p.org_id = o.id "
        "JOIN contacts k ON k.org_id = o.id WHERE o.name = :org RETURNING id",
        org=org,
        name=name,
    )
    return found


async def a_job(gateway: Gateway, conversation: int, state: str = "sent", **columns: Any) -> int:
    values = {"queue": "reply", "inbound_seq": 1, "state": state, **columns}
    names, bound = ", ".join(values), ", ".join(f":{name}" for name in values)
    found: int = await gateway.run(
        f"INSERT INTO jobs (org_id, conversation_id, first_message_at, {names}) "
        f"SELECT org_id, id, now(), {bound} FROM conversations WHERE id = :conversation RETURNING id",
        conversation=conversation,
        **values,
    )
    return found


async def a_bubble(gateway: Gateway, job: int, ordinal: int, state: str, text: str = "coucou") -> int:
    found: int = await gateway.run(
        "INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text) "
        "SELECT org_id, id, conversation_id, :ordinal, 'text', :state, :text FROM jobs WHERE id = :job RETURNING id",
        job=job,
        ordinal=ordinal,
        state=state,
        text=text,
    )
    return found


async def a_call(gateway: Gateway, job: int, call: str, state: str = "settled", **columns: Any) -> None:
    values = {"input": 100, "cache_read": 50, "output": 10, "cost_usd": 0.0125, "eur_per_usd": 0.8, **columns}
    names, bound = ", ".join(values), ", ".join(f":{name}" for name in values)
    await gateway.run(
        f"INSERT INTO ledger (call, org_id, pipeline, task, job_id, fence, provider, model, state, outcome, {names}) "
        f"SELECT :call, org_id, 'autoreply', 'reply', id, 1, 'anthropic', 'claude-haiku-5-5', :state, "
        f"CASE WHEN :state = 'settled' THEN 'ok' END, {bound} FROM jobs WHERE id = :job",
        job=job,
        call=call,
        state=state,
        **values,
    )


async def a_run(gateway: Gateway, job: int, outcome: str, *, steps: list[list[Any]], end: list[Any]) -> int:
    run: int = await gateway.run(
        "INSERT INTO runs (job_id, inbound_seq, outcome, trace) VALUES (:job, 1, :outcome, :end) RETURNING id",
        job=job,
        outcome=outcome,
        end=json.dumps(end),
    )
    for n, trace in enumerate(steps, start=1):
        await gateway.run(
            "INSERT INTO run_steps (run_id, n, task, content, trace) VALUES (:run, :n, 'reply', '[]', :trace)",
            run=run,
            n=n,
            trace=json.dumps(trace),
        )
    return run


async def test_a_job_shows_bubbles_cost_trace_and_events(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        conversation = await a_conversation(gateway, "acme", "c-1")
        job = await a_job(gateway, conversation, "failed", code="AR-550", attention="open", claims=2, reason="loop")
        bubble = await a_bubble(gateway, job, 0, "recalled")
        await a_call(gateway, job, "1.1.1")
        await a_call(gateway, job, "1.2.1", discarded=True)
        await a_call(gateway, job, "1.3.1", state="unknown", cost_usd=None)
        await gateway.run("UPDATE ledger SET at = now() - interval '16 min', outcome = NULL WHERE state = 'unknown'")
        await a_call(gateway, job, "1.4.1", state="reserved")
        first = await a_run(gateway, job, "discarded", steps=[[MODEL]], end=[])
        second = await a_run(gateway, job, "failed", steps=[[MODEL], [{**MODEL, "n": 2}]], end=[GUARD])
        await gateway.run(
            "INSERT INTO job_events (org_id, job_id, conversation_id, who, from_state, to_state, why, facts) "
            "SELECT org_id, id, conversation_id, 'worker', 'running', 'failed', 'record', '{\"code\": \"AR-550\"}' "
            "FROM jobs"
        )
        shown = (await gateway.call("GET", f"/v1/jobs/job_{job}")).json()
        listed = (await gateway.call("GET", "/v1/jobs")).json()

    assert shown["candidates"] == [
        {
            "id": f"bub_{bubble}",
            "ordinal": 0,
            "kind": "text",
            "state": "recalled",
            "text": "coucou",
            "media": [],
            "price": None,
            "audio": None,
            "due_at": None,
            "reason": None,
            "version": 0,
        }
    ]
    assert shown["usage"] == {
        "calls": 3,
        "input": 300,
        "cache_read": 150,
        "cache_write": 0,
        "output": 30,
        "cost_usd": "0.025",
        "discarded_cost_usd": "0.0125",
        "unpriced_calls": 1,
    }
    assert shown["trace"] == [
        {"run": f"run_{first}", **MODEL},
        {"run": f"run_{second}", **MODEL},
        {"run": f"run_{second}", **MODEL, "n": 2},
        {"run": f"run_{second}", **GUARD},
    ]
    (event,) = shown["events"]
    assert event.pop("at")
    assert event == {"who": "worker", "from": "running", "to": "failed", "why": "record", "facts": {"code": "AR-550"}}
    head = {"conversation": "c-1", "organization": "acme", "outcome": "failed", "attention": True, "attempts": 2}
    assert head.items() <= shown.items()
    assert listed["items"] == [{**shown, "trace": [], "events": []}]


async def test_a_voice_is_shown_with_a_link_that_still_opens(database_url: str, tmp_path: Path) -> None:
    key, mime = "org_1/speech/a1.ogg", "audio/ogg; codecs=opus"
    await open_files(str(tmp_path)).put(key, b"OggS", mime)
    ended = "http://it/v1/files/org_1~speech~a1.ogg?exp=1&sig=0"
    recording = {"key": key, "url": ended, "mime": mime, "duration_ms": 900, "transcript": "coucou"}
    async with a_gateway(database_url, STORAGE_URL=str(tmp_path), PUBLIC_URL="http://it") as gateway:
        job = await a_job(gateway, await a_conversation(gateway, "acme", "c-1"))
        bubble = await a_bubble(gateway, job, 0, "sent")
        await gateway.run("UPDATE candidates SET kind = 'voice', audio = :audio", audio=json.dumps(recording))
        await gateway.run(
            "INSERT INTO messages (org_id, conversation_id, author, position, kind, text, candidate_id, job_id) "
            "SELECT org_id, conversation_id, 'ai', 1, 'voice', text, id, job_id FROM candidates WHERE id = :bubble",
            bubble=bubble,
        )
        one = (await gateway.call("GET", f"/v1/jobs/job_{job}")).json()["candidates"]
        listed = (await gateway.call("GET", "/v1/jobs")).json()["items"][0]["candidates"]
        said = (await gateway.call("GET", "/v1/conversations/c-1", org="acme")).json()["messages"]
        shown = [item["audio"] for item in (*one, *listed, *said)]
        opened = [await gateway.call("GET", audio["url"].removeprefix("http://it"), key=None) for audio in shown]

    assert [audio | {"url": ""} for audio in shown] == [
        {"url": "", "mime": mime, "duration_ms": 900, "transcript": "coucou"}
    ] * 3
    assert [(answer.status_code, answer.content) for answer in opened] == [(200, b"OggS")] * 3


async def test_only_the_next_held_bubble_has_a_due_time(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        conversation = await a_conversation(gateway, "acme", "c-1")
        job = await a_job(gateway, conversation, "sending", queue="send")
        await gateway.run("UPDATE jobs SET due_at = '2026-11-30T12:00:00Z'")
        for ordinal, state in enumerate(("sent", "held", "held")):
            await a_bubble(gateway, job, ordinal, state)
        shown = (await gateway.call("GET", f"/v1/jobs/job_{job}")).json()

    assert shown["outcome"] is None
    assert [bubble["due_at"] for bubble in shown["candidates"]] == [None, "2026-11-30T12:00:00Z", None]


@pytest.mark.parametrize("simulated", [True, False])
async def test_every_answer_with_a_job_says_whether_a_simulator_plays_the_model(
    database_url: str, simulated: bool
) -> None:
    async with a_gateway(database_url, REPLIQUE_SIMULATOR=str(simulated)) as gateway:
        job = await a_job(gateway, await a_conversation(gateway, "acme", "c-1"), "held")
        one = (await gateway.call("GET", f"/v1/jobs/job_{job}")).json()
        (listed,) = (await gateway.call("GET", "/v1/jobs")).json()["items"]
        live = (await gateway.call("GET", "/v1/conversations/c-1", org="acme")).json()["job"]

    assert [shown["simulated"] for shown in (one, listed, live)] == [simulated] * 3


async def test_jobs_are_found_by_state_code_attention_and_conversation(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        c1, c2 = await a_conversation(gateway, "acme", "c-1"), await a_conversation(gateway, "acme", "c-2")
        other = await a_conversation(gateway, "other", "c-1")
        failed = await a_job(gateway, c1, "failed", code="AR-550", attention="open")
        held = await a_job(gateway, c1, "held")
        sent = await a_job(gateway, c2, "sent")
        strange = await a_job(gateway, other, "held")

        async def find(query: str, org: str | None = None, key: str = ADMIN) -> list[int]:
            page = (await gateway.call("GET", f"/v1/jobs?{query}", org=org, key=key)).json()
            return [int(job["id"].removeprefix("job_")) for job in page["items"]]

        assert await find("") == [strange, sent, held, failed]
        assert await find("", "acme") == [sent, held, failed]
        assert await find("", key=await gateway.key("app", "acme")) == [sent, held, failed]
        assert await find("", key=await gateway.key("ops")) == [strange, sent, held, failed]
        assert await find("state=held&state=failed", "acme") == [held, failed]
        assert await find("code=AR-550") == [failed]
        assert await find("attention=true") == [failed]
        assert await find("attention=false", "acme") == [sent, held]
        assert await find("conversation=c-1") == [strange, held, failed]
        assert await find("conversation=c-1&state=held", "acme") == [held]
        assert await find("conversation=c-3") == []


async def test_pages_of_jobs_follow_each_other(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        conversation = await a_conversation(gateway, "acme", "c-1")
        jobs = [await a_job(gateway, conversation) for _ in range(5)]
        found, cursor = [], ""
        while cursor is not None:
            page = (await gateway.call("GET", f"/v1/jobs?limit=2{cursor and '&cursor=' + cursor}")).json()
            found += [job["id"] for job in page["items"]]
            cursor = page["next"]

    assert found == [f"job_{job}" for job in reversed(jobs)]


async def test_a_conversation_shows_messages_in_order_and_the_live_job(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        conversation = await a_conversation(gateway, "acme", "c-1")
        job = await a_job(gateway, conversation, "sending")
        bubble = await a_bubble(gateway, job, 0, "leaving", "salut")
        lines = [
            ("m-1", "contact", "coucou", None, None, False),
            ("m-2", "contact", "gone", None, None, True),
            (None, "system", "paused", None, None, False),
            (None, "ai", "salut", bubble, job, False),
        ]
        for position, (name, author, line, candidate, of_job, deleted) in enumerate(lines, start=1):
            await gateway.run(
                "INSERT INTO messages (org_id, conversation_id, name, author, position, text, candidate_id, job_id, "
                "attachments, deleted_at) SELECT org_id, id, :name, :author, :position, :text, :candidate, :job, "
                "CASE WHEN :position = 1 THEN CAST(:attachments AS json) END, CASE WHEN :deleted THEN now() END "
                "FROM conversations WHERE id = :conversation",
                conversation=conversation,
                name=name,
                author=author,
                position=position,
                text=line,
                candidate=candidate,
                job=of_job,
                attachments='[{"type": "image", "url": "https://x.test/1"}]',
                deleted=deleted,
            )
        shown = (await gateway.call("GET", "/v1/conversations/c-1", org="acme")).json()
        newest = (await gateway.call("GET", "/v1/conversations/c-1?limit=2", org="acme")).json()
        older = (await gateway.call("GET", f"/v1/conversations/c-1?cursor={newest['next']}", org="acme")).json()

    assert [(m["id"], m["author"], m["text"], m["state"]) for m in shown["messages"]] == [
        ("m-1", "contact", "coucou", None),
        ("msg_3", "system", "paused", None),
        ("msg_4", "ai", "salut", "leaving"),
    ]
    assert shown["messages"][0]["attachments"] == [{"type": "image", "url": "https://x.test/1"}]
    assert (shown["messages"][2]["job"], shown["messages"][2]["candidate"]) == (f"job_{job}", f"bub_{bubble}")
    assert shown["job"]["id"] == f"job_{job}"
    assert shown["contact"]["profile"] == {"spent": 3}
    head = {"id": "c-1", "persona": "maya", "handled_by": "ai", "by": None, "plan": "sell less", "next": None}
    assert head.items() <= shown.items()
    assert [m["id"] for m in newest["messages"]] == ["msg_3", "msg_4"]
    assert [m["id"] for m in older["messages"]] == ["m-1"]


async def test_what_belongs_to_another_organisation_does_not_exist(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        conversation = await a_conversation(gateway, "acme", "c-1")
        await gateway.organization("other")
        job = await a_job(gateway, conversation, "held")
        key = (await gateway.call("POST", "/v1/keys", {"role": "app", "organization": "acme"})).json()["id"]
        await gateway.run(
            "INSERT INTO dead_letters (org_id, source, code, error, payload) "
            "SELECT org_id, 'job', 'AR-571', 'x', '{}' FROM jobs"
        )
        paths = [
            ("GET", f"/v1/jobs/job_{job}"),
            ("GET", "/v1/conversations/c-1"),
            ("GET", "/v1/dead-letters/dead_1"),
            ("DELETE", f"/v1/keys/{key}"),
        ]
        strangers = [(await gateway.call(method, path, org="other")).status_code for method, path in paths]
        mine = await gateway.key("operator", "other")
        steered = [(await gateway.call("GET", path, key=mine)).status_code for _, path in paths[:2]]
        lists = [(await gateway.call("GET", f"/v1/{path}", org="other")).json() for path in ("jobs", "dead-letters")]
        owners = [(await gateway.call(method, path, org="acme")).status_code for method, path in paths]

    assert strangers == [404, 404, 404, 404]
    assert steered == [404, 404]
    assert lists == [{"items": [], "next": None}] * 2
    assert owners == [200, 200, 200, 200]


async def test_ops_is_told_when_a_name_is_not_enough(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        for org, name in (("acme", "c-1"), ("other", "c-1"), ("other", "c-2")):
            await a_conversation(gateway, org, name)
        ops = await gateway.key("ops")
        twice = await gateway.call("GET", "/v1/conversations/c-1", key=ops)
        once = await gateway.call("GET", "/v1/conversations/c-2", key=ops)

    assert (twice.status_code, twice.json()["organizations"]) == (409, ["acme", "other"])
    assert (once.status_code, once.json()["organization"]) == (200, "other")


async def test_dead_letters_are_listed_by_state_and_source(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        conversation = await a_conversation(gateway, "acme", "c-1")
        job = await a_job(gateway, conversation, "failed")
        await a_run(gateway, job, "failed", steps=[[MODEL]], end=[])
        for source, state, of_job in (("job", "open", job), ("delivery", "retried", job), ("queue", "open", None)):
            await gateway.run(
                "INSERT INTO dead_letters (org_id, source, state, job_id, code, error, attempts, payload) "
                "SELECT CASE WHEN :source = 'queue' THEN NULL ELSE id END, :source, :state, :job, 'AR-571', 'gone', 3, "
                "'{\"a\": 1}' FROM organizations",
                source=source,
                state=state,
                job=of_job,
            )

        async def find(query: str, org: str | None = None) -> list[str]:
            page = (await gateway.call("GET", f"/v1/dead-letters?{query}", org=org)).json()
            return [letter["id"] for letter in page["items"]]

        assert await find("") == ["dead_3", "dead_1"]
        assert await find("", "acme") == ["dead_1"]
        assert await find("state=retried") == ["dead_2"]
        assert await find("source=queue") == ["dead_3"]
        letter = (await gateway.call("GET", "/v1/dead-letters/dead_1")).json()

    assert letter["trace"] == [{"run": "run_1", **MODEL}]
    head = {"job": f"job_{job}", "source": "job", "code": "AR-571", "error": "gone", "attempts": 3, "payload": {"a": 1}}
    assert head.items() <= letter.items()


async def test_queues_show_what_waits_of_whom(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        c1, c2 = await a_conversation(gateway, "acme", "c-1"), await a_conversation(gateway, "acme", "c-2")
        c3, other = await a_conversation(gateway, "acme", "c-3"), await a_conversation(gateway, "other", "c-1")
        due = await a_job(gateway, c1, "queued")
        later = await a_job(gateway, c2, "held", queue="send")
        running = await a_job(gateway, c3, "running")
        on_hold = await a_job(gateway, other, "held", queue="send", on_hold=True)
        await gateway.run("UPDATE jobs SET due_at = now() - interval '30 s' WHERE id = :id", id=due)
        await gateway.run("UPDATE jobs SET due_at = now() + interval '1 h' WHERE id = :id", id=later)
        await gateway.run("UPDATE jobs SET dispatched_at = now(), lease_until = now() WHERE id = :id", id=running)
        acme = (await gateway.call("GET", "/v1/queues", org="acme")).json()["items"]
        strangers = (await gateway.call("GET", "/v1/queues", org="other")).json()["items"]
        ready = (await gateway.call("GET", "/readyz")).json()
        metrics = (await gateway.call("GET", "/metrics")).text

    counted = [(q["queue"], q["depth"], q["due"], q["in_flight"]) for q in acme]
    assert counted == [("reply", 1, 1, 1), ("send", 1, 0, 0), ("background", 0, 0, 0)]
    assert 29 < acme[0]["oldest_due_seconds"] < 60
    assert [q["depth"] for q in strangers] == [0, 0, 0]
    assert ready["clock"]["late"] is True
    assert on_hold
    assert 'replique_queue_depth{queue="reply"} 1.0' in metrics
    assert "replique_jobs_on_hold 1.0" in metrics


async def test_metrics_count_what_the_database_knows(database_url: str) -> None:
    async with a_gateway(database_url) as gateway, a_gateway(database_url) as another:
        conversation = await a_conversation(gateway, "acme", "c-1")
        job = await a_job(gateway, conversation, "sent")
        for ordinal, state in enumerate(("sent", "sent", "dropped", "held")):
            await a_bubble(gateway, job, ordinal, "held")
            await gateway.run("UPDATE candidates SET state = :to WHERE ordinal = :at", to=state, at=ordinal)
        await a_call(gateway, job, "1.1.1", cache_write_5m=7)
        await a_call(gateway, job, "1.2.1")
        await a_call(gateway, job, "1.3.1", state="unknown", input=0, cache_read=0, output=0, cost_usd=0.1)
        await gateway.run("UPDATE ledger SET at = now() - interval '16 min', outcome = NULL WHERE state = 'unknown'")
        await a_call(gateway, job, "1.4.1", state="reserved")
        for to, facts in (("failed", '{"code": "AR-550"}'), ("queued", None), ("sent", None)):
            await gateway.run(
                "INSERT INTO job_events (org_id, job_id, conversation_id, who, to_state, why, facts) "
                "SELECT org_id, id, conversation_id, 'w', :to, 'x', CAST(:facts AS jsonb) FROM jobs",
                to=to,
                facts=facts,
            )
        for end, attempts in (("accepted", 3), ("waiting", 2), ("posting", 1)):
            await gateway.run(
                "INSERT INTO deliveries (org_id, queue, webhook_id, type, body, state, attempts) "
                "SELECT id, 'send', :end, 'message.send', '{}', 'posting', 1 FROM organizations",
                end=end,
            )
            for attempt in range(2, attempts + 1):
                for to in ("waiting", "posting"):
                    await gateway.run(
                        "UPDATE deliveries SET state = :to, attempts = :n WHERE webhook_id = :end",
                        to=to,
                        n=attempt if to == "posting" else attempt - 1,
                        end=end,
                    )
            await gateway.run("UPDATE deliveries SET state = webhook_id WHERE webhook_id = :end", end=end)
        await gateway.run(
            "INSERT INTO dead_letters (source, code, error, payload) VALUES ('queue', 'AR-570', 'x', '{}')"
        )
        org = await gateway.run("SELECT id FROM organizations")
        scraped, same = await asyncio.gather(gateway.call("GET", "/metrics", key=None), another.call("GET", "/metrics"))

    wanted = f"""
replique_jobs_total{{code="",outcome="sent",pipeline="autoreply"}} 1.0
replique_jobs_total{{code="AR-550",outcome="failed",pipeline="autoreply"}} 1.0
replique_candidates_total{{kind="text",outcome="sent"}} 2.0
replique_candidates_total{{kind="text",outcome="dropped"}} 1.0
replique_webhook_attempts_total{{outcome="accepted"}} 1.0
replique_webhook_attempts_total{{outcome="not_accepted"}} 4.0
replique_ai_requests_total{{model="claude-haiku-5-5",outcome="ok",provider="anthropic"}} 2.0
replique_ai_requests_total{{model="claude-haiku-5-5",outcome="unknown",provider="anthropic"}} 1.0
replique_ai_tokens_total{{kind="input",model="claude-haiku-5-5",org_id="{org}",pipeline="autoreply"}} 200.0
replique_ai_tokens_total{{kind="cache_write",model="claude-haiku-5-5",org_id="{org}",pipeline="autoreply"}} 7.0
replique_ai_cost_usd_total{{model="claude-haiku-5-5",org_id="{org}",pipeline="autoreply"}} 0.125
replique_ai_cost_eur_total{{model="claude-haiku-5-5",org_id="{org}",pipeline="autoreply"}} 0.1
replique_dead_letters{{source="queue"}} 1.0
replique_dead_letters{{source="job"}} 0.0
"""
    told = {_sorted_labels(line) for line in scraped.text.splitlines()}
    assert [line for line in wanted.split("\n") if line and line not in told] == []
    assert sorted(scraped.text.splitlines()) == sorted(same.text.splitlines())
    assert "acme" not in scraped.text


def _sorted_labels(line: str) -> str:
    name, brace, rest = line.partition("{")
    labels, _, value = rest.partition("}")
    return f"{name}{{{','.join(sorted(labels.split(',')))}}}{value}" if brace else line
