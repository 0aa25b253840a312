"""Redis is wiped every second while everybody talks: nothing is lost or doubled, and replies come hardly later."""

from collections.abc import Callable

import pytest

from tests.chaos.load import CALM, Load
from tests.chaos.plan import Fault, Kind
from tests.chaos.show import Result, Show
from tests.chaos.stage import Stage, stage

ADDED_SECONDS = 5.0
DELAYS = """SELECT extract(epoch FROM (SELECT min(k.sent_at) FROM candidates k WHERE k.job_id = j.id)
    - (SELECT max(m.created_at) FROM messages m WHERE m.conversation_id = j.conversation_id
       AND m.author = 'contact' AND m.seq <= j.inbound_seq))::float AS delay
FROM jobs j JOIN conversations c ON c.id = j.conversation_id
WHERE j.state = 'sent' AND j.kind = 'reply' AND starts_with(c.name, '{prefix}') ORDER BY 1"""
EVERY_SECOND = tuple(Fault(float(second), Kind.FLUSH, "redis", 0.0) for second in range(1, 61))


def talked(
    ground: Stage, prefix: str, conversations: int, plan: tuple[Fault, ...], say: Callable[[str], None]
) -> Result:
    """The same load, under other names."""
    load = Load(ground.stack, 1, conversations, 45 if conversations > 50 else 5, CALM, prefix)
    return Show(ground, load, plan, say).run()


def delays(ground: Stage, prefix: str) -> dict[str, float]:
    """From a contact's last word to the first bubble of the answer, in seconds."""
    found = [row["delay"] for row in ground.rows(DELAYS.format(prefix=prefix))]
    return {"p50": found[len(found) // 2], "p95": found[int(len(found) * 0.95)], "max": found[-1]}


@pytest.mark.slow
@pytest.mark.timeout(480)
def test_wiped_every_second_nothing_is_lost_or_doubled_and_little_is_late(
    say: Callable[[str], None], judged: Callable[[Result], None]
) -> None:
    with stage(REPLIQUE_MEMORY__LEARN="false") as ground:
        talked(ground, "first", 20, (), say)  # what starts cold is slow, wiped or not
        quiet = talked(ground, "quiet", 150, (), say)
        wiped = talked(ground, "wiped", 150, EVERY_SECOND, say)
        before, after = delays(ground, "quiet"), delays(ground, "wiped")
        noticed, again = ground.hints_lost()

    added = {name: after[name] - before[name] for name in before}
    say(f"seconds to the first bubble: {before} without, {after} wiped every second, added {added}")
    say(f"a new Redis was noticed {noticed} times, {again} rows were offered again")
    judged(quiet)
    judged(wiped)
    assert all(job["state"] == "sent" for job in wiped.evidence.jobs if job["state"] != "superseded")
    assert {name: more for name, more in added.items() if more >= ADDED_SECONDS} == {}
