"""A contact leaves a rare word wherever their words can go, and is erased: the word is nowhere any more.

Every process is the real one. The clock is stopped before the erasure, so that the test can take its place and leave
a store out: then the word is found, which is what shows that the search would find it.
"""

import asyncio
from collections.abc import AsyncIterator, ItemsView, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import psycopg
import pytest

from schemas.settings import read_settings
from tests import canary, servers
from tests.builders_media import a_document
from tests.integration.test_memory_end_to_end import six_hours_go_by
from tests.scripts import bubbles, call, done
from tests.simulator import RunningSimulator
from tests.stack import Stack, Talk, stack_on_a_database, wait_until
from tests.upstream import Receiver
from workers.adapters.files.address import open_files
from workers.adapters.postgres import erasures
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.rights import Rights
from workers.adapters.postgres.transaction import sql
from workers.clock.sweep import Sweeper
from workers.gateway.wiring import NoCourier
from workers.simulator.control import SimulatorControl

WORD = "zykanarqvist"
CONTACT = f"fan-{WORD}"
HELD = {"control_window_seconds": 60}
TAKEN = ("payments", "memories", "embeddings", "summaries", "media_facts", "ledger")
LEARNED = f"SELECT id FROM chunks WHERE message_id IS NOT NULL AND text LIKE '%{WORD}%'"
VECTORS = "SELECT count(*) FROM chunks WHERE contact_id <> 0"
OLDER = """
INSERT INTO messages (org_id, conversation_id, name, author, position, seq, text)
SELECT org_id, id, name || n, CASE n %% 2 WHEN 1 THEN 'contact' ELSE 'operator' END, n, CASE n %% 2 WHEN 1 THEN 0 END,
       'message ' || n FROM conversations, generate_series(last_position + 1, 24) AS n WHERE name = %(talk)s;
UPDATE conversations SET last_position = 24 WHERE name = %(talk)s
"""


