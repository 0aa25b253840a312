"""What people wrote, and what is secret, is nowhere that is not meant for it: not in a log at its loudest, nor in what
is kept of failures, of who did what, of queue messages, nor in the metrics.

Every process is the real one, at log level DEBUG, and everything fails that can: the receiver, the model, a worker, a
manifest, a statement, a queue message, a key, a sign-in.
"""

import json
import signal
from collections.abc import Iterator
from typing import Any

import httpx2
import psycopg
import pytest
from redis import Redis

from tests import canary, servers
from tests.scripts import bubbles, call, done
from tests.simulator import RunningSimulator
from tests.stack import ADMIN_KEY, Stack, Talk, stack_on_a_database, wait_until
from tests.upstream import SECRET, Receiver
from tests.workers import send_raw
from workers.simulator.control import SimulatorControl

MODEL_KEY = "sk-ant-zqprovider"
WORDS = {
    word: f"zq{word}zq"
    for word in (
        "said", "name", "profile", "prompt", "document", "tool", "answer", "remark", "manifest", "body", "header",
        "query", "email", "password", "wrongkey", "queue", "statement", "attachment", "media", "rule", "path", "voice",
    )
}  # fmt: skip
LEGAL = {"queue_name": "reply", "actor_name": "auto_reply", "kwargs": {}, "options": {}}


