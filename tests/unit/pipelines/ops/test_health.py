"""What is looked at, and what is found: each thing that can be wrong is told, with what to do."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from pipelines.llm.caching import cacheable_minimum
from pipelines.ops.health import all_well, findings
from schemas.health import Checkup, Level, PromptHealth, QueueHealth, ServerHealth
from schemas.llm import Model
from workers.simulator.models import MODELS

IDLE = QueueHealth("reply", working=0, workers=0, lost=0, untaken=0.0, unseen=0.0)
SERVER = ServerHealth(180_003, "0001", "0001", "0.8.1", queues=(IDLE,), organizations=2)
MODEL = "anthropic:claude-haiku-5-5"
WELL = Checkup(
    server=SERVER,
    redis={"reachable": True, "clock_seen": True},
    routes={"reply": MODEL, "review": MODEL},
    left_out=(),
    simulator=False,
    prompt=PromptHealth("maya", MODEL, {"tools": 1_000, "persona": 500}, 512),
    storage_url="s3://bucket",
    storage=None,
    local=False,
    embeds="ours",
)


def the_server(**changes: Any) -> dict[str, Any]:
    return {"server": replace(SERVER, **changes)}


def the_queue(**changes: Any) -> dict[str, Any]:
    return the_server(queues=(replace(IDLE, **changes),))


def test_all_is_well() -> None:
    found = findings(WELL)

    assert {finding.level for finding in found} == {Level.OK}
    assert all_well(found)


@pytest.mark.parametrize(
    ("changes", "check", "level"),
    [
        ({"server": None}, "postgres", Level.WRONG),
        ({"set_in_vain": ("AI_MODEL_CONCIERGE",)}, "settings", Level.WARNING),
        (the_server(version=140_009), "postgres", Level.WRONG),
        (the_server(migration=None), "migration", Level.WRONG),
        (the_server(vector=None), "pgvector", Level.WRONG),
        (the_server(vector="0.7.4"), "pgvector", Level.WRONG),
        (the_server(vectors_of={"other": 3, "ours": 1}), "memory", Level.WARNING),
        ({"redis": {"configured": False}}, "redis", Level.WRONG),
        ({"redis": {"reachable": False, "clock_seen": False}}, "redis", Level.WRONG),
        ({"redis": {"reachable": True, "clock_seen": False}}, "clock", Level.WRONG),
        (the_queue(unseen=9.0), "clock", Level.WRONG),
        (the_queue(untaken=9.0), "workers reply", Level.WRONG),
        (the_queue(untaken=9.0, working=64, workers=1), "workers reply", Level.WARNING),
        ({"unpriced": ("anthropic:x",)}, "prices", Level.WARNING),
        ({"down": ("anthropic:x",)}, "models down", Level.WARNING),
        (the_queue(lost=1), "workers reply", Level.WARNING),
        (the_server(rate_limited=187, rate_limited_seconds=42.4), "rate limits", Level.WARNING),
        (the_server(crowding=("acme",)), "fairness", Level.WARNING),
        (the_server(disabled_webhook=("acme",)), "webhooks", Level.WRONG),
        (the_server(no_webhook=("acme",)), "webhooks", Level.WARNING),
        (the_server(failing_webhook=("acme",)), "webhooks", Level.WARNING),
        ({"routes": {"reply": None}}, "model reply", Level.WRONG),
        ({"left_out": ("openai:gpt-6-luna",)}, "models", Level.WARNING),
        ({"simulator": True}, "simulator", Level.WARNING),
        ({"prompt": PromptHealth("maya", MODEL, {"tools": 511}, 512)}, "prompt", Level.WARNING),
        ({"storage_url": None}, "storage", Level.WARNING),
        ({"storage": "read-only"}, "storage", Level.WRONG),
        ({"storage_url": "/srv/files"}, "storage", Level.WARNING),
        ({"storage_url": "/srv/files", "local": True}, "storage", Level.OK),
        (the_server(failed_jobs=3), "attention", Level.WARNING),
    ],
)
def test_what_is_not_well_is_found(changes: dict[str, Any], check: str, level: Level) -> None:
    found = findings(replace(WELL, **changes))
    of_it = [finding for finding in found if finding.check == check]

    assert [finding.level for finding in of_it] == [level]
    assert all_well(found) == (level is not Level.WRONG)
    assert (of_it[0].next is None) == (level is Level.OK)


@pytest.mark.parametrize("name", MODELS)
def test_the_simulator_caches_from_where_we_say(name: str) -> None:
    assert cacheable_minimum(Model("anthropic", name)) == MODELS[name].cache_minimum


def test_a_prompt_that_is_too_short_names_its_segments_what_is_missing_and_what_that_costs() -> None:
    segments = {"tools": 2_000, "product": 900, "organisation": 0, "persona": 100}
    prompt = PromptHealth("maya", "anthropic:claude-haiku-4-5", segments, 4_096, Decimal("3.00"), Decimal("0.4096"))

    (found,) = [finding for finding in findings(replace(WELL, prompt=prompt)) if finding.check == "prompt"]

    assert found.sentence == (
        "the prompt of persona maya is too short to be cached: about 3000 tokens (tools 2000, product 900, "
        "organisation 0, persona 100), anthropic:claude-haiku-4-5 caches from 4096; 1096 are missing. A thousand model "
        "calls pay $3.00 for it in full, filled up they would read it for $0.41"
    )
    assert found.next == "write some 1096 tokens more into its instructions, or ask a model with a lower minimum"