@pytest.fixture(scope="module")
def stack(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> Iterator[Stack]:
    """Of its own: its clock is stopped, and all that is in its stores is read."""
    redis_url = servers.with_redis_database(redis_server, 11)
    with stack_on_a_database(postgres_server, database_template, redis_url, simulator.base_url, receiver) as running:
        yield running


async def test_the_word_of_an_erased_contact_is_nowhere(
    stack: Stack, model: SimulatorControl, redis_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = stack.organization()
    audio = await everything_said(talk, model)
    analyze(stack)
    stack.stop("clock")
    before = places(stack, redis_server)
    assert before >= {
        "contacts",
        "conversations",
        "messages",
        "documents",
        "chunks",
        "candidates",
        "deliveries",
        "jobs",
        "job_events",
        "run_steps",
        "consent_records",
        "audit_log",
        "dead_letters",
        "payments",
        "summaries",
    }
    assert len(rows_of(talk, LEARNED)) == 1, "a fact, beside the passages of a document"
    assert not [place for place in before if place.endswith(".log") or place.startswith(("redis:", "statistics:"))]
    (vectors,) = rows_of(talk, VECTORS)
    assert vectors > 1
    assert (stack.logs / ".replique/files" / audio).is_file()

    receipt = talk.call("DELETE", f"/v1/contacts/{CONTACT}", status=202)
    assert talk.call("DELETE", f"/v1/contacts/{CONTACT}", status=202)["id"] == receipt["id"]
    assert receipt["state"] == "running"
    assert talk.call("GET", f"/v1/contacts/{CONTACT}/export")["code"] == "AR-404"

    async with a_sweeper(stack) as sweeper:
        # Two stores are left out: each is found by the word in it.
        with monkeypatch.context() as left_out:
            left_out.setattr(erasures, "_ABOUT", sql("SELECT 0 AS documents"))
            left_out.setattr(erasures, "doomed", nothing_doomed)
            await sweep(sweeper)
            assert places(stack, redis_server) == {"audit_log", "chunks", "documents"}
            assert (stack.logs / ".replique/files" / audio).is_file()
            assert talk.call("GET", f"/v1/erasures/{receipt['id']}", status=200)["state"] == "running"
        await sweep(sweeper)

    analyze(stack)
    assert places(stack, redis_server) == set()
    assert not list(stack.logs.rglob("*.ogg"))
    ended = talk.call("GET", f"/v1/erasures/{receipt['id']}", status=200)
    assert (ended["state"], {store["state"] for store in ended["stores"]}) == ("done", {"done"})
    rows = {store["store"]: store["rows"] for store in ended["stores"]}
    assert all(
        rows[store]
        for store in (*TAKEN, "messages", "drafts", "jobs", "runs", "webhooks", "documents", "dead_letters", "files")
    ), rows
    assert rows["embeddings"] == vectors, "one of each passage and fact"
    assert {store["store"] for store in ended["stores"]} >= {"files", "queues", "caches"}
    assert shown_as_erased(stack) >= {store: rows[store] for store in TAKEN}.items()

    again = talk.say("coucou", contact={"id": CONTACT})
    assert (again["job"] is not None, again["duplicate"]) == (True, False)


async def everything_said(talk: Talk, model: SimulatorControl) -> str:
    """The word in every place. Answers the key of an audio file."""
    contact = {"id": CONTACT, "name": f"Léo {WORD}", "profile": {"ville": WORD, "tags": [WORD]}}
    document = {
        "kind": "Document",
        "name": f"d-{WORD}",
        "scope": "contact",
        "contact": CONTACT,
        "text": f"Aime {WORD}.",
    }
    talk.call("POST", "/v1/apply", json={"resources": [document]}, status=200)
    turns: list[dict[str, Any]] = [
        {"calls": [call("search_rag", query=f"que sait-on de {WORD} ?"), call("get_media", kind="free", query=WORD)]},
        {
            "calls": [
                call("set_plan", plan=f"Parler de {WORD}."),
                call("send_message", text=f"<b>{WORD}</b>"),
                call("send_message", text=f"Raconte-moi {WORD} !"),
                call("send_vocal", text=f"Bonne nuit, petit {WORD}."),
            ]
        },
    ]
    await model.script(*turns, done(f"I said {WORD}."), match=talk.marker, task="reply")
    picture = [{"type": "image", "url": f"https://img.example/{WORD}.jpg"}]
    said = talk.say(f"je suis {WORD}", id=f"m-{WORD}", contact=contact, attachments=picture)
    sent = talk.ended(said["job"], seconds=60)
    (key,) = rows_of(talk, "SELECT audio ->> 'key' FROM candidates WHERE audio IS NOT NULL")
    assert [bubble["kind"] for bubble in sent["candidates"]] == ["text", "voice"]
    await refused_by_the_receiver(talk, model, contact)
    await edited_and_regenerated(talk, model, contact)
    await remembered(talk, model, contact)
    await sold(talk, model, contact)
    await silenced_and_reopened(talk, contact)
    return str(key)


async def remembered(talk: Talk, model: SimulatorControl, contact: dict[str, Any]) -> None:
    """A long conversation leaves a summary of what its window will cut, and a fact once it is at rest."""
    talk = talk.another()
    await model.script({"text": f"Il a parlé de {WORD}."}, match="You sum up the older part of a chat")
    await model.script(bubbles("Ah oui."), done(), bubbles("Et alors ?"), done(), match=talk.marker, task="reply")
    talk.ended(talk.say("salut", contact=contact)["job"], seconds=60)
    with psycopg.connect(talk.stack.environment["DATABASE_URL"]) as connection:
        for statement in OLDER.split(";"):
            connection.execute(statement.encode(), {"talk": talk.name})
    talk.ended(talk.say("encore moi", contact=contact)["job"], seconds=60)
    wait_until(lambda: rows_of(talk, "SELECT until FROM summaries"), 30, "a summary")
    fact = {"message": 1, "fact": f"Aime {WORD} par-dessus tout."}
    await model.script({"json": {"facts": [fact]}}, match=talk.marker, task="auxiliary")
    six_hours_go_by(talk.stack, talk)
    wait_until(lambda: rows_of(talk, LEARNED), 30, "a fact")


async def sold(talk: Talk, model: SimulatorControl, contact: dict[str, Any]) -> None:
    """Paid for and delivered, under a link that names who it was for."""
    talk = talk.another()
    talk.call("POST", "/v1/apply", json={"resources": [a_document("v-1", "10.00", type="video")]}, status=200)
    offer = {"calls": [call("get_media", kind="paid"), call("send_payment", media_ids=["v-1"], message=f"Pour {WORD}")]}
    await model.script(offer, done(), match=talk.marker, task="reply")
    talk.ended(talk.say("une vidéo ?", contact=contact)["job"], seconds=60)
    (payment,) = [post["payment"] for post in talk.stack.receiver.applied(talk.name)]
    told = {"status": "paid", "reference": "tx-1"}
    paid = talk.call("POST", f"/v1/payments/{payment['id']}/events", json=told, status=200)
    talk.ended(paid["job"], seconds=60)
    with psycopg.connect(talk.stack.environment["DATABASE_URL"]) as connection:
        connection.execute("UPDATE payments SET url = coalesce(url, '') || %s", [f"?for={WORD}"])


async def refused_by_the_receiver(talk: Talk, model: SimulatorControl, contact: dict[str, Any]) -> None:
    talk = talk.another()
    talk.stack.receiver.answers[talk.name] = [400]
    await model.script(bubbles(f"Encore {WORD}."), done(), match=talk.marker, task="reply")
    given_up = talk.ended(talk.say(f"et {WORD} ?", contact=contact)["job"], "failed", 60)
    talk.call("POST", f"/v1/attention/{given_up['id']}/dismiss", json={"reason": f"vu avec {WORD}"}, status=200)
    with psycopg.connect(talk.stack.environment["DATABASE_URL"]) as connection:
        connection.execute(
            f"UPDATE dead_letters SET error = error || ' {WORD}' WHERE job_id = %s", [given_up["id"][4:]]
        )


async def edited_and_regenerated(talk: Talk, model: SimulatorControl, contact: dict[str, Any]) -> None:
    talk = talk.another()
    talk.stack.provision(talk.org, {}, HELD)
    await model.script(bubbles("Oui."), done(), bubbles(f"Non {WORD}."), done(), match=talk.marker, task="reply")
    said = talk.say("tu viens ?", contact=contact)
    held = talk.reaches(said["job"], "held", 60)
    talk.call("POST", f"/v1/jobs/{held['id']}/regenerate", json={"instruction": f"Parle de {WORD}."}, status=200)
    held = wait_until(lambda: again_held(talk, held["id"]), 60, "another draft")
    bubble = held["candidates"][-1]["id"]
    talk.call("PATCH", f"/v1/candidates/{bubble}", json={"text": f"Oui, {WORD}."}, status=200)
    talk.call("PATCH", f"/v1/messages/{said['message']}", json={"text": f"viens {WORD}"}, status=202)
    talk.stack.provision(talk.org, {}, {})


def again_held(talk: Talk, job: str) -> Any:
    found = talk.job(job)
    return found if found["state"] == "held" and any(WORD in b["text"] for b in found["candidates"]) else None


async def silenced_and_reopened(talk: Talk, contact: dict[str, Any]) -> None:
    talk = Talk(talk.stack, talk.org, f"c-{WORD}")
    talk.say("STOP", contact=contact)
    agreed = {"how": "form", "proof": f"https://proof.example/{WORD}"}
    talk.call("POST", f"/v1/conversations/{talk.name}/consent", json=agreed, status=200)
    talk.call("POST", f"/v1/conversations/{talk.name}/takeover", status=200)


@asynccontextmanager
async def a_sweeper(stack: Stack) -> AsyncIterator[Sweeper]:
    settings = read_settings(stack.environment)
    database = Database(stack.environment["DATABASE_URL"], 2)
    files = open_files(str(stack.logs / ".replique/files"))
    try:
        yield Sweeper(Rights(database, settings, NoCourier(), "test"), files)
    finally:
        await database.close()


async def nothing_doomed(_tx: Any) -> list[str]:
    return []


async def sweep(sweeper: Sweeper) -> None:
    """Until nothing has been erased for longer than whoever was thinking keeps a lease."""
    quiet = 0
    while quiet < 25:
        quiet = 0 if await sweeper() else quiet + 1
        await asyncio.sleep(0.02 if not quiet else 0.5)


def places(stack: Stack, redis_server: str) -> set[str]:
    return canary.found_in(WORD, stack.environment["DATABASE_URL"], stack.environment["REDIS_URL"], stack.logs)


def analyze(stack: Stack) -> None:
    with psycopg.connect(stack.environment["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("ANALYZE")


def shown_as_erased(stack: Stack) -> ItemsView[str, int]:
    """What /metrics says, by store."""
    text = httpx2.get(stack.url + "/metrics", timeout=20).text
    lines = [line for line in text.splitlines() if line.startswith('replique_erased_rows_total{reason="contact",')]
    return {line.split('store="')[1].split('"')[0]: int(float(line.rsplit(" ", 1)[1])) for line in lines}.items()


def rows_of(talk: Talk, statement: str) -> list[Any]:
    with psycopg.connect(talk.stack.environment["DATABASE_URL"]) as connection:
        return [row[0] for row in connection.execute(statement).fetchall()]  # type: ignore[call-overload]
