"""What the distributions say of jobs that really ran, and of their operators."""

from schemas.claims import Accepted
from schemas.decisions import Failure
from schemas.errors import Code
from tests.builders_face import a_gateway
from tests.builders_storage import a_reply, a_reservation, a_step, a_storage


def counters(told: str) -> list[str]:
    """All but the one age, which grows between two scrapes."""
    return sorted(line for line in told.splitlines() if not line.startswith("replique_oldest_due"))


async def test_what_a_reply_took_is_counted_by_every_gateway(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        for n in (1, 2, 3):
            await storage.transitions.save_step(claim, None, a_reservation(claim, n))
            await storage.transitions.save_step(claim, a_step(claim, n), None)
        await storage.transitions.record(claim, a_reply("un", "deux"))
        await storage.rows("UPDATE jobs SET due_at = clock_timestamp() - interval '2 s'")
        await storage.transitions.settle(await storage.send(), Accepted())
        await storage.rows("UPDATE jobs SET due_at = clock_timestamp() - interval '10 ms'")
        await storage.transitions.settle(await storage.send(), Accepted())
        await storage.say("m-2", conversation="c-2")
        await storage.rows("UPDATE jobs SET created_at = created_at - interval '20 s' WHERE state <> 'sent'")
        failed = await storage.claim()
        await storage.transitions.record(failed, Failure(Code.NO_CANDIDATE, "nothing"))
        await storage.transitions.dismiss(storage.org, failed.job, "seen", "zoe")  # no other end of the job
        await storage.rows(
            "INSERT INTO audit_log (org_id, who, action, subject, facts) "
            "SELECT :org, 'zoe', unnest(ARRAY['job.approved', 'job.approved', 'key.made']), 'job_1', '{}'",
            org=storage.org,
        )
    async with a_gateway(database_url) as one, a_gateway(database_url) as other:
        told = (await one.call("GET", "/metrics")).text
        again = (await other.call("GET", "/metrics")).text

    lines = dict(line.rsplit(" ", 1) for line in told.splitlines() if not line.startswith("#"))
    buckets = ('job_seconds_bucket{le="10.0"}', 'job_seconds_bucket{le="30.0"}', "job_seconds_count")
    assert [lines[f"replique_{name}"] for name in buckets] == ["1.0", "2.0", "2.0"]
    of_runs = ('bucket{le="2.0"}', 'bucket{le="3.0"}', "count", "sum")
    assert [lines[f"replique_run_iterations_{name}"] for name in of_runs] == ["0.0", "1.0", "1.0", "3.0"]
    late = ('bucket{le="1.0"}', 'bucket{le="2.5"}', 'bucket{le="+Inf"}')
    assert [lines[f"replique_send_lateness_seconds_{name}"] for name in late] == ["1.0", "2.0", "2.0"]
    actions = [lines[f'replique_window_actions_total{{action="{action}"}}'] for action in ("approve", "cancel")]
    assert actions == ["2.0", "0.0"]
    assert lines['replique_jobs_total{code="AR-552",outcome="failed",pipeline="autoreply"}'] == "1.0"
    assert counters(told) == counters(again)