@pytest.fixture(scope="module")
def stack(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> Iterator[Stack]:
    redis_url = servers.with_redis_database(redis_server, 14)
    loud = {"REPLIQUE_LOG_LEVEL": "DEBUG", "REPLIQUE_LLM__RETRIES": "0", "REPLIQUE_DELIVERY__GIVE_UP_SECONDS": "3"}
    loud |= {"REPLIQUE_QUEUE__LEASE_SECONDS": "3", "REPLIQUE_QUEUE__RENEW_SECONDS": "1"}
    model_url = simulator.base_url
    with stack_on_a_database(postgres_server, database_template, redis_url, model_url, receiver, **loud) as running:
        # The provider's key is one of the secrets: its worker is started anew with one that can be found.
        running.stop("reply")
        running.start(
            "reply", "worker", "--queues", "reply,background", REPLIQUE_INSTANCE="reply-1", ANTHROPIC_API_KEY=MODEL_KEY
        )
        yield running


@pytest.mark.timeout(300)
async def test_nothing_is_overheard(stack: Stack, model: SimulatorControl, receiver: Receiver) -> None:
    talk = a_talk(stack)
    await answered(talk, model)
    await refused_by_the_receiver(talk, model)
    await with_a_model_that_fails(talk, model)
    await with_a_worker_that_dies(talk, model)
    secrets = keys_of(talk) | at_the_door(stack)
    of_strange_requests(talk)
    of_a_failed_statement(stack)
    of_strange_messages(stack)

    forbidden = {*WORDS.values(), SECRET, SECRET.removeprefix("whsec_"), MODEL_KEY, ADMIN_KEY, *secrets}
    kept = {f"log {path.name}": path.read_text(errors="replace") for path in stack.logs.glob("*.log")}
    kept |= {f"table {table}": text for table, text in tables(stack).items()}
    kept |= {f"redis {place}": content.decode() for place, content in canary._redis(stack.environment["REDIS_URL"])}
    kept["metrics"] = httpx2.get(f"{stack.url}/metrics").text
    kept["dead letters"] = json.dumps(letters(stack))
    found = {(place, word) for place, text in kept.items() for word in forbidden if word in text}

    assert found == set()
    assert kept["log reply.log"].count("DEBUG".lower()) + kept["log gateway.log"].count("debug") > 0
    assert len(letters(stack)) >= 4
    assert "zqsaidzq" in str(everything(stack))  # what is looked for is there, where it is meant to be


def a_talk(stack: Stack) -> Talk:
    talk = stack.organization(instructions=WORDS["prompt"], tone=WORDS["prompt"])
    resources: list[dict[str, Any]] = [
        {"kind": "Document", "name": "d", "scope": "organization", "text": f"Les colis partent {WORDS['document']}."},
        {
            "kind": "MediaItem",
            "name": "v-1",
            "persona": "maya",
            "type": "photo",
            "url": f"https://{WORDS['media']}.example/x",
            "description": WORDS["media"],
            "consent_record": WORDS["media"],
        },
        {
            "kind": "Rule",
            "name": "r",
            "when": f"message.text.contains('{WORDS['rule']}')",
            "then": {"inject": WORDS["rule"]},
        },
    ]
    talk.call("POST", "/v1/apply", json={"resources": resources}, status=200)
    return talk


def say(talk: Talk) -> Any:
    contact = {"id": f"fan-{talk.name}", "name": WORDS["name"], "profile": {"x": WORDS["profile"]}}
    picture = [{"type": "image", "url": f"https://{WORDS['attachment']}.example/x.jpg"}]
    return talk.say(f"bonjour {WORDS['said']}", contact=contact, attachments=picture)["job"]


async def answered(talk: Talk, model: SimulatorControl) -> None:
    turns: list[dict[str, Any]] = [
        {"calls": [call("search_rag", query=f"colis {WORDS['tool']}"), call("get_media", kind="free")]},
        {"calls": [call("no_such_tool", text=WORDS["tool"]), call("send_message", texte=WORDS["tool"])]},
        {
            "calls": [
                call("send_message", text=WORDS["answer"]),
                call("send_vocal", text=f"Bonne nuit {WORDS['voice']}."),
            ]
        },
        done(WORDS["remark"]),
    ]
    await model.script(*turns, match=talk.marker, task="reply")
    talk.ended(say(talk), seconds=60)


async def refused_by_the_receiver(talk: Talk, model: SimulatorControl) -> None:
    for answers in ([500, 400], [500] * 60):
        talk = talk.another()
        talk.stack.receiver.answers[talk.name] = list(answers)
        await model.script(bubbles(WORDS["answer"]), done(WORDS["remark"]), match=talk.marker, task="reply")
        talk.ended(say(talk), "failed", 60)


async def with_a_model_that_fails(talk: Talk, model: SimulatorControl) -> None:
    for kind in ("server_error", "bad_json", "refusal", "empty"):
        talk = talk.another()
        await model.fault(kind, next=1, task="reply", match=talk.marker)
        await model.script(done(WORDS["remark"]), done(WORDS["remark"]), match=talk.marker, task="reply")
        talk.ended(say(talk), "failed", 60)


async def with_a_worker_that_dies(talk: Talk, model: SimulatorControl) -> None:
    talk = talk.another()
    await model.script(bubbles(WORDS["answer"], delay=2), done(), match=talk.marker, task="reply")
    job = say(talk)
    talk.reaches(job, "running", 30)
    talk.stack.stop("reply", signal.SIGKILL)
    talk.stack.start(
        "reply", "worker", "--queues", "reply,background", REPLIQUE_INSTANCE="reply-2", ANTHROPIC_API_KEY=MODEL_KEY
    )
    talk.ended(job, seconds=90)


def keys_of(talk: Talk) -> set[str]:
    made = talk.call("POST", "/v1/keys", json={"role": "app", "name": "the app"}, status=201)
    user = talk.call("POST", "/v1/users", json={"name": "zoe", "email": f"{WORDS['email']}@x.example"}, status=201)
    link = user["link"]["url"].rpartition("/")[2]
    httpx2.get(user["link"]["url"])
    return {made["key"], link}


def at_the_door(stack: Stack) -> set[str]:
    """Who gives a wrong key or password; answers the cookie of who gave a right one."""
    for path in ("/v1/jobs", f"/v1/explain/{WORDS['path']}"):
        httpx2.get(stack.url + path, headers={"authorization": f"Bearer {WORDS['wrongkey']}"})
    with httpx2.Client(base_url=stack.url) as browser:
        for fields in ({"email": f"{WORDS['email']}@x.example", "password": WORDS["password"]}, {"key": ADMIN_KEY}):
            page = browser.get("/console/sign-in").text
            csrf = page.partition('name="csrf" value="')[2][:64]
            browser.post("/console/sign-in", data={"csrf": csrf, **fields})
        assert browser.get("/console/organizations").status_code == 200
        return {value for name, value in browser.cookies.items() if "replique" in name and value}


def of_strange_requests(talk: Talk) -> None:
    post = talk.stack.call
    post(
        "POST",
        "/v1/messages",
        content=f'{{"text": "{WORDS["body"]}'.encode(),
        headers={"content-type": "application/json"},
    )
    post("POST", "/v1/messages", json={"id": WORDS["body"] + " ", WORDS["body"]: WORDS["body"], "text": WORDS["body"]})
    post("GET", f"/v1/jobs?conversation={WORDS['query']}%00&state={WORDS['query']}&{WORDS['query']}=1")
    post("GET", f"/v1/conversations/{WORDS['path']}", headers={"x-organization": WORDS["header"]})
    post("GET", f"/{WORDS['path']}/{WORDS['path']}", headers={"x-request-id": WORDS["header"] + "/"})
    secret = {"url": f"https://u:{WORDS['manifest']}@x.example/", "secret": f"whsec_{WORDS['manifest']}"}
    resources: list[dict[str, Any]] = [
        {"kind": "Organization", "name": "bad", "webhook": secret, "ai_context": 5},
        {"kind": "Persona", "name": WORDS["manifest"] + "/", "instructions": [WORDS["manifest"]]},
        {"kind": "Rule", "name": "r", "when": f"{WORDS['manifest']} +", "then": {"inject": WORDS["manifest"]}},
    ]
    for resource in resources:
        post("POST", "/v1/apply", json={"resources": [resource]})
    files = {"file": (WORDS["manifest"], b"%PDF-1.7 " + WORDS["manifest"].encode() + b"\xff")}
    fields = {"name": WORDS["manifest"] + " ", "scope": "organization", "title": WORDS["manifest"]}
    talk.call("POST", "/v1/documents", data={**fields, "name": "pdf"}, files=files)


def of_a_failed_statement(stack: Stack) -> None:
    with psycopg.connect(stack.environment["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("ALTER TABLE dead_letters RENAME TO elsewhere")
        try:
            stack.call("GET", f"/v1/dead-letters?conversation={WORDS['statement']}", status=500)
        finally:
            connection.execute("ALTER TABLE elsewhere RENAME TO dead_letters")


def of_strange_messages(stack: Stack) -> None:
    """To all queues, until each is a dead letter. A plain word by itself is kept in a letter, as names and ids are;
    what people write, and what looks like a secret, is not."""
    word = f"oui, {WORDS['queue']} !"
    url = stack.environment["REDIS_URL"]
    bodies = [
        word.encode(),
        json.dumps({**LEGAL, "args": [{"job": word, "conversation": 1, word: word}]}).encode(),
        json.dumps({**LEGAL, "actor_name": f"{word} said", "args": []}).encode(),
        json.dumps(
            {**LEGAL, "args": [{"job": 1, "conversation": 1}], "kwargs": {"x": MODEL_KEY, word: SECRET}}
        ).encode(),
    ]
    for number, body in enumerate(bodies):
        for queue in ("reply", "send", "background"):
            send_raw(url, queue, body, f"m-{number}")
    with Redis.from_url(url) as redis:
        wait_until(
            lambda: not redis.exists("dramatiq:reply", "dramatiq:send", "dramatiq:background"), 30, "empty queues"
        )
    wait_until(lambda: len([one for one in letters(stack) if one["source"] == "queue"]) >= 9, 30, "letters")


def letters(stack: Stack) -> list[Any]:
    found = stack.call("GET", "/v1/dead-letters?limit=200", status=200)["items"]
    return [stack.call("GET", f"/v1/dead-letters/{one['id']}", status=200) for one in found]


def tables(stack: Stack) -> dict[str, str]:
    """Those that tell of what happened, not of what was said."""
    told = {
        "job_events": "SELECT e::text FROM job_events e",
        "audit_log": "SELECT a::text FROM audit_log a",
        "dead_letters": "SELECT d::text FROM dead_letters d",
        "deliveries": "SELECT coalesce(error, '') FROM deliveries",
        "jobs": "SELECT concat_ws(' ', reason, note, code, ending) FROM jobs",
        "ledger": "SELECT l::text FROM ledger l",
        "tallies": "SELECT t::text FROM tallies t",
        "totals": "SELECT t::text FROM totals t",
        "sign_in_failures": "SELECT s::text FROM sign_in_failures s",
        "console_sessions": "SELECT s::text FROM console_sessions s",
        "api_keys": "SELECT k::text FROM api_keys k",
        "users": "SELECT concat_ws(' ', name, password) FROM users",
    }
    with psycopg.connect(stack.environment["DATABASE_URL"]) as connection:
        return {
            name: "\n".join(str(row[0]) for row in connection.execute(statement.encode()).fetchall())
            for name, statement in told.items()
        }


def everything(stack: Stack) -> list[Any]:
    with psycopg.connect(stack.environment["DATABASE_URL"]) as connection:
        return connection.execute("SELECT text FROM messages").fetchall()
