"""`AI_ROUTING_DYNAMIC` through the queue: a long conversation takes the stronger route until its share is used up."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests import servers
from tests.scripts import bubbles, done
from tests.simulator import RunningSimulator
from tests.stack import Stack, stack_on_a_database
from tests.upstream import Receiver
from workers.simulator.control import SimulatorControl

SHARE = "0.01"
"""Two of the newest 200 answers: those of one run."""


@pytest.fixture(scope="module")
def dynamic(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> Iterator[Stack]:
    redis_url = servers.with_redis_database(redis_server, 14)
    settings = {"AI_ROUTING_DYNAMIC": "true", "REPLIQUE_LLM__STRONG_SHARE": SHARE}
    with stack_on_a_database(
        postgres_server, database_template, redis_url, simulator.base_url, receiver, **settings
    ) as running:
        yield running


def writers(job: Any) -> list[str]:
    """The models that answered the agent's calls; the review's is the last."""
    return [item["model"] for item in job["trace"] if item["kind"] == "model"][:-1]


def notes(job: Any) -> list[tuple[str, str]]:
    return [(item["why"], item["strong"]) for item in job["trace"] if "stronger route" in str(item.get("note"))]


async def test_the_seventh_turn_is_the_stronger_routes_and_the_eighth_is_over_its_share(
    dynamic: Stack, model: SimulatorControl
) -> None:
    talk = dynamic.organization()
    jobs = []
    for n in range(8):
        await model.script(bubbles(f"Réponse {n}."), done(), match=f"q{n} {talk.marker}", task="reply")
        jobs.append(talk.ended(talk.say(f"q{n}")["job"]))

    usual, strong = ["anthropic:claude-haiku-5-5"] * 2, ["anthropic:claude-sonnet-5-5"] * 2
    assert [writers(job) for job in jobs] == [*[usual] * 6, strong, usual]
    assert [notes(job) for job in jobs] == [
        *[[]] * 6,
        [("many_turns", "0 of the newest 200 answers")],
        [("many_turns", "2 of the newest 200 answers")],
    ]
    headers = {"x-organization": talk.org}
    found = dynamic.call("GET", "/v1/costs?group=task", headers=headers, status=200)
    assert {line["key"]: line["calls"] for line in found["items"]} == {"reply": 14, "reply_strong": 2, "review": 8}
    assert found["total"]["strong_share"] == 2 / 16
    key = {"authorization": dynamic.environment["REPLIQUE_BOOTSTRAP_KEY"]}
    assert "replique_run_iterations_count 8.0" in httpx2.get(dynamic.url + "/metrics", headers=key).text
