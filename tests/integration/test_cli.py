"""The command line against a gateway over real HTTP: what it asks, what it prints, how it exits."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_command import Asked, FakeGateway, a_bubble, a_job, fake_gateway, problem

KEY = "secret-of-the-test-key"


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with fake_gateway() as fake:
        yield fake


class Shell:
    """Runs `replique` as a process of its own, in a folder of its own, in a pipe."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "workers.cli", *arguments],
            cwd=self.folder, input=stdin, env=_bare() | self.environment | environment,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr


def _bare() -> dict[str, str]:
    """No setting of the machine reaches the command."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2]), "LANG": "C.UTF-8"}


@pytest.fixture
def shell(tmp_path: Path, gateway: FakeGateway) -> Shell:
    return Shell(tmp_path, {"REPLIQUE_URL": gateway.url, "REPLIQUE_KEY": KEY})


@pytest.fixture
def lost_shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, {})


def asked(method: str, path: str, body: Any = None, organization: str | None = None) -> Asked:
    return Asked(method, path, body, organization, f"Bearer {KEY}")


AT = "2026-11-30T10:00:0"
TRACE = [
    {"n": 1, "kind": "model", "at": AT + "1Z", "model": "m", "stop": "tools", "input": 100, "cache_read": 300,
     "cache_write": 0, "output": 20, "cost_usd": "0.001", "ms": 350},
    {"n": 1, "kind": "tool", "at": AT + "1Z", "tool": "send_message", "args": {"text": "coucou toi"},
     "result": "queued", "refused": False, "reason": None},
    {"n": 2, "kind": "tool", "at": AT + "2Z", "tool": "send_image", "args": {}, "result": "", "refused": True,
     "reason": "no such tool"},
    {"n": 2, "kind": "review", "at": AT + "2Z", "verdict": "ok", "issues": []},
]  # fmt: skip
USAGE = {"calls": 3, "input": 200, "cache_read": 600, "cache_write": 0, "output": 40, "cost_usd": "0.002"}
JOBS = {"items": [a_job(state="failed", code="AR-550", reason="max_iterations", attention=True)], "next": None}


def test_jobs_are_tab_separated_lines_in_a_pipe(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["GET /v1/jobs?state=failed&attention=true&limit=50"] = (200, JOBS)
    line = "job_7\tmaya-leo\tmessage\tfailed\tAR-550\tmax_iterations\tyes\t\t2026-11-30T10:00:00+00:00\n"
    assert shell("jobs", "list", "--state", "failed", "--attention") == (0, line, "")


def test_json_is_the_answer_of_the_gateway(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["GET /v1/jobs?limit=50"] = (200, JOBS)
    code, out, err = shell("jobs", "list", "--json")
    assert (code, json.loads(out), err) == (0, JOBS, "")


def test_a_problem_is_one_line_with_code_sentence_and_fields(shell: Shell, gateway: FakeGateway) -> None:
    errors = [{"field": "limit", "message": "must be at most 200"}, {"field": "state", "message": "no such state"}]
    refused = problem("AR-422", "not accepted: limit, state", errors=errors)
    gateway.answers["GET /v1/jobs?state=lost&limit=50"] = (422, refused)
    line = "replique: AR-422 not accepted; limit: must be at most 200; state: no such state\n"
    assert shell("jobs", "list", "--state", "lost") == (1, "", line)


def test_without_a_gateway_it_says_how_to_name_one(lost_shell: Shell) -> None:
    line = (
        "replique: no gateway is known: set REPLIQUE_URL and REPLIQUE_KEY, or run this where `replique up` runs "
        "(it keeps both in ./.replique/connection.json)\n"
    )
    assert lost_shell("jobs", "list") == (2, "", line)


def test_a_key_without_an_address_is_refused(lost_shell: Shell) -> None:
    line = "replique: REPLIQUE_URL is not set: the address and the key of a gateway belong together\n"
    assert lost_shell("jobs", "list", REPLIQUE_KEY=KEY) == (2, "", line)


def test_the_connection_that_up_left_is_used(lost_shell: Shell, gateway: FakeGateway) -> None:
    home = lost_shell.folder / ".replique"
    home.mkdir()
    (home / "connection.json").write_text(json.dumps({"url": gateway.url, "key": KEY}))
    gateway.answers["GET /v1/jobs?limit=50"] = (200, {"items": [], "next": None})
    assert (lost_shell("jobs", "list"), gateway.asked) == ((0, "", ""), [asked("GET", "/v1/jobs?limit=50")])


def test_a_misspelt_setting_stops_the_command(shell: Shell) -> None:
    line = "replique: settings refused: REPLIQUE_ORGG: no such setting\n"
    assert shell("jobs", "list", REPLIQUE_ORGG="a") == (2, "", line)


@pytest.mark.parametrize("arguments", [["jobs", "fly"], ["jobs", "list", "--limit", "0"], ["send", "hello"]])
def test_a_wrong_command_line_exits_2(shell: Shell, arguments: list[str]) -> None:
    code, out, err = shell(*arguments)
    assert (code, out, "Error" in err) == (2, "", True)


def test_an_unknown_queue_exits_2(lost_shell: Shell) -> None:
    code, _, err = lost_shell("worker", "--queues", "reply,fax")
    assert (code, "no such queue: fax; there are reply, send, background" in err) == (2, True)


def test_a_gateway_that_is_away_is_a_sentence(lost_shell: Shell) -> None:
    code, out, err = lost_shell("jobs", "list", REPLIQUE_URL="http://127.0.0.1:9", REPLIQUE_KEY=KEY)
    assert (code, out, err.startswith("replique: the gateway at http://127.0.0.1:9 cannot be reached")) == (1, "", True)
    assert len(err.splitlines()) == 1


def test_something_else_at_the_address_is_a_sentence(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["GET /v1/jobs?limit=50"] = (200, "<html>hello</html>")
    code, out, err = shell("jobs", "list")
    assert (code, out, "is no Replique gateway" in err, len(err.splitlines())) == (1, "", True, 1)


def test_the_organisation_is_named_by_option_before_environment(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/jobs/job_7/approve"] = (200, a_job(state="held"))
    assert shell("jobs", "approve", "job_7", "--org", "hotel", REPLIQUE_ORG="demo") == (0, "job_7: leaves now\n", "")
    assert gateway.asked == [asked("POST", "/v1/jobs/job_7/approve", organization="hotel")]


def test_the_only_organisation_needs_no_name(shell: Shell, gateway: FakeGateway) -> None:
    which = problem("AR-422", "name the organisation in X-Organization", organizations=["demo"])
    gateway.answers["POST /v1/jobs/job_7/approve"] = [(422, which), (200, a_job(state="held"))]
    assert shell("jobs", "approve", "job_7") == (0, "job_7: leaves now\n", "")
    assert [a.organization for a in gateway.asked] == [None, "demo"]


def test_one_of_two_organisations_must_be_named(shell: Shell, gateway: FakeGateway) -> None:
    which = problem("AR-422", "name the organisation in X-Organization", organizations=["demo", "hotel"])
    gateway.answers["POST /v1/jobs/job_7/approve"] = (422, which)
    line = "replique: AR-422 name the organisation in --org; organisations: demo, hotel (--org)\n"
    assert shell("jobs", "approve", "job_7") == (1, "", line)


@pytest.mark.parametrize(
    ("verb", "body", "line"),
    [
        (["hold"], None, "job_7: on hold\n"),
        (["release"], None, "job_7: runs again\n"),
        (["retry"], None, "job_7: runs again\n"),
        (["regenerate"], {}, "job_7: is drafted again\n"),
        (["regenerate", "--instruction", "plus court"], {"instruction": "plus court"}, "job_7: is drafted again\n"),
    ],
)
def test_the_operator_at_night_steers_a_job(
    shell: Shell, gateway: FakeGateway, verb: list[str], body: Any, line: str
) -> None:
    gateway.answers[f"POST /v1/jobs/job_7/{verb[0]}"] = (200, a_job())
    assert shell("jobs", verb[0], "job_7", *verb[1:]) == (0, line, "")
    assert gateway.asked == [asked("POST", f"/v1/jobs/job_7/{verb[0]}", body)]


def test_a_cancel_tells_what_became_of_each_bubble(shell: Shell, gateway: FakeGateway) -> None:
    bubbles = [a_bubble("sent"), a_bubble("recalled", ordinal=1)]
    gateway.answers["POST /v1/jobs/job_7/cancel"] = (200, {"job": "job_7", "candidates": bubbles})
    assert shell("jobs", "cancel", "job_7") == (0, "job_7: cancelled\nbub_1\tsent\nbub_2\trecalled\n", "")


def test_a_call_that_comes_too_late_fails(shell: Shell, gateway: FakeGateway) -> None:
    late = problem("AR-409", "too late: it is sent", state="sent", by=None, at=None)
    gateway.answers["POST /v1/jobs/job_7/cancel"] = (409, late)
    assert shell("jobs", "cancel", "job_7") == (1, "", "replique: AR-409 too late: it is sent\n")


def test_what_must_be_answered_for_is_read_out(shell: Shell, gateway: FakeGateway) -> None:
    weaker = problem("AR-409", "maya would go without the notice", version="2026-08", text="You answer for it.")
    gateway.answers["POST /v1/apply"] = (409, weaker)
    line = "replique: AR-409 maya would go without the notice; version 2026-08 says: You answer for it.\n"
    assert shell("apply", "-f", "-", stdin="{kind: Persona, name: maya}") == (1, "", line)


EVENTS = [
    {"at": AT + "1.5Z", "who": "contact", "from": None, "to": "queued", "why": "message", "facts": {}},
    {"at": AT + "9.5Z", "who": "worker", "from": "sending", "to": "sent", "why": "all_sent",
     "facts": {"candidate": 1}},
]  # fmt: skip


def test_a_job_is_shown_on_one_page(shell: Shell, gateway: FakeGateway) -> None:
    job = a_job(state="sent", outcome="sent", attempts=1, trace=TRACE[:2], candidates=[a_bubble("sent")],
                usage=USAGE, events=EVENTS)  # fmt: skip
    gateway.answers["GET /v1/jobs/job_7"] = (200, job)
    assert shell("jobs", "show", "job_7") == (0, (
        "job_7  sent\n"
        "conversation maya-leo, message, engine v2, 1 attempt\n"
        "call 1: m, tools; 400 tokens in (75 % cached), 20 out, $0.001000, 350 ms\n"
        '  send_message {"text": "coucou toi"}\n'
        "bub_1\t0\ttext\tsent\tcoucou toi\t\t\n"
        "10:00:01 contact: queued, message\n"
        "10:00:09 worker: sending to sent, all_sent candidate=1\n"
        "3 model calls, $0.002000; 75 % of 800 input tokens from the cache, 40 tokens out\n"
    ), "")  # fmt: skip


MANIFEST = """
kind: Organization
name: demo
country: NO   # Norway, not a boolean
---
kind: Persona
name: maya
quiet_hours: 22:00-07:00
control_window_seconds: 4
"""
DOCUMENTS = [
    {"kind": "Organization", "name": "demo", "country": "NO"},
    {"kind": "Persona", "name": "maya", "quiet_hours": "22:00-07:00", "control_window_seconds": 4},
]
APPLIED = {"resources": [
    {"kind": "Organization", "name": "demo", "result": "created"},
    {"kind": "Persona", "name": "maya", "result": "unchanged"},
]}  # fmt: skip


@pytest.mark.parametrize("text", [MANIFEST, json.dumps(DOCUMENTS), json.dumps({"resources": DOCUMENTS})])
def test_apply_posts_every_document_of_yaml_or_json(shell: Shell, gateway: FakeGateway, text: str) -> None:
    gateway.answers["POST /v1/apply"] = (200, APPLIED)
    (shell.folder / "demo.yaml").write_text(text)
    shown = "Organization\tdemo\tcreated\nPersona\tmaya\tunchanged\n"
    assert shell("apply", "-f", "demo.yaml") == (0, shown, "")
    assert gateway.asked == [asked("POST", "/v1/apply", {"resources": DOCUMENTS})]


def test_apply_reads_stdin(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/apply"] = (200, APPLIED)
    code, out, _ = shell("apply", "-f", "-", "--json", stdin=MANIFEST)
    assert (code, json.loads(out), gateway.asked[0].body) == (0, APPLIED, {"resources": DOCUMENTS})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kind: [", "stdin, line 2: expected the node content, but found '<stream end>'"),
        ("kind: Persona\nname: a\nname: b", "stdin, line 1: name is given twice"),
        ("- maya", "stdin: document 1 is not a mapping with kind and name"),
        ("# nothing", "stdin holds no document"),
    ],
)
def test_a_file_that_is_no_manifest_is_refused_before_asking(
    shell: Shell, gateway: FakeGateway, text: str, sentence: str
) -> None:
    assert shell("apply", "-f", "-", stdin=text + "\n") == (1, "", f"replique: {sentence}\n")
    assert gateway.asked == []


def test_send_posts_a_message_of_the_contact(shell: Shell, gateway: FakeGateway) -> None:
    taken = {"message": "m-1", "conversation": "maya-leo", "job": "job_7", "duplicate": False, "reason": None}
    gateway.answers["POST /v1/messages"] = (202, taken)
    assert shell("send", "coucou", "--persona", "maya", "--contact", "leo") == (0, "m-1: job_7\n", "")
    body = gateway.asked[0].body
    assert body.pop("id").startswith("cli-")
    assert body == {
        "conversation": "maya-leo",
        "persona": "maya",
        "author": "contact",
        "contact": {"id": "leo"},
        "text": "coucou",
    }


def test_send_to_an_unknown_persona_tells_how_to_make_one(shell: Shell, gateway: FakeGateway) -> None:
    errors = [{"field": "persona", "message": "no persona of this name"}]
    gateway.answers["POST /v1/messages"] = (422, problem("AR-422", "unknown persona", errors=errors))
    line = (
        "replique: AR-422 unknown persona; persona: no persona of this name; make one with `replique apply -f FILE`, "
        "where FILE says: {kind: Persona, name: maia}\n"
    )
    assert shell("send", "coucou", "--persona", "maia", "--contact", "leo") == (1, "", line)


def test_following_tells_each_thing_once_until_it_is_delivered(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/messages"] = (202, {"message": "m-1", "job": "job_7", "reason": None})
    gateway.answers["GET /v1/jobs/job_7"] = [
        (200, a_job()),
        (200, a_job(state="running", trace=TRACE[:2])),
        (200, a_job(state="held", due_at=AT + "9Z", trace=TRACE, candidates=[a_bubble("held")])),
        (200, a_job(state="sent", outcome="sent", trace=TRACE, candidates=[a_bubble("sent")], usage=USAGE)),
    ]
    assert shell("send", "coucou", "--persona", "maya", "--contact", "leo", "--follow") == (0, (
        "m-1: job_7\n"
        "job_7 is queued\n"
        "call 1: m, tools; 400 tokens in (75 % cached), 20 out, $0.001000, 350 ms\n"
        '  send_message {"text": "coucou toi"}\n'
        "job_7 is running\n"
        "  send_image {} refused: no such tool\n"
        "  review: ok\n"
        "job_7 is held: leaves at 10:00:09 UTC unless someone stops it\n"
        "sent: [text] coucou toi\n"
        "job_7 is sent\n"
        "3 model calls, $0.002000; 75 % of 800 input tokens from the cache, 40 tokens out\n"
    ), "")  # fmt: skip


NO_MODEL = "NO MODEL ANSWERS HERE: a simulator plays the provider with lines it was given.\n"


@pytest.mark.parametrize(
    "command",
    [
        ("jobs", "list"),
        ("jobs", "show", "job_7"),
        ("send", "coucou", "--persona", "maya", "--contact", "leo", "--follow"),
    ],
)
@pytest.mark.parametrize("simulated", [True, False])
def test_a_simulator_is_named_once_beside_the_answer(
    shell: Shell, gateway: FakeGateway, command: tuple[str, ...], simulated: bool
) -> None:
    running, sent = a_job(simulated=simulated), a_job(state="sent", outcome="sent", simulated=simulated)
    gateway.answers["POST /v1/messages"] = (202, {"message": "m-1", "job": "job_7", "reason": None})
    gateway.answers["GET /v1/jobs?limit=50"] = (200, {"items": [sent, sent], "next": None})
    gateway.answers["GET /v1/jobs/job_7"] = [(200, running), (200, sent)]

    code, out, err = shell(*command)

    assert (code, "SIMULAT" in out.upper(), err) == (0, False, NO_MODEL if simulated else "")


def test_following_outlives_a_database_that_restarts(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/messages"] = (202, {"message": "m-1", "job": "job_7", "reason": None})
    away = (503, problem("AR-503", "the database does not answer"))
    gateway.answers["GET /v1/jobs/job_7"] = [away, (200, a_job(state="sent", outcome="sent"))]
    code, out, err = shell("send", "coucou", "--persona", "maya", "--contact", "leo", "--follow")
    assert (code, out.splitlines()[1], err) == (0, "job_7 is sent", "")


def test_following_goes_on_with_the_job_that_superseded(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/messages"] = (202, {"message": "m-1", "job": "job_7", "reason": None})
    gateway.answers["GET /v1/jobs/job_7"] = (200, a_job(state="superseded", outcome="superseded"))
    gateway.answers["GET /v1/conversations/maya-leo"] = (200, {"job": {"id": "job_8"}})
    gateway.answers["GET /v1/jobs/job_8"] = (200, a_job(id="job_8", state="sent", outcome="sent"))
    code, out, _ = shell("send", "coucou", "--persona", "maya", "--contact", "leo", "--follow")
    told = [line for line in out.splitlines() if " is " in line]
    assert (code, told) == (0, ["job_7 is superseded", "job_8 is sent"])


def test_following_a_job_that_fails_exits_1(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/messages"] = (202, {"message": "m-1", "job": "job_7", "reason": None})
    failed = a_job(state="failed", outcome="failed", code="AR-552", reason="no_candidate")
    gateway.answers["GET /v1/jobs/job_7"] = (200, failed)
    code, _, err = shell("send", "coucou", "--persona", "maya", "--contact", "leo", "--follow")
    assert (code, err) == (1, "replique: job_7 ended failed AR-552 no_candidate\n")


def test_what_others_wrote_cannot_drive_the_terminal(shell: Shell, gateway: FakeGateway) -> None:
    nasty = "a\x1b[2Jb\r\x9b\u202ec👩\u200d🎤\nd\te"
    gateway.answers["GET /v1/jobs/job_7"] = (200, a_job(candidates=[a_bubble("held", nasty)]))
    _, out, _ = shell("jobs", "show", "job_7")
    assert out.splitlines()[2] == "bub_1\t0\ttext\theld\ta [2Jb   c👩\u200d🎤 d e\t\t"


def test_a_new_key_is_the_only_line(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/keys"] = (201, {"id": "key_3", "role": "app", "key": "rk_abc"})
    assert shell("keys", "create", "--role", "app", "--org", "demo") == (0, "rk_abc\n", "")
    assert gateway.asked == [asked("POST", "/v1/keys", {"role": "app"}, organization="demo")]


def test_a_revoked_key_is_named(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["DELETE /v1/keys/key_3"] = (204, "")
    assert shell("keys", "revoke", "key_3") == (0, "key_3: revoked\n", "")


def test_migrate_without_a_database_is_asked_wrongly(lost_shell: Shell) -> None:
    line = "replique: DATABASE_URL is not set: which database is to be migrated?\n"
    assert lost_shell("migrate") == (2, "", line)


def test_what_is_no_address_of_a_database_is_asked_wrongly(lost_shell: Shell) -> None:
    line = "replique: DATABASE_URL is no address of a database: postgresql://user:password@host/name\n"
    assert lost_shell("migrate", DATABASE_URL="banana") == (2, "", line)


def test_help_does_not_load_what_commands_need(lost_shell: Shell) -> None:
    environment = _bare()
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "workers.cli", "--help"],
        cwd=lost_shell.folder, env=environment, capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    names = {line.rsplit("|", 1)[-1].strip() for line in loaded.splitlines()}
    assert names & {"pydantic", "httpx2", "sqlalchemy", "anthropic", "dramatiq", "rich.table", "yaml"} == set()
