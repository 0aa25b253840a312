"""Each parameter of the agent: changed between two runs of one conversation, and the second obeys without a restart."""

import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from schemas.resources import AgentOverrides
from tests import servers
from tests.builders_face import a_gateway
from tests.builders_media import a_document, an_album
from tests.integration.test_media_end_to_end import dated_back
from tests.scripts import bubbles, call, done, heard
from tests.simulator import RunningSimulator
from tests.stack import COMMAND, Stack, Talk, clean_environment, stack_on_a_database
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


def look_for_the_beach(limit: int) -> dict[str, Any]:
    return {"calls": [call("get_media", kind="free", query="la plage au soleil", limit=limit)]}


def shows(*media: str) -> dict[str, Any]:
    return {"calls": [call("send_image", media_id=name) for name in media]}


def refusals(job: Any) -> list[str]:
    return [item["reason"] for item in job["trace"] if item.get("refused")]


def first_found(job: Any) -> str:
    """The album of what the last lookup answers first."""
    (*_, last) = [item["result"] for item in job["trace"] if item.get("tool") == "get_media"]
    return re.findall(r'"album": "(\w+)"', last)[0]


USED_UP = (
    "{most} free photos and videos {over} are the most for this contact, and that is reached. Send no more free ones: "
    "offer paid content instead, with get_media (kind paid) and send_payment. The bubble was not queued."
)
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
    "PreferAlbumContinuity": (
        "organization",
        False,
        (
            [look_for_the_beach(8), shows("a-1"), look_for_the_beach(7), done()],
            [look_for_the_beach(8), shows("a-2"), done()],
        ),
        ([], []),
        first_found,
        ("a", "b"),
    ),
    "MAX_FREE_MEDIA": (
        "persona",
        1,
        ([look_for_the_beach(8), shows("a-1", "a-2"), done()], [shows("a-3"), *says("Plus de photos.")]),
        ([], []),
        refusals,
        ([], [USED_UP.format(most=1, over="in 24h")]),
    ),
    "MAX_FREE_MEDIA_WINDOW": (
        "organization",
        "",
        ([look_for_the_beach(8), shows("a-1", "a-2", "a-3", "b-1"), done()], [shows("b-2"), *says("Plus de photos.")]),
        ([], []),
        refusals,
        ([], [USED_UP.format(most=4, over="in all")]),
    ),
}


def albums() -> list[dict[str, Any]]:
    """The album `b` fits better what is asked for; of `a` the contact has had something."""
    names = {"a": ("a-1", "a-2", "a-3"), "b": ("b-1", "b-2")}
    media = [
        a_document(name, album=album, description="la plage au soleil" if album == "b" else "un mur gris")
        for album, items in names.items()
        for name in items
    ]
    return [an_album("a"), an_album("b"), *media]


SHELVED: dict[str, list[dict[str, Any]]] = {
    "PreferAlbumContinuity": albums(),
    "MAX_FREE_MEDIA": albums(),
    "MAX_FREE_MEDIA_WINDOW": albums(),
}


def change(talk: Talk, level: str, agent: dict[str, Any]) -> None:
    organization, persona = ({"agent": agent}, {}) if level == "organization" else ({}, {"agent": agent})
    talk.stack.provision(talk.org, organization, persona)


def test_no_parameter_is_forgotten() -> None:
    assert set(AgentOverrides.model_fields) == {*OBEYED, "HardRemoveDisabledTools"}


@pytest.mark.parametrize("parameter", OBEYED)
async def test_the_second_run_obeys(stack: Stack, model: SimulatorControl, parameter: str) -> None:
    level, value, agent_says, reviewer_says, look, expected = OBEYED[parameter]
    talk = stack.organization()
    if parameter in SHELVED:
        talk.call("POST", "/v1/apply", json={"resources": SHELVED[parameter]}, status=200)
    seen = []
    for n in (0, 1):
        if reviewer_says[n]:
            await model.script(*reviewer_says[n], match=talk.marker, task="review")
        await model.script(*agent_says[n], match=talk.marker, task="reply")
        job = talk.say("salut" if n == 0 else "et sinon")["job"]
        seen.append(look(talk.ended(job, "failed" if str(expected[n]).startswith("AR-") else "sent", seconds=60)))
        change(talk, level, {parameter: value})
        if parameter == "MAX_FREE_MEDIA_WINDOW":
            dated_back(stack, talk, 25)  # so that the default would count none of them

    assert tuple(seen) == expected


async def test_withheld_tools_leave_the_palette_or_stay_there_and_are_refused_either_way(
    stack: Stack, model: SimulatorControl
) -> None:
    """`HardRemoveDisabledTools`, on and off."""
    talk = stack.organization()
    offer = {"calls": [call("send_payment", media_ids=["v-1"])]}
    seen, refused = [], []
    for n, agent in enumerate(({}, {"HardRemoveDisabledTools": False})):
        change(talk, "persona", agent)
        await model.script(offer, *says(f"Réponse {n}."), match=talk.marker, task="reply")
        job = talk.ended(talk.say("j'ai plus d'argent")["job"])
        request = (await heard(model, talk.marker))[-1]
        seen.append("send_payment" in {tool["name"] for tool in request.json()["tools"]})
        refused += refusals(job)

    assert seen == [False, True]
    assert (
        refused
        == [
            "send_payment cannot be used now: the contact has said that money is short. Reply without it.",
        ]
        * 2
    )


async def test_the_environment_gives_the_defaults_and_the_persona_wins(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> None:
    redis_url = servers.with_redis_database(redis_server, 14)
    settings = {"REPLIQUE_AGENT__MAX_ITERATIONS": "2", "REPLIQUE_AGENT__USE_REDACTION_VALIDATION": "false"}
    model_url = simulator.base_url
    with stack_on_a_database(postgres_server, database_template, redis_url, model_url, receiver, **settings) as stack:
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
