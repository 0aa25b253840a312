"""Calls of no job that were cut off: what was set aside is their cost, whoever is gone."""

import asyncio

from tests.builders_face import Gateway, a_gateway
from tests.builders_storage import a_storage
from tests.scripts import done
from tests.simulator import running_simulator
from tests.visitor import signed_in
from workers.adapters.postgres.unheard import Unheard

LEDGER = "SELECT string_agg(state || ' ' || coalesce(cost_usd = reserved_usd, false), ' ' ORDER BY at) FROM ledger"
ROW = (
    "INSERT INTO ledger (call, org_id, pipeline, task, job_id, fence, provider, model, state, input, cache_read,"
    " cache_write_5m, cache_write_1h, output, reserved_usd, discarded, at) VALUES (:call, 1, 'autoreply', 'reply',"
    " CAST(:job AS bigint), 1, 'anthropic', 'haiku', 'reserved', 0, 0, 0, 0, 0, 0.5, false,"
    " now() - make_interval(mins => :minutes))"
)


async def until(gateway: Gateway, sql: str) -> None:
    async with asyncio.timeout(20):
        while not await gateway.run(sql):
            await asyncio.sleep(0.05)


async def test_a_playground_run_that_is_cut_off_has_paid_for_what_was_in_flight(database_url: str) -> None:
    with running_simulator() as simulator:
        model = {"ANTHROPIC_BASE_URL": simulator.base_url, "ANTHROPIC_API_KEY": "sk-simulated"}
        async with a_gateway(database_url, **model) as gateway, simulator.control() as control:
            await gateway.organization("acme")
            anna = await signed_in(gateway, "operator", "acme", "anna")
            await anna.get("/playground")
            await control.script(done("late", delay=30), match="tu fais quoi ?", task="reply")
            asking = asyncio.create_task(anna.post("/playground", {"persona": "maya", "text": "tu fais quoi ?"}))
            await until(gateway, "SELECT count(*) FROM ledger WHERE state = 'reserved'")
            asking.cancel()
            await asyncio.wait([asking])
            await until(gateway, "SELECT count(*) = 0 FROM ledger WHERE state = 'reserved'")
            found = await gateway.run(LEDGER)

    assert found == "unknown true"


async def test_what_a_dead_process_left_is_settled_by_the_clock(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        for call, job, minutes in (("old", None, 20), ("older", None, 60), ("of-a-job", 7, 18), ("in-flight", None, 1)):
            await storage.rows(ROW, call=call, job=job, minutes=minutes)
        one_by_one = Unheard(storage.database, batch=1)
        counted = [await one_by_one.settle() for _ in range(3)]
        rows = await storage.rows("SELECT call, state, cost_usd, settled_at IS NULL AS open FROM ledger ORDER BY at")

    assert counted == [1, 1, 0]
    assert [(row["call"], row["state"], row["open"]) for row in rows] == [
        ("older", "unknown", False),
        ("old", "unknown", False),
        ("of-a-job", "reserved", True),
        ("in-flight", "reserved", True),
    ]
    assert [str(row["cost_usd"])[:3] for row in rows] == ["0.5", "0.5", "Non", "Non"]
