"""Each parameter of the agent: changed between two runs of one conversation, and the second obeys without a restart."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from pipelines.autoreply.tools import TOOLS
from schemas.resources import AgentOverrides
from tests import servers
from tests.builders_face import a_gateway
from tests.scripts import bubbles, call, done, heard
from tests.simulator import RunningSimulator
from tests.stack import COMMAND, Stack, Talk, clean_environment, running_stack
from tests.upstream import Receiver
from workers.simulator.control import SimulatorControl

Turns = list[dict[str, Any]]

OK = {"json": {"verdict": "ok", "issues": []}}
COLD = {"candidate": 0, "rule": "tone", "severity": "error", "feedback": "Trop froid."}
ERRORS = {"json": {"verdict": "errors", "issues": [COLD]}}
LOST = [{"calls": [call("send_carrier_pigeon", n=n)]} for n in range(2)]


def plan(n: int) -> dict[str, Any]:
    return {"calls": [call("set_plan", plan=f"idée {n}")]}


def says(text: str) -> Turns:
    return [bubbles(text), done()]


def notes(job: Any) -> list[str]:
    return [str(item["note"]) for item in job["trace"] if item["kind"] == "note"]


def reviews(job: Any) -> int:
    return sum(item["kind"] == "review" for item in job["trace"])


def ended(job: Any) -> Any:
    return job["state"] if job["code"] is None else job["code"]


OBEYED: dict[str, tuple[str, Any, tuple[Turns, Turns], tuple[Turns, Turns], Callable[[Any], Any], tuple[Any, Any]]] = {
    # parameter: level, value, what the agent says in each run, what the reviewer says, what is looked at, in each run
    "Enable": (
        "persona",
        False,
        (says("Un."), says("Deux.")),
        ([], []),
        lambda job: any("V1" in note for note in notes(job)),
        (False, True),
    ),
    "MaxIterations": (
        "organization",
        2,
        ([plan(1), *says("Un.")], [plan(2), *says("Deux.")]),
        ([], []),
        ended,
        ("sent", "AR-550"),
    ),
    "TimeoutSeconds": (
        "persona",
        5,
        ([bubbles("Un.", delay=7), done()], [bubbles("Deux.", delay=7), done()]),
        ([], []),
        ended,
        ("sent", "AR-553"),
    ),
    "MaxRefusedToolCalls": (
        "organization",
        2,
        ([*LOST, *says("Un.")], [*LOST, *says("Deux.")]),
        ([], []),
        ended,
        ("sent", "AR-551"),
    ),
    "MaxValidationPasses": (
        "persona",
        0,
        ([*says("Bof."), *says("Un.")], says("Bof encore.")),
        ([ERRORS, OK], [ERRORS]),
        lambda job: (reviews(job), job["note"]),
        (
            (2, None),
            (1, "the best of 1 versions was kept, with 1 open issues: 0 correction passes did not suffice"),
        ),
    ),
    "UseRedactionValidation": (
        "organization",
        False,
        (says("Un."), says("Deux.")),
        ([], []),
        lambda job: (reviews(job), job["note"]),
        (
            (1, None),
            (1, "the review is switched off (UseRedactionValidation): honesty alone is checked"),
        ),
    ),
}
SOLD = {"HardRemoveDisabledTools", "PreferAlbumContinuity", "MAX_FREE_MEDIA", "MAX_FREE_MEDIA_WINDOW"}
"""Of the tools that show and sell media: `pipelines/autoreply/tools` and their own tests."""


def change(talk: Talk, level: str, agent: dict[str, Any]) -> None:
    organization, persona = ({"agent": agent}, {}) if level == "organization" else ({}, {"agent": agent})
    talk.stack.provision(talk.org, organization, persona)


def test_no_parameter_is_forgotten() -> None:
    assert set(AgentOverrides.model_fields) == {*OBEYED, *SOLD}


@pytest.mark.parametrize("parameter", OBEYED)
async def test_the_second_run_obeys(stack: Stack, model: SimulatorControl, parameter: str) -> None:
    level, value, agent_says, reviewer_says, look, expected = OBEYED[parameter]
    talk = stack.organization()
    seen = []
    for n in (0, 1):
        if reviewer_says[n]:
            await model.script(*reviewer_says[n], match=talk.marker, task="review")
        await model.script(*agent_says[n], match=talk.marker, task="reply")
        job = talk.say("salut" if n == 0 else "et sinon")["job"]
        seen.append(look(talk.ended(job, "failed" if str(expected[n]).startswith("AR-") else "sent", seconds=40)))
        change(talk, level, {parameter: value})

    assert tuple(seen) == expected


@pytest.mark.skipif("send_payment" not in {tool.name for tool in TOOLS}, reason="no tool that can be withheld exists")
async def test_withheld_tools_stay_visible_when_they_are_not_removed(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    seen = []
    for n, agent in enumerate(({}, {"HardRemoveDisabledTools": False})):
        change(talk, "persona", agent)
        await model.script(*says(f"Réponse {n}."), match=talk.marker, task="reply")
        talk.ended(talk.say("j'ai plus d'argent")["job"])
        request = (await heard(model, talk.marker))[-1]
        seen.append('"name":"send_payment"' in request.body.replace(": ", ":"))

    assert seen == [False, True]


async def test_the_environment_gives_the_defaults_and_the_persona_wins(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> None:
    redis_url = servers.with_redis_database(redis_server, 14)
    servers.flush(redis_url)
    with (
        servers.database(postgres_server, database_template) as database_url,
        running_stack(
            database_url,
            redis_url,
            simulator.base_url,
            receiver,
            REPLIQUE_AGENT__MAX_ITERATIONS="2",
            REPLIQUE_AGENT__USE_REDACTION_VALIDATION="false",
        ) as stack,
    ):
        async with simulator.control() as model:
            talk = stack.organization()
            await model.script(plan(1), *says("Un."), match=talk.marker, task="reply")
            bounded = talk.ended(talk.say("salut")["job"], "failed")
            own = stack.organization(agent={"MaxIterations": 3})
            await model.script(plan(1), *says("Deux."), match=own.marker, task="reply")
            free = own.ended(own.say("salut")["job"])
        log = (stack.logs / "reply.log").read_text()

    assert (bounded["code"], ended(free)) == ("AR-550", "sent")
    assert "review_is_off" in log


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "REPLIQUE_AGENT__MAX_ITERATION",
            "5",
            "REPLIQUE_AGENT__MAX_ITERATION: no such setting; did you mean REPLIQUE_AGENT__MAX_ITERATIONS?",
        ),
        (
            "REPLIQUE_AGENT__MAX_ITERATIONS",
            "51",
            "REPLIQUE_AGENT__MAX_ITERATIONS: Input should be less than or equal to 50",
        ),
        ("MAX_FREE_MEDIAS", "5", "MAX_FREE_MEDIAS: no such setting; did you mean MAX_FREE_MEDIA?"),
    ],
)
@pytest.mark.parametrize("process", ["gateway", "worker", "clock"])
def test_a_wrong_setting_stops_the_start(process: str, name: str, value: str, sentence: str) -> None:
    ran = subprocess.run(
        [*COMMAND, process], env=clean_environment(**{name: value}), capture_output=True, text=True, timeout=60
    )

    assert (ran.returncode, ran.stderr) == (2, f"replique: settings refused: {sentence}\n")


BOUNDS: dict[str, tuple[list[Any], list[Any]]] = {
    # parameter: accepted, refused
    "Enable": ([True, False], [1, "off"]),
    "MaxIterations": ([1, 50], [0, 51, 5.5, "5"]),
    "TimeoutSeconds": ([5, 600], [4.9, 601]),
    "MaxRefusedToolCalls": ([1, 20], [0, 21]),
    "MaxValidationPasses": ([0, 5], [-1, 6]),
    "UseRedactionValidation": ([True, False], [0, "no"]),
    "HardRemoveDisabledTools": ([True, False], [0]),
    "PreferAlbumContinuity": ([True, False], [0]),
    "MAX_FREE_MEDIA": ([0, 100], [-1, 101]),
    "MAX_FREE_MEDIA_WINDOW": (["", "24h", "7d"], ["a day", "24"]),
}


@pytest.mark.parametrize("parameter", BOUNDS)
async def test_each_change_is_bounded_and_audited(database_url: str, parameter: str) -> None:
    accepted, refused = BOUNDS[parameter]
    answers: list[Any] = []
    async with a_gateway(database_url) as gateway:

        async def give(kind: str, value: Any) -> Any:
            name = "acme" if kind == "Organization" else "maya"
            documents = [{"kind": kind, "name": name, "agent": {parameter: value}}]
            return await gateway.call("POST", "/v1/apply", {"resources": documents}, org="acme")

        for kind in ("Organization", "Persona"):
            for value in [*accepted, *refused]:
                answer = await give(kind, value)
                errors = answer.json().get("errors", [])
                answers.append((answer.status_code, *(error["field"] for error in errors)))
        log = await gateway.run(
            "SELECT json_agg(json_build_array(who, action, facts -> 'agent') ORDER BY id) FROM audit_log"
            " WHERE action ~ '^(organization|persona)[.]'"
        )

    told = [(200,)] * len(accepted) + [(422, f"resources.0.agent.{parameter}")] * len(refused)
    steps = list(zip([None, *accepted], accepted, strict=False))
    assert answers == told * 2
    assert [entry[2].get(parameter) for entry in log] == [list(step) for step in steps] * 2
    assert {entry[0] for entry in log} == {"bootstrap"}


def test_the_bounds_of_every_parameter_are_looked_at() -> None:
    assert set(BOUNDS) == set(AgentOverrides.model_fields)
