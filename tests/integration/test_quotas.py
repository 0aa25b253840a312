"""Places of a plan: taken before a run, one a job, given back by whatever ends it without a reply."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from schemas.claims import Accepted, Claim
from schemas.decisions import Failure, Silence, SilenceReason
from schemas.errors import Code
from schemas.groups import PlanSettings
from schemas.ids import JobId
from schemas.jobs import AutoReply
from schemas.resources import OrganizationSpec, stored
from schemas.settings import Settings
from tests.builders_storage import WEBHOOK, Storage, a_reply, a_storage


def on_a_plan(url: str, replies: int | None, plan: str = "pro", **more: Any) -> AbstractAsyncContextManager[Storage]:
    plans = PlanSettings.model_validate({f"{plan}_replies": replies})
    organization = {"plan": plan, **more.pop("organization", {})}
    return a_storage(url, organization=organization, settings=Settings(plans=plans), **more)


async def used(storage: Storage) -> list[int]:
    """Of each month. The counter is compared with the jobs that hold a place: it may never be wrong."""
    rows = await storage.rows(
        "SELECT used, (SELECT count(*) FROM jobs j WHERE j.quota_month = q.month) AS held FROM quota_counts q"
    )
    assert [row["used"] for row in rows] == [row["held"] for row in rows]
    return [row["used"] for row in rows]


async def facts(storage: Storage, number: int) -> tuple[Any, ...]:
    row = await storage.job(JobId(number))
    return row["state"], row["code"], row["attention"]


async def claimed(storage: Storage, number: int) -> Claim | None:
    return await storage.transitions.claim_run(AutoReply(conversation=number, job=number))


async def test_fifty_claims_at_once_take_the_ten_places_that_are_left(database_url: str) -> None:
    async with on_a_plan(database_url, 15, pool_size=16) as storage:
        for n in range(1, 56):
            await storage.say(f"m-{n}", conversation=f"c-{n}", contact={"id": f"fan-{n}"})
        first = [await claimed(storage, n) for n in range(1, 6)]
        claims = await asyncio.gather(*(claimed(storage, n) for n in range(6, 56)))

        assert all(first)
        assert sum(claim is not None for claim in claims) == 10
        assert await used(storage) == [15]
        failed = await storage.rows("SELECT id, reason, state, attention FROM jobs WHERE code = 'AR-540'")
        assert len(failed) == 40
        assert {(row["state"], row["attention"]) for row in failed} == {("failed", "open")}
        assert {row["reason"] for row in failed} == {"quota_exceeded"}
        (event,) = await storage.rows(
            f"SELECT facts FROM job_events WHERE job_id = {failed[0]['id']} AND to_state = 'failed'"
        )
        assert event["facts"]["detail"].startswith("plan pro: 15 of 15 AI replies of ")


async def test_the_event_the_trace_and_one_webhook_say_what_was_exceeded(database_url: str) -> None:
    async with on_a_plan(database_url, 1) as storage:
        for n in range(1, 4):
            await storage.say(f"m-{n}", conversation=f"c-{n}")
            await claimed(storage, n)

        event = await storage.row("SELECT facts FROM job_events WHERE job_id = 2 AND to_state = 'failed'")
        run = await storage.row("SELECT outcome, trace FROM runs WHERE job_id = 2")
        told = await storage.rows("SELECT body FROM deliveries WHERE type = 'quota.exceeded'")
        month = event["facts"].pop("month")
        assert month in event["facts"].pop("detail")
        assert event["facts"] == {"code": "AR-540", "plan": "pro", "used": 1, "limit": 1}
        (item,) = run["trace"]
        assert (run["outcome"], item["kind"], item["code"]) == ("failed", "guard", "AR-540")
        assert (item["plan"], item["used"], item["limit"]) == ("pro", 1, 1)
        (body,) = [json.loads(row["body"])["data"] for row in told]
        assert body == {"organization": "acme", "plan": "pro", "used": 1, "limit": 1, "month": month}


async def test_a_retry_works_once_the_plan_is_raised(database_url: str) -> None:
    async with on_a_plan(database_url, 1) as storage:
        for n in (1, 2):
            await storage.say(f"m-{n}", conversation=f"c-{n}")
            await claimed(storage, n)
        await storage.transitions.retry(storage.org, JobId(2), "ops")
        still = await claimed(storage, 2)
        assert (still, await facts(storage, 2)) == (None, ("failed", "AR-540", "open"))

        spec = OrganizationSpec.model_validate({"webhook": WEBHOOK, "plan": "enterprise"})
        await storage.rows("UPDATE organizations SET version = 2, spec = :spec", spec=json.dumps(stored(spec)))
        await storage.transitions.retry(storage.org, JobId(2), "ops")
        again = await claimed(storage, 2)

        assert again is not None
        await storage.transitions.record(again, a_reply("oui"))
        assert await facts(storage, 2) == ("held", None, None)
        assert await used(storage) == [2]


async def failed(storage: Storage, claim: Claim) -> None:
    await storage.transitions.record(claim, Failure(Code.NO_CANDIDATE, "nothing"))


async def silent(storage: Storage, claim: Claim) -> None:
    await storage.transitions.record(claim, Silence(SilenceReason.LEFT_ON_READ))


async def cancelled(storage: Storage, claim: Claim) -> None:
    await storage.transitions.cancel(storage.org, claim.job, "ops")


async def held(storage: Storage, claim: Claim) -> None:
    await storage.transitions.record(claim, a_reply("oui"))


async def held_and_superseded(storage: Storage, claim: Claim) -> None:
    await held(storage, claim)
    await storage.say("m-2")


async def held_and_cancelled(storage: Storage, claim: Claim) -> None:
    await held(storage, claim)
    await cancelled(storage, claim)


async def sent(storage: Storage, claim: Claim) -> None:
    await held(storage, claim)
    await storage.transitions.settle(await storage.send(), Accepted())


async def held_and_written_again(storage: Storage, claim: Claim) -> None:
    await held(storage, claim)
    await storage.transitions.regenerate(storage.org, claim.job, "ops", None)
    assert await claimed(storage, 1) is not None


async def taken_up_again(storage: Storage, claim: Claim) -> None:
    """Its worker died: the run goes on elsewhere."""
    await storage.expire_leases()
    assert await claimed(storage, 1) is not None


async def begun_anew(storage: Storage, claim: Claim) -> None:
    """The contact wrote while it was thinking: a second run of the same job."""
    await storage.say("m-2")
    await storage.transitions.record(claim, a_reply("oui"))
    await storage.make_due()
    assert await claimed(storage, 1) is not None


@pytest.mark.parametrize(
    ("end", "left"),
    [
        (failed, 0),
        (silent, 0),
        (cancelled, 0),
        (held_and_superseded, 0),
        (held, 1),
        (held_and_cancelled, 1),
        (sent, 1),
        (held_and_written_again, 1),
        (taken_up_again, 1),
        (begun_anew, 1),
    ],
)
async def test_a_place_is_kept_by_a_reply_and_given_back_by_none(database_url: str, end: Any, left: int) -> None:
    async with on_a_plan(database_url, 1) as storage:
        await storage.say()
        claim = await storage.claim()
        await end(storage, claim)

        assert await used(storage) == [left]


async def test_a_month_is_the_organisations_own(database_url: str) -> None:
    async with on_a_plan(database_url, 1, organization={"timezone": "Pacific/Kiritimati"}) as storage:
        await storage.say()
        await storage.claim()
        row = await storage.row(
            "SELECT month = date_trunc('month', now() AT TIME ZONE 'Pacific/Kiritimati')::date AS own FROM quota_counts"
        )
        assert row["own"]
        await storage.rows("UPDATE quota_counts SET month = month - interval '1 month'")
        await storage.say("m-2", conversation="c-2")
        assert await claimed(storage, 2) is not None


async def test_without_a_plan_nothing_is_counted_and_an_unlimited_one_never_ends(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.claim()
        assert await storage.rows("SELECT 1 FROM quota_counts") == []


async def test_an_unlimited_plan_is_counted(database_url: str) -> None:
    async with on_a_plan(database_url, None, "enterprise") as storage:
        await storage.say()
        await storage.claim()
        assert await used(storage) == [1]
