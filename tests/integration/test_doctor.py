"""`doctor` on real servers: what it finds in an installation, and how the command exits."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas.claims import Refused
from schemas.decisions import Parked
from schemas.errors import FailureKind
from tests.builders_face import a_gateway
from tests.builders_storage import a_storage
from tests.fakes_command import fake_gateway
from tests.integration.test_cli import KEY, Shell
from workers.adapters.postgres.views.health import Health
from workers.adapters.postgres.views.snapshot import Snapshots

WEBHOOK = {"url": "https://app.example/hook", "secret": "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"}


def nothing() -> None:
    """Leave it as it is."""


async def examined(
    database_url: str, meanwhile: Callable[[], None] = nothing, **environ: str
) -> dict[str, tuple[str, str]]:
    """By check: (level, sentence); `meanwhile` happens after the gateway has started."""
    async with a_gateway(database_url, **environ) as gateway:
        await gateway.organization("acme", webhook=WEBHOOK)
        await gateway.organization("mute")
        meanwhile()
        answer = (await gateway.call("GET", "/v1/doctor", key=await gateway.key("ops"))).json()
    return {finding["check"]: (finding["level"], finding["sentence"]) for finding in answer["findings"]}


async def test_a_setting_that_nothing_reads_is_named(database_url: str) -> None:
    found = await examined(database_url, AI_MODEL_ASSISTANT="claude-sonnet-5-5", AI_MODEL_REPLY="claude-haiku-5-5")

    assert found["settings"] == ("warning", "set, and read by nothing in this version: AI_MODEL_ASSISTANT")


async def test_what_organisations_set_is_looked_at_too(database_url: str) -> None:
    async with a_gateway(database_url, ANTHROPIC_API_KEY="sk-x") as gateway:
        await gateway.organization("acme", limits={"escalation_minutes": 5}, models={"reply": "claude-of-nobody-9"})
        await gateway.organization("hotel", models={"concierge": "claude-haiku-5-5", "draft": "claude-haiku-5-5"})
        await gateway.organization("plain", limits={"in_flight": 4}, models={"reply": "claude-haiku-5-5"})
        answer = (await gateway.call("GET", "/v1/doctor", key=await gateway.key("ops"))).json()
    found = {finding["check"]: finding["sentence"] for finding in answer["findings"]}

    assert found["settings"] == (
        "set, and read by nothing in this version: limits.escalation_minutes of acme, models.concierge of hotel, "
        "models.draft of hotel"
    )
    assert found["prices"].startswith("no price is known: anthropic:claude-of-nobody-9;")


async def test_who_may_hold_more_than_a_quarter_of_a_workers_threads_is_named_unless_it_is_alone(
    database_url: str,
) -> None:
    async with a_gateway(database_url, REPLIQUE_WORKER__THREADS="32") as gateway:
        await gateway.organization("big", limits={"in_flight": 9})
        ops = await gateway.key("ops")
        alone = (await gateway.call("GET", "/v1/doctor", key=ops)).json()
        await gateway.organization("fair", limits={"in_flight": 8})
        beside = (await gateway.call("GET", "/v1/doctor", key=ops)).json()

    found = [finding["sentence"] for finding in beside["findings"] if finding["check"] == "fairness"]
    assert found == ["may hold more than 8 of a worker's 32 threads, so their flood holds up others: big"]
    assert "fairness" not in {finding["check"] for finding in alone["findings"]}


async def test_an_installation_is_looked_at(database_url: str, redis_url: str, tmp_path: Path) -> None:
    found = await examined(
        database_url,
        REDIS_URL=redis_url,
        ANTHROPIC_API_KEY="sk-x",
        STORAGE_URL=str(tmp_path / "files"),
        REPLIQUE_SIMULATOR="true",
        AI_MODEL_REPLY="gpt-6-luna,claude-haiku-5-5",
    )

    levels = {check: level for check, (level, _) in found.items()}
    assert levels == {
        "postgres": "ok",
        "migration": "ok",
        "pgvector": levels["pgvector"],
        "redis": "ok",
        "clock": "wrong",
        "workers reply": "ok",
        "workers send": "ok",
        "workers background": "ok",
        "webhooks": "warning",
        "model reply": "ok",
        "model review": "ok",
        "model auxiliary": "ok",
        "models": "warning",
        "simulator": "warning",
        "prompt": "ok",
        "storage": "ok",
        "memory": "ok",
    }
    assert found["webhooks"][1].endswith(": mute")
    assert found["model reply"][1] == "task reply asks anthropic:claude-haiku-5-5"
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []


async def test_a_prompt_under_its_models_minimum_is_told_by_segment_with_the_price_of_it(database_url: str) -> None:
    found = await examined(database_url, ANTHROPIC_API_KEY="sk-x", AI_MODEL_REPLY="claude-haiku-4-5")

    level, sentence = found["prompt"]
    told = re.search(r"about (\d+) tokens \(tools (\d+), product (\d+), organisation (\d+), persona (\d+)\)", sentence)
    assert told is not None
    whole, *parts = map(int, told.groups())
    assert (level, sum(parts)) == ("warning", whole)
    assert f"caches from 4096; {4_096 - whole} are missing" in sentence
    assert f"pay ${whole / 1_000:.2f} for it in full, filled up they would read it for $0.41" in sentence


async def test_webhooks_that_fail_again_and_again_are_told_before_they_are_given_up(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un")
        await storage.transitions.settle(await storage.send(), Refused("503", final=False))
        health = Health(Snapshots(storage.database))
        once = await health.server(16)
        await storage.rows("UPDATE deliveries SET attempts = 3")
        often = await health.server(16)
        names = [row["name"] for row in await storage.rows("SELECT name FROM organizations")]

    assert (once.failing_webhook, often.failing_webhook) == ([], names)


async def test_without_redis_key_and_files_it_says_so(database_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"

    def block() -> None:
        folder.rmdir()
        folder.write_text("not a folder any more")

    found = await examined(database_url, block, STORAGE_URL=str(folder))

    wrong = {check for check, (level, _) in found.items() if level == "wrong"}
    assert wrong == {"redis", "model reply", "model review", "model auxiliary", "storage"}


async def test_jobs_that_a_rate_limit_keeps_waiting_are_counted(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        parked = Parked(FailureKind.RATE_LIMITED, "429", counts=False, retry_after=60)
        await storage.transitions.record(await storage.claim(), parked)

    level, sentence = (await examined(database_url))["rate limits"]

    assert (level, "jobs parked: 1," in sentence) == ("warning", True)


def a_shell(folder: Path, **environment: str) -> Shell:
    return Shell(folder, environment)


def finding(level: str) -> dict[str, Any]:
    return {"check": "redis", "level": level, "sentence": "as it is", "next": None if level == "ok" else "do this"}


def test_the_command_exits_1_when_something_is_wrong(tmp_path: Path) -> None:
    results = {}
    with fake_gateway() as fake:
        shell = a_shell(tmp_path, REPLIQUE_URL=fake.url, REPLIQUE_KEY=KEY)
        for level in ("warning", "wrong"):
            fake.answers["GET /v1/doctor"] = (200, {"ok": level != "wrong", "findings": [finding(level)]})
            results[level] = shell("doctor")
        code, out, _ = shell("doctor", "--json")

    assert results["warning"] == (
        0,
        f"ok      gateway: the gateway at {fake.url} answers\nwarning redis: as it is\n        do this\n",
        "",
    )
    assert results["wrong"][0] == code == 1
    assert [found["check"] for found in json.loads(out)["findings"]] == ["gateway", "redis"]


def test_refused_settings_are_a_finding(tmp_path: Path) -> None:
    code, out, _ = a_shell(tmp_path)("doctor", "--json", REPLIQUE_ORGG="x")

    assert (code, json.loads(out)["findings"][0]["sentence"]) == (
        1,
        "the settings are refused: REPLIQUE_ORGG: no such setting",
    )


def test_without_a_gateway_the_servers_are_looked_at_from_here(tmp_path: Path, database_url: str) -> None:
    shell = a_shell(tmp_path, DATABASE_URL=database_url, ANTHROPIC_API_KEY="sk-x")
    code, out, err = shell("doctor")
    away = shell("doctor", REPLIQUE_URL="http://127.0.0.1:9", REPLIQUE_KEY=KEY)

    assert (code, err) == (1, "")
    assert "wrong   redis: REDIS_URL is not set" in out
    assert out.startswith("ok      postgres: PostgreSQL ")
    assert away[0] == 1
    assert away[1].startswith("wrong   gateway: the gateway at http://127.0.0.1:9 cannot be reached")


def test_with_nothing_to_ask_it_says_what_is_missing(tmp_path: Path) -> None:
    code, out, err = a_shell(tmp_path)("doctor")

    assert (code, out, err.startswith("replique: no gateway is known")) == (2, "", True)
