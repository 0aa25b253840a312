"""What the person on call types: explain and queues against a gateway over real HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_command import FakeGateway, fake_gateway, problem
from tests.integration.test_cli import KEY, Shell
from workers.cli.costs import UNPAID
from workers.cli.terminal import SIMULATED

WHY = {
    "subject": "c-12",
    "kind": "conversation",
    "organization": "demo",
    "conversation": "c-12",
    "job": "job_7",
    "cause": "delivery_waiting",
    "code": None,
    "sentence": "the webhook's receiver has not taken it in 3 attempts",
    "since": "2026-11-30T10:00:00Z",
    "until": None,
    "who": "receiver",
    "next": "mend the receiver",
    "facts": {"attempts": 3, "last_answer": "503"},
}
QUEUE = {
    "queue": "reply",
    "depth": 4,
    "due": 2,
    "in_flight": 1,
    "oldest_due_at": "2026-11-30T10:00:00Z",
    "oldest_due_seconds": 2.04,
}


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with fake_gateway() as fake:
        yield fake


@pytest.fixture
def shell(tmp_path: Path, gateway: FakeGateway) -> Shell:
    return Shell(tmp_path, {"REPLIQUE_URL": gateway.url, "REPLIQUE_KEY": KEY})


def test_explain_says_the_reason_first_and_ends_with_what_to_do(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["GET /v1/explain/c-12"] = (200, WHY)
    code, out, err = shell("explain", "c-12")

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "the webhook's receiver has not taken it in 3 attempts",
        "  cause: delivery_waiting",
        "  since: 2026-11-30T10:00:00Z",
        "  who: receiver",
        "  job: job_7",
        "  conversation: c-12",
        "  attempts: 3",
        "  last answer: 503",
        "  next: mend the receiver",
    ]
    code, out, _ = shell("explain", "c-12", "--json")
    assert (code, json.loads(out)) == (0, WHY)


def test_who_names_the_organisation_is_told_the_next_command_with_it(shell: Shell, gateway: FakeGateway) -> None:
    to_do = "answer by hand, or give it back (`replique conversations resume c-12`)"
    gateway.answers["GET /v1/explain/c-12"] = (200, {**WHY, "next": to_do})
    code, out, _ = shell("explain", "c-12", "--org", "acme")

    assert (code, "(`replique conversations resume c-12 --org acme`)" in out) == (0, True)


def test_explain_of_an_unknown_id_fails_with_a_sentence(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["GET /v1/explain/x"] = (404, problem("AR-404", "no conversation, message or job is called that"))

    assert shell("explain", "x") == (1, "", "replique: AR-404 no conversation, message or job is called that\n")


def test_queues_are_one_line_each(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["GET /v1/queues"] = (200, {"items": [QUEUE], "next": None})

    assert shell("queues") == (0, "reply\t4\t2\t1\t2.0\n", "")
    code, out, _ = shell("queues", "--json")
    assert (code, json.loads(out)["items"]) == (0, [QUEUE])


def a_line(**changes: Any) -> dict[str, Any]:
    counted = dict.fromkeys(("calls", "unpriced_calls", "unknown_calls", "input", "cache_read"), 1)
    more = dict.fromkeys(("cache_write_5m", "cache_write_1h", "output"), 2)
    money = {"cost_usd": "0.5", "discarded_cost_usd": "0", "cost_eur": "0.43", "currency": "EUR", "cost": "0.43"}
    return {
        "key": "acme",
        "org": None,
        **counted,
        **more,
        **money,
        "cache_share": 0.25,
        "strong_share": None,
        **changes,
    }


COSTS = {
    "group": "org",
    "items": [a_line(), a_line(key="=evil()")],
    "next": None,
    "left_off": 0,
    "total": a_line(key=None, unpriced_calls=0, unknown_calls=2),
    "plans": [{"org": "acme", "plan": "pro", "month": "2026-12", "used": 7, "limit": 2000, "margin": 0.976}],
}


def test_costs_are_a_table_a_csv_or_json(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["GET /v1/costs?group=org&limit=200"] = (200, COSTS)

    code, out, err = shell("costs", "--by", "org")
    assert (code, out.splitlines()[0]) == (0, "acme\t1\t1\t1\t2\t0.5\t0\t0.43\tEUR\t25%\t")
    assert out.splitlines()[-1].startswith("total\t")
    assert err.splitlines() == [
        "2 calls were never heard of again and stand at what was set aside",
        "acme: plan pro, 7 of 2000 replies in 2026-12, margin 97.6%",
    ]
    code, out, err = shell("costs", "--csv")
    assert (code, out.splitlines()[0][:20], err) == (0, "key,org,calls,unpric", "")
    assert out.splitlines()[2].startswith("'=evil(),,1,")
    code, out, _ = shell("costs", "--json")
    assert (code, json.loads(out)) == (0, COSTS)


LETTER = {
    "id": "dead_3",
    "organization": "demo",
    "job": "job_7",
    "source": "delivery",
    "state": "open",
    "code": "AR-560",
    "error": "the receiver answered 400",
    "attempts": 1,
    "first_seen": "2026-11-30T10:00:00Z",
    "last_seen": "2026-11-30T10:00:01Z",
    "payload": {"conversation": "c-12", "job": "job_7"},
    "trace": [
        {"run": "run_1", "kind": "model", "model": "anthropic:m", "stop": "tool_use"},
        {"run": "run_1", "kind": "tool", "tool": "send_text", "refused": True},
    ],
}


def test_dead_letters_are_one_line_each_and_shown_with_their_story(shell: Shell, gateway: FakeGateway) -> None:
    page = {"items": [LETTER], "next": None}
    gateway.answers["GET /v1/dead-letters?state=open&limit=50&code=AR-560"] = (200, page)
    gateway.answers["GET /v1/dead-letters/dead_3"] = (200, LETTER)

    line = "dead_3\tdelivery\tAR-560\tjob_7\t1\t2026-11-30T10:00:01Z\tthe receiver answered 400\n"
    assert shell("dead", "list", "--code", "AR-560") == (0, line, "")
    assert json.loads(shell("dead", "list", "--code", "AR-560", "--json")[1]) == page
    code, out, _ = shell("dead", "show", "dead_3")
    assert (code, out.splitlines()[0]) == (0, "dead_3  delivery  open")
    assert out.splitlines()[-3:] == ["  job: job_7", "  model anthropic:m, tool_use", "  tool send_text, refused"]
    assert json.loads(shell("dead", "show", "dead_3", "--json")[1]) == LETTER


def test_named_dead_letters_are_tried_again_and_thrown_away(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["POST /v1/dead-letters/dead_3/retry"] = (200, LETTER | {"state": "retried"})
    gateway.answers["DELETE /v1/dead-letters/dead_4"] = (409, problem("AR-409", "too late: found it retried"))

    assert shell("dead", "retry", "dead_3") == (0, "dead_3: tried again\n", "")
    assert shell("dead", "purge", "dead_4") == (1, "", "replique: AR-409 too late: found it retried\n")


def test_a_filter_is_followed_to_its_last_page_and_what_came_too_late_is_told(
    shell: Shell, gateway: FakeGateway
) -> None:
    late = {"id": "dead_1", "code": "AR-409", "detail": "too late: found it failed"}
    first = {"retried": ["dead_3"], "refused": [], "next": "dead_3"}
    gateway.answers["POST /v1/dead-letters/retry?source=delivery"] = (200, first)
    gateway.answers["POST /v1/dead-letters/retry?cursor=dead_3&source=delivery"] = (
        200,
        {"retried": [], "refused": [late], "next": None},
    )
    gateway.answers["DELETE /v1/dead-letters?all=true"] = (200, {"purged": ["dead_3", "dead_1"], "next": None})

    code, out, err = shell("dead", "retry", "--source", "delivery")
    assert (code, out.splitlines()) == (1, ["1 retried, 1 could not be", "dead_1\tAR-409 too late: found it failed"])
    assert err == "replique: 1 of 2 came too late or cannot be tried again\n"
    assert shell("dead", "purge", "--all") == (0, "2 purged\n", "")


def test_all_of_them_are_never_meant_by_saying_nothing(shell: Shell, gateway: FakeGateway) -> None:
    asked = [shell("dead", verb)[0] for verb in ("retry", "purge")]

    assert (asked, shell("dead", "purge", "dead_3", "--all")[0], gateway.asked) == ([2, 2], 2, [])


DRY_RUN = {
    "looked_at": 1,
    "rules": [{"rule": "vip", "enabled": False, "applied": 0, "dropped": 0, "not_matched": 1}],
    "warnings": ["rule vip takes tools away depending on message"],
    "assumed": ["the profile is as it is now"],
    "items": [
        {
            "job": "job_7",
            "conversation": "c-12",
            "persona": "maya",
            "at": "2026-11-30T10:00:00Z",
            "rules": [{"rule": "vip", "outcome": "not_matched", "reason": "this does not hold: message.count > 5"}],
        }
    ],
}


def test_a_dry_run_of_rules_shows_which_fired_and_why_not(shell: Shell, gateway: FakeGateway, tmp_path: Path) -> None:
    gateway.answers["POST /v1/rules/dry-run"] = (200, DRY_RUN)
    (tmp_path / "rule.yaml").write_text("kind: Rule\nname: vip\nwhen: message.count > 5\nthen: {inject: x}\n")
    code, out, err = shell("rules", "dry-run", "-f", "rule.yaml", "--rule", "other", "--conversation", "c-12")

    assert (code, err) == (0, "rule vip takes tools away depending on message\n")
    assert out.splitlines() == ["job_7\tc-12\tvip\tnot_matched\tthis does not hold: message.count > 5"]
    assert gateway.asked[-1].body == {
        "rules": ["other"],
        "limit": 50,
        "conversation": "c-12",
        "rule": {"kind": "Rule", "name": "vip", "when": "message.count > 5", "then": {"inject": "x"}},
    }
    assert json.loads(shell("rules", "dry-run", "--json")[1]) == DRY_RUN


def test_a_dry_run_tries_one_rule_of_a_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("kind: Rule\nname: a\n---\nkind: Rule\nname: b\n")

    assert shell("rules", "dry-run", "-f", "two.yaml") == (
        1,
        "",
        "replique: two.yaml holds 2 documents; a dry run tries one Rule\n",
    )


def test_where_a_simulator_answers_nobody_is_taken_to_be_paid(shell: Shell, gateway: FakeGateway) -> None:
    gateway.answers["GET /v1/queues"] = (200, {"items": [QUEUE], "next": None, "simulated": True})
    gateway.answers["GET /v1/explain/c-12"] = (200, {**WHY, "simulated": True})
    gateway.answers["GET /v1/costs?group=org&limit=200"] = (200, {**COSTS, "simulated": True})

    errors = [shell(*words)[2].splitlines()[0] for words in (["queues"], ["explain", "c-12"], ["costs"])]

    assert errors == [SIMULATED, SIMULATED, UNPAID]
