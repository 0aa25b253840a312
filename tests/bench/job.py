"""What a whole job costs: `python -m tests.bench.job [--jobs N] [--repetitions N] [--json]`. Processor time.

A contact writes; five calls of the model, three with a tool, the last one the review; two bubbles leave as webhooks.
Gateway, clock, reply and send worker are processes of their own on real PostgreSQL and Valkey, the simulator another.
Beside it the same number of calls, bare: a loop by hand on the SDK. Prints a table, asserts nothing.
"""

import argparse
import statistics
import time
from contextlib import ExitStack

import httpx2
import psutil

from tests import servers
from tests.bench.agent_loop import WARM_UP, contender, simulator
from tests.bench.contenders.work import CALLS
from tests.bench.report import Report, Table, machine
from tests.scripts import call, done
from tests.stack import Stack, running_stack, wait_until
from tests.upstream import running_receiver

CALLS_OF_A_JOB = 5
BARE_RUNS = 50
PARTS = ("gateway", "clock", "reply", "send")
TURNS = [
    {"calls": [call("set_plan", steps=["say hello", "ask back"])]},
    {"calls": [call("send_message", text="Coucou Léo, je rentre de balade !")]},
    {"calls": [call("send_message", text="Et toi, tu vas où ce week-end ?")]},
    done(),
]


def spent(stack: Stack) -> dict[str, float]:
    """Seconds, user and system, by process and all that it started."""
    found = {}
    for name in PARTS:
        own = psutil.Process(stack.children[name].pid)
        times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
        found[name] = sum(each.user + each.system for each in times)
    return found


def answered(stack: Stack, jobs: int) -> dict[str, float]:
    """Milliseconds per job by process, over so many conversations written to one after the other."""
    talk = stack.organization()
    before = spent(stack)
    ids = []
    for n in range(jobs):
        one = talk.another() if n else talk
        script = {"turns": TURNS, "match": one.marker, "task": "reply"}
        httpx2.post(f"{stack.environment['ANTHROPIC_BASE_URL']}/_sim/scripts", json=script).raise_for_status()
        ids.append(one.say("salut, tu fais quoi ce week-end ?")["job"])
    wait_until(lambda: _all_sent(talk.org, stack, jobs), 300, "every job to be sent")
    after = spent(stack)
    calls = talk.job(ids[-1])["usage"]["calls"]
    if calls != CALLS_OF_A_JOB:
        raise RuntimeError(f"a job made {calls} calls, not {CALLS_OF_A_JOB}")
    return {name: 1000 * (after[name] - before[name]) / jobs for name in PARTS}


def _all_sent(org: str, stack: Stack, jobs: int) -> bool:
    """By the webhooks, so that looking costs the product nothing."""
    time.sleep(0.2)
    with stack.receiver.lock:
        ids = {post.id for post in stack.receiver.posts if str(post.facts.get("conversation")).startswith(f"{org}-")}
    return len(ids) >= 2 * jobs


def measure(jobs: int, repetitions: int) -> tuple[list[dict[str, float]], list[float]]:
    """Whole jobs by process, and the bare calls of one job, in ms: in turn, so that both meet the same load."""
    whole, bare = [], []
    with ExitStack() as stack:
        url = stack.enter_context(simulator())
        server, redis_url = stack.enter_context(servers.postgres()), stack.enter_context(servers.valkey())
        servers.make_template(server)
        database = stack.enter_context(servers.database(server))
        by_hand = stack.enter_context(contender("parsed", "httpx", url))
        by_hand.run(WARM_UP)
        receiver = stack.enter_context(running_receiver())
        product = stack.enter_context(running_stack(database, redis_url, url, receiver))
        answered(product, 5)
        for _ in range(repetitions):
            whole.append(answered(product, jobs))
            bare.append(1000 * by_hand.run(BARE_RUNS)["cpu"] / BARE_RUNS / CALLS * CALLS_OF_A_JOB)
    return whole, bare


def report(whole: list[dict[str, float]], bare: list[float], jobs: int) -> Report:
    found = Report()
    totals = [sum(parts.values()) for parts in whole]
    table = Table("A whole job and its calls alone", ["", "CPU ms per job", "lowest to highest"])
    named = [(name, [parts[name] for parts in whole]) for name in PARTS]
    for name, values in (*named, ("the product in all", totals), ("the same calls, bare SDK", bare)):
        table.rows.append([name, f"{statistics.median(values):.1f}", f"{min(values):.1f} to {max(values):.1f}"])
        found.figures[name] = values
    ratio = statistics.median(mine / other for mine, other in zip(totals, bare, strict=True))
    table.rows.append(["× the same calls", f"{ratio:.2f}", ""])
    found.figures["ratio"] = ratio
    found.tables.append(table)
    found.notes.append(f"{len(whole)} repetitions of {jobs} jobs, {CALLS_OF_A_JOB} calls each; medians. {machine()}.")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="job", description=__doc__)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    report(*measure(given.jobs, given.repetitions), given.jobs).show(as_json=given.json)


if __name__ == "__main__":
    main()
