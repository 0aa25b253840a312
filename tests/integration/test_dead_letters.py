"""Dead letters are listed, tried again and thrown away, one by one and in bulk: over HTTP, on a real database."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest
import redis
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from schemas.claims import Accepted, Refused
from schemas.ids import JobId, OrgId
from schemas.jobs import Deliver
from tests.builders_face import Gateway, a_gateway
from tests.scene import Scene, a_scene
from workers.adapters.postgres.views.dead_letters import LetterFilter, _ids
from workers.runtime import wire

NEVER = Refused("the receiver answered 400", final=True)
HINT = {"actor_name": "of_tomorrow", "args": [{"conversation": 1}]}


@asynccontextmanager
async def a_desk(database_url: str) -> AsyncIterator[tuple[Scene, str]]:
    """A scene, and the key of somebody of ops."""
    async with a_scene(database_url) as scene:
        yield scene, await scene.gateway.key("ops")


async def letters(scene: Scene, key: str, query: str = "") -> list[str]:
    page = await scene.call("GET", f"dead-letters{query}", key=key)
    return [f"{letter['id']} {letter['source']} {letter['state']}" for letter in page["items"]]


async def test_a_reply_that_was_given_up_is_delivered_by_its_letter(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        await scene.reply("un")
        first = await scene.leave()
        await scene.storage.settle(first, NEVER)
        before = await letters(scene, key)
        shown = await scene.call("GET", "dead-letters/dead_1", key=key)
        again = await scene.call("POST", "dead-letters/dead_1/retry", key=key)
        after = await letters(scene, key), await letters(scene, key, "?state=retried")
        second = await scene.leave()
        await scene.storage.settle(second, Accepted())
        late = await scene.call("POST", "dead-letters/dead_1/retry", key=key)
        told = await scene.lines("SELECT who, why FROM job_events WHERE why = 'retry'")
        audit = await scene.lines("SELECT who, action, subject FROM audit_log WHERE action LIKE 'dead_letter%'")
        raised = await scene.one("SELECT count(*) FROM deliveries WHERE type = 'attention.raised'")
        jobs = await scene.jobs()

    assert before == ["dead_1 delivery open"]
    assert (shown["job"], shown["code"], shown["error"], shown["attempts"]) == ("job_1", "AR-560", NEVER.sentence, 1)
    assert (again["state"], after) == ("retried", ([], ["dead_1 delivery retried"]))
    assert (first.webhook_id, jobs) == (second.webhook_id, ["sent 1"])
    assert (scene.answers[-1], late["state"], late["by"]) == (409, "retried", "ops-all")
    assert f"moved there by ops-all at {datetime.fromisoformat(late['at']):%Y-%m-%d %H:%M:%S} UTC" in late["detail"]
    assert (told, audit, raised) == (["ops-all retry"], ["ops-all dead_letter.retried dead_1"], 1)


async def test_a_job_that_is_old_news_keeps_its_letter(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        await scene.reply("un")
        await scene.storage.settle(await scene.leave(), NEVER)
        await scene.say()
        late = await scene.call("POST", "dead-letters/dead_1/retry", key=key)
        still = await letters(scene, key)

    assert (scene.answers[-2], late["code"], late["newer_job"]) == (409, "AR-409", "job_2")
    assert still == ["dead_1 delivery open"]


async def test_two_who_retry_at_once_have_one_effect(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        await scene.reply("un")
        await scene.storage.settle(await scene.leave(), NEVER)
        answers = await asyncio.gather(
            *(scene.gateway.call("POST", "/v1/dead-letters/dead_1/retry", key=key) for _ in range(4))
        )
        moves = await scene.one("SELECT count(*) FROM job_events WHERE why = 'retry'")

    assert (sorted(answer.status_code for answer in answers), moves) == ([200, 409, 409, 409], 1)


async def given_up_webhook(scene: Scene) -> Any:
    """A webhook about a failed job that its receiver refused for good. Answers its posting."""
    await scene.reply("un")
    await scene.storage.settle(await scene.leave(), NEVER)
    number = await scene.one("SELECT id FROM deliveries WHERE type = 'attention.raised'")
    posting = await scene.storage.claim_delivery(Deliver(conversation=1, delivery=number))
    assert posting is not None
    await scene.storage.settle(posting, NEVER)
    return posting


async def test_a_webhook_is_sent_again_under_its_id_and_with_its_body(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        first = await given_up_webhook(scene)
        await scene.call("POST", "dead-letters/dead_2/retry", key=key)
        second = await scene.storage.claim_delivery(Deliver(conversation=1, delivery=first.delivery))
        assert second is not None
        await scene.storage.settle(second, Accepted())
        left = await letters(scene, key)

    assert (first.webhook_id, first.body) == (second.webhook_id, second.body)
    assert left == ["dead_1 delivery open"]


async def test_running_a_job_again_does_not_settle_the_letter_of_its_webhook(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        await given_up_webhook(scene)
        await scene.steer("retry")
        left = await letters(scene, key)

    assert left == ["dead_2 delivery open"]


async def test_a_webhook_of_a_disabled_receiver_stays(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        await given_up_webhook(scene)
        await scene.one("UPDATE organizations SET webhook_disabled_at = now()")
        late = await scene.call("POST", "dead-letters/dead_2/retry", key=key)
        at = await scene.one("SELECT webhook_disabled_at FROM organizations")

    assert (scene.answers[-1], late["reason"]) == (409, "the webhook was disabled by its receiver")
    assert (late["by"], datetime.fromisoformat(late["at"])) == ("receiver", at)
    assert late["detail"].endswith("; apply the Organization with a webhook that works; then retry it")


async def test_whoever_retried_the_job_settled_its_letter(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        await scene.reply("un")
        await scene.storage.settle(await scene.leave(), NEVER)
        await scene.steer("retry")
        late = await scene.call("POST", "dead-letters/dead_1/retry", key=key)
        purged = await scene.call("DELETE", "dead-letters/dead_1", key=key)
        at = await scene.one("SELECT at FROM job_events WHERE why = 'retry'")

    assert [(each["status"], each["by"]) for each in (late, purged)] == [(409, "operator-acme")] * 2
    assert datetime.fromisoformat(late["at"]) == at


async def keep(gateway: Gateway, message: Any = HINT, whole: bool = True) -> None:
    await gateway.parts.transitions.keep_unreadable("reply", json.dumps(message), "no actor", whole)


async def test_the_same_message_again_is_counted_on_its_letter(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        for _ in range(3):
            await keep(gateway)
        await keep(gateway, {"other": 1})
        page = (await gateway.call("GET", "/v1/dead-letters")).json()["items"]

    assert [(letter["id"], letter["attempts"]) for letter in page] == [("dead_4", 1), ("dead_1", 3)]
    assert page[1]["first_seen"] < page[1]["last_seen"]


async def test_a_queue_message_goes_back_on_its_queue(database_url: str, redis_url: str) -> None:
    async with a_gateway(database_url, REDIS_URL=redis_url) as gateway:
        await keep(gateway)
        await keep(gateway, {"text": "[5 characters]"}, whole=False)
        good = await gateway.call("POST", "/v1/dead-letters/dead_1/retry")
        outline = await gateway.call("POST", "/v1/dead-letters/dead_2/retry")
        with redis.Redis.from_url(redis_url) as client:
            waiting = client.hvals(wire.payloads_key("reply"))
            listed = client.llen(wire.list_key("reply"))

    assert ([json.loads(raw) for raw in waiting], listed) == ([HINT], 1)  # type: ignore[union-attr]
    assert (good.json()["state"], outline.status_code) == ("retried", 409)
    assert outline.json()["reason"] == "only its outline was kept"


async def test_without_redis_a_queue_message_keeps_its_letter(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await keep(gateway)
        away = await gateway.call("POST", "/v1/dead-letters/dead_1/retry")
        state = (await gateway.call("GET", "/v1/dead-letters/dead_1")).json()["state"]

    assert (away.status_code, state) == (503, "open")


async def test_bulk_needs_a_filter_and_tells_what_came_too_late(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        await scene.reply("un")
        await scene.storage.settle(await scene.leave(), NEVER)
        await keep(scene.gateway, whole=False)
        refused = await scene.call("POST", "dead-letters/retry", key=key)
        found = await scene.call("POST", "dead-letters/retry?all=true", key=key)
        left = await letters(scene, key)

    assert (scene.answers[-3], refused["errors"][0]["field"]) == (422, "all")
    assert (found["retried"], [late["id"] for late in found["refused"]], found["next"]) == (
        ["dead_1"],
        ["dead_2"],
        None,
    )
    assert left == ["dead_2 queue open"]


async def test_bulk_goes_on_page_by_page_past_what_stays(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        for number in range(5):
            await keep(gateway, {"n": number}, whole=False)
        seen, cursor = [], ""
        while True:
            page = (await gateway.call("POST", f"/v1/dead-letters/retry?source=queue&limit=2{cursor}")).json()
            seen += [late["id"] for late in page["refused"]]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"

    assert seen == ["dead_5", "dead_4", "dead_3", "dead_2", "dead_1"]


async def test_purged_letters_are_gone_but_for_the_fact(database_url: str) -> None:
    async with a_desk(database_url) as (scene, key):
        await scene.reply("un")
        await scene.storage.settle(await scene.leave(), NEVER)
        await keep(scene.gateway)
        one = await scene.call("DELETE", "dead-letters/dead_2", key=key)
        late = await scene.call("DELETE", "dead-letters/dead_2", key=key)
        many = await scene.call("DELETE", "dead-letters?code=AR-560&conversation=c-1", key=key)
        left = await letters(scene, key), await letters(scene, key, "?state=purged")
        audit = await scene.lines(
            "SELECT action, subject, facts -> 'filter' ->> 'conversation' FROM audit_log"
            " WHERE action LIKE 'dead%' ORDER BY id"
        )
        jobs = await scene.jobs()

    assert (one["state"], one["payload"], late["state"]) == ("purged", {}, "purged")
    assert (many["purged"], left) == (["dead_1"], ([], ["dead_2 queue purged", "dead_1 delivery purged"]))
    assert audit == ["dead_letter.purged dead_2 None", "dead_letter.purged dead_1 c-1"]
    assert jobs == ["failed 1 AR-560"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?source=queue", ["dead_2"]),
        ("?code=AR-560", ["dead_1"]),
        ("?job=job_1", ["dead_1"]),
        ("?job=job_2", []),
        ("?conversation=c-1", ["dead_1"]),
        ("?conversation=c-2", []),
        ("?since=2020-01-01T00:00:00Z", ["dead_2", "dead_1"]),
        ("?until=2020-01-01T00:00:00Z", []),
    ],
)
async def test_a_list_is_narrowed(database_url: str, query: str, found: list[str]) -> None:
    async with a_desk(database_url) as (scene, key):
        await scene.reply("un")
        await scene.storage.settle(await scene.leave(), NEVER)
        await keep(scene.gateway)
        assert [line.split()[0] for line in await letters(scene, key, query)] == found


async def test_letters_of_another_organisation_are_not_there(database_url: str) -> None:
    async with a_desk(database_url) as (scene, _):
        await scene.reply("un")
        await scene.storage.settle(await scene.leave(), NEVER)
        await keep(scene.gateway)
        await scene.gateway.organization("other")
        calls = [("POST", "/{}/retry"), ("DELETE", "/{}"), ("GET", "/{}")]
        found = [
            (await scene.gateway.call(method, "/v1/dead-letters" + path.format(letter), org="other")).status_code
            for method, path in calls
            for letter in ("dead_1", "dead_2")
        ]
        bulk = [
            (await scene.gateway.call(method, f"/v1/dead-letters{path}?all=true", org="other")).json()
            for method, path in (("POST", "/retry"), ("DELETE", ""))
        ]
        still = await scene.one("SELECT count(*) FROM dead_letters WHERE state = 'open'")

    assert found == [404] * 6
    assert bulk == [{"retried": [], "refused": [], "next": None}, {"purged": [], "next": None}]
    assert still == 2


@pytest.mark.parametrize("table", ["job_events", "audit_log"])
@pytest.mark.parametrize("change", ["UPDATE {} SET who = 'nobody'", "DELETE FROM {}", "TRUNCATE {}"])
async def test_what_happened_is_only_ever_added_to(database_url: str, table: str, change: str) -> None:
    async with a_desk(database_url) as (scene, _):
        await scene.say()
        with pytest.raises(DBAPIError, match="only ever added to"):
            await scene.one(change.format(table))


async def test_whoever_erases_a_person_says_so(database_url: str) -> None:
    async with a_desk(database_url) as (scene, _):
        await scene.say()
        async with scene.gateway.parts.counter._db.transaction() as connection:
            await connection.exec_driver_sql("SET LOCAL replique.erasing = 'on'")
            await connection.exec_driver_sql("UPDATE job_events SET facts = NULL")
        with pytest.raises(DBAPIError):
            await scene.one("UPDATE job_events SET facts = NULL")


_MANY = """
INSERT INTO dead_letters (org_id, source, state, job_id, code, error, payload)
SELECT o.id, CASE n % 3 WHEN 0 THEN 'queue' WHEN 1 THEN 'job' ELSE 'delivery' END,
       CASE WHEN n % 200 = 0 THEN 'open' WHEN n % 900 = 1 THEN 'purged' ELSE 'retried' END,
       1000000 + n, 'AR-560', 'x', jsonb_build_object('n', n)
FROM organizations o, generate_series(1, 40000) AS n
"""


@pytest.mark.parametrize(
    ("org", "wanted"),
    [
        (None, LetterFilter()),
        (1, LetterFilter()),
        (None, LetterFilter(state="retried")),
        (None, LetterFilter(state="purged")),
        (None, LetterFilter(source="queue")),
        (None, LetterFilter(state="retried", conversation="c-1")),
        (None, LetterFilter(state="retried", job=JobId(1_000_007))),
    ],
)
async def test_a_list_does_not_read_all_letters_there_ever_were(
    database_url: str, org: int | None, wanted: LetterFilter
) -> None:
    async with a_desk(database_url) as (scene, _):
        await scene.say()
        await scene.one(_MANY)
        await scene.one("ANALYZE dead_letters")
        statement, bound = _ids(None if org is None else OrgId(org), wanted, None, 51)
        async with scene.gateway.parts.counter._db.transaction() as connection:
            plan = "\n".join(await connection.scalars(text(f"EXPLAIN {statement.text}"), bound))

    assert "Seq Scan on dead_letters" not in plan
    assert wanted.state == "retried" or "dead_letters_pkey" not in plan
