"""What an operator types who has no other screen: bubbles, conversations, the attention list."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_command import FakeGateway, a_bubble, a_job, fake_gateway, problem
from tests.integration.test_cli import KEY, Shell, asked


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with fake_gateway() as fake:
        yield fake


@pytest.fixture
def shell(tmp_path: Path, gateway: FakeGateway) -> Shell:
    return Shell(tmp_path, {"REPLIQUE_URL": gateway.url, "REPLIQUE_KEY": KEY})


@pytest.mark.parametrize(
    ("typed", "path", "body", "answer", "line"),
    [
        (["takeover", "c-12"], "takeover", None, {"conversation": "c-12", "handled_by": "human", "by": "anna"},
         "c-12: a person answers (anna); what the AI had ready is recalled"),
        (["resume", "c-12"], "resume", None, {"conversation": "c-12", "job": "job_9"},
         "c-12: the AI answers again; job_9 answers what waits"),
        (["resume", "c-12"], "resume", None, {"conversation": "c-12", "job": None},
         "c-12: the AI answers again; nothing waits for an answer"),
        (["consent", "c-12", "--how", "sms", "--proof", "ticket 7"], "consent", {"how": "sms", "proof": "ticket 7"},
         {"conversation": "c-12", "contact": "fan-7"}, "c-12: fan-7 may be written to again; kept on record"),
        (["consent", "c-12"], "consent", None, {"conversation": "c-12", "contact": "fan-7"},
         "c-12: fan-7 may be written to again; kept on record"),
        (["reopen", "c-12", "--reason", "of age, seen"], "reopen", {"reason": "of age, seen"},
         {"conversation": "c-12", "state": "pending", "asked_by": "anna"},
         "c-12: asked for by anna; it stays locked until a second person runs this command with another key"),
        (["reopen", "c-12"], "reopen", None,
         {"conversation": "c-12", "state": "open", "asked_by": "anna", "confirmed_by": "bob"},
         "c-12: asked for by anna, confirmed by bob: open again"),
    ],
)  # fmt: skip
def test_a_conversation_is_steered(
    shell: Shell, gateway: FakeGateway, typed: list[str], path: str, body: Any, answer: dict[str, Any], line: str
) -> None:
    gateway.answers[f"POST /v1/conversations/c-12/{path}"] = (200, answer)

    assert shell("conversations", *typed) == (0, line + "\n", "")
    assert gateway.asked == [asked("POST", f"/v1/conversations/c-12/{path}", body)]
    assert json.loads(shell("conversations", *typed, "--json")[1]) == answer


@pytest.mark.parametrize(
    ("typed", "body"),
    [
        (["--text", "Bonjour"], {"text": "Bonjour"}),
        (["--place", "0", "--version", "3"], {"ordinal": 0, "version": 3}),
        (["--price", "9.50", "--currency", "EUR"], {"price": {"amount": "9.50", "currency": "EUR"}}),
    ],
)
def test_a_bubble_is_edited(shell: Shell, gateway: FakeGateway, typed: list[str], body: Any) -> None:
    gateway.answers["PATCH /v1/candidates/bub_1"] = (200, a_bubble("held", "Bonjour"))

    assert shell("bubbles", "edit", "bub_1", *typed) == (0, "bub_1: #0 [text] Bonjour\n", "")
    assert gateway.asked == [asked("PATCH", "/v1/candidates/bub_1", body)]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ([], "nothing to change: give --text, --price or --place"),
        (["--version", "2"], "nothing to change: give --text, --price or --place"),
        (["--price", "9.50"], "--price and --currency belong together"),
    ],
)
def test_an_edit_that_says_nothing_is_not_sent(
    shell: Shell, gateway: FakeGateway, typed: list[str], sentence: str
) -> None:
    assert shell("bubbles", "edit", "bub_1", *typed) == (2, "", f"replique: {sentence}\n")
    assert gateway.asked == []


def test_a_bubble_is_dropped(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["DELETE /v1/candidates/bub_2"] = (200, a_bubble("dropped", ordinal=1))

    assert shell("bubbles", "drop", "bub_2") == (0, "bub_2: dropped\n", "")


def test_a_job_is_dismissed_with_a_reason(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/attention/job_7/dismiss"] = (200, a_job())

    assert shell("jobs", "dismiss", "job_7", "--reason", "answered by phone") == (
        0, "job_7: off the attention list\n", "",
    )  # fmt: skip
    assert gateway.asked == [asked("POST", "/v1/attention/job_7/dismiss", {"reason": "answered by phone"})]
    assert shell("jobs", "dismiss", "job_7")[0] == 2


def test_a_header_of_the_gateway_is_told_as_the_option_that_sets_it(shell: Shell, gateway: FakeGateway) -> None:
    errors = [{"field": "X-Organization", "message": "missing: an admin names the organisation"}]
    which = problem("AR-422", "which organisation?", errors=errors, organizations=["demo", "hotel"])
    gateway.answers["POST /v1/conversations/c-12/takeover"] = (422, which)

    assert shell("conversations", "takeover", "c-12") == (
        1, "", "replique: AR-422 which organisation?; --org: missing: an admin names the organisation; "
        "organisations: demo, hotel (--org)\n",
    )  # fmt: skip
