"""Rules and intents over HTTP: what `apply` refuses, and what a dry run says of the past."""

from dataclasses import replace
from typing import Any

import pytest

from schemas.decisions import Silence, SilenceReason
from schemas.strategy import Resolved, RuleOutcome
from tests.builders_face import Gateway, a_gateway
from tests.builders_storage import a_reply
from tests.scene import Scene, a_scene

ACME = {"kind": "Organization", "name": "acme"}
MAYA = {"kind": "Persona", "name": "maya"}
SALES = {"kind": "Intent", "name": "sales", "guidance": "Sell gently."}


def rule(name: str = "r", when: str = "true", then: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"kind": "Rule", "name": name, "when": when, "then": then or {"inject": "x"}, **fields}


async def apply(gateway: Gateway, *documents: dict[str, Any]) -> Any:
    answer = await gateway.call("POST", "/v1/apply", {"resources": list(documents)}, org="acme")
    body = answer.json()
    return [item["result"] for item in body["resources"]] if answer.status_code == 200 else body


async def version(gateway: Gateway) -> int:
    found: int = await gateway.run("SELECT strategy_version FROM organizations")
    return found


async def test_rules_and_intents_may_name_each_other_in_any_order_and_count_versions(database_url: str) -> None:
    batch = (
        rule("a", then={"force_intent": "sales"}, requires=["b"]),
        rule("b", then={"reroute_intent": {"from": "sales", "to": "sales"}}, persona="maya", excludes=["c"]),
        rule("c"),
        SALES,
        MAYA,
        ACME,
    )
    async with a_gateway(database_url) as gateway:
        first, one = await apply(gateway, *batch), await version(gateway)
        again, same = await apply(gateway, *batch), await version(gateway)
        changed, two = await apply(gateway, rule("c", enabled=False)), await version(gateway)
        log = await gateway.run(
            "SELECT json_agg(json_build_array(action, subject, facts) ORDER BY id) FROM audit_log WHERE subject = 'c'"
        )

    assert (first, one) == (["created"] * 6, 1)
    assert (again, same) == (["unchanged"] * 6, 1)
    assert (changed, two) == (["updated"], 2)
    assert [entry[0] for entry in log] == ["rule.created", "rule.updated"]
    assert log[1][2] == {"changed": ["enabled"]}


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        rule(when="contact.nam == 'x'"),
        "when",
        "line 1, column 9: contact has no field 'nam'; it has: id, locale, name, profile, timezone",
    ),
    (
        rule(when="message.count > '3'"),
        "when",
        "line 1, column 15: a whole number and a string cannot be compared with >",
    ),
    (rule(when="true &&"), "when", "line 1, column 8: a value is missing before the end"),
    (
        rule(then={"force_intent": "sale"}),
        "then.force_intent",
        "there is no intent 'sale' in this organisation or batch",
    ),
    (
        rule(then={"reroute_intent": {"from": "sales", "to": "care"}}),
        "then.reroute_intent.to",
        "there is no intent 'care' in this organisation or batch",
    ),
    (rule(excludes=["x"]), "excludes", "there is no rule 'x' in this organisation or batch"),
    (rule(requires=["y"]), "requires", "there is no rule 'y' in this organisation or batch"),
    (rule(persona="lea"), "persona", "there is no persona 'lea' in this organisation or batch"),
    (rule(excludes=["r"]), "excludes", "a rule cannot name itself"),
    (rule(excludes=["q"], requires=["q"]), "requires", "it excludes rule 'q' too"),
    (
        rule(then={"disable_tools": ["send_vocal"], "require_tools": ["send_vocal"]}),
        "then.require_tools",
        "send_vocal is disabled by this very rule",
    ),
]


@pytest.mark.parametrize(("document", "field", "sentence"), REFUSED, ids=lambda value: str(value)[:40])
async def test_a_rule_that_cannot_work_is_refused_and_nothing_is_kept(
    document: dict[str, Any], field: str, sentence: str, database_url: str
) -> None:
    async with a_gateway(database_url) as gateway:
        await apply(gateway, ACME, MAYA, SALES)
        refused = await apply(gateway, rule("fine"), document)
        kept = await gateway.run("SELECT count(*) FROM rules")

    assert (refused["status"], refused["errors"]) == (422, [{"field": f"resources.1.{field}", "message": sentence}])
    assert kept == 0


async def test_the_schema_names_what_it_does_not_know(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        refused = await apply(
            gateway,
            ACME,
            rule(then={"disable_tools": ["send_money"]}),
            rule("e", then={"autonomy": "on"}),
            {"kind": "Rule", "name": "n", "when": "true", "then": {}},
            rule("o", priority="high"),
        )

    assert [error["field"] for error in refused["errors"]] == [
        "resources.1.then.disable_tools.0",
        "resources.2.then.autonomy",
        "resources.3.then",
        "resources.4.priority",
    ]


async def test_an_organisation_has_at_most_two_hundred_rules(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await apply(gateway, ACME, *[rule(f"r{n}") for n in range(200)])
        refused = await apply(gateway, rule("one-more"))

    message = "an organisation has at most 200 rules, and with this batch it would have 201"
    assert refused["errors"] == [{"field": "resources.0.kind", "message": message}]


# ---------------------------------------------------------------- dry run


async def try_out(scene: Scene, **body: Any) -> Any:
    return await scene.call("POST", "rules/dry-run", body)


async def a_talk(scene: Scene) -> None:
    """Three replies: one that left, one silence, one that was overtaken before it left."""
    await scene.reply("salut")
    await scene.send()
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ, read=True))
    await scene.reply("jamais vu")
    await scene.say()


async def test_a_dry_run_says_which_rules_would_have_fired_and_why_not(database_url: str) -> None:
    async with a_scene(database_url) as scene:
        await scene.gateway.call(
            "POST",
            "/v1/apply",
            {
                "resources": [
                    rule("off", "message.text.contains('coucou')", {"inject": "Hello."}, enabled=False, once=True),
                    rule("needs", "has(contact.profile.vip) && message.count == 1"),
                    rule("other", "message.count > 5 || false"),
                ]
            },
            org="acme",
        )
        await a_talk(scene)
        found = await try_out(scene, rules=["off", "needs"])
        everything = await try_out(scene)

    assert found["looked_at"] == 4
    assert found["rules"] == [
        {"rule": "needs", "enabled": True, "applied": 0, "dropped": 0, "not_matched": 4},
        {"rule": "off", "enabled": False, "applied": 1, "dropped": 3, "not_matched": 0},
    ]
    newest = found["items"][0]
    assert [(r["rule"], r["outcome"], r["reason"]) for r in newest["rules"]] == [
        ("needs", "not_matched", "this does not hold: has(contact.profile.vip)"),
        ("off", "dropped", "once: it has fired, and its condition has held ever since"),
    ]
    assert [item["inject"] for item in found["items"]] == [[], [], [], ["Hello."]]
    assert {r["rule"] for r in everything["rules"]} == {"needs", "off", "other"}


async def test_a_rule_that_is_not_stored_is_tried_and_stays_unstored(database_url: str) -> None:
    draft = {"when": "message.count == 1", "then": {"disable_tools": ["send_vocal"], "autonomy": "draft"}}
    async with a_scene(database_url) as scene:
        await scene.reply("salut")
        await scene.send()
        await scene.say()
        await scene.say()
        found = await try_out(scene, rule=draft, conversation="c-1", limit=10)
        stored = await scene.one("SELECT count(*) FROM rules")

    assert [(i["disabled_tools"], i["autonomy"]) for i in found["items"]] == [([], None), (["send_vocal"], "draft")]
    assert found["warnings"] == [
        "rule draft takes tools away depending on message, which changes from message to message: each other set of "
        "tools is another prompt, and the provider's cache of the one before is not read",
        "the tools changed 1 times from one reply to the next of the same conversation (2 different sets): each change "
        "reads nothing from the provider's cache",
    ]
    assert stored == 0


async def test_a_dry_run_refuses_what_makes_no_sense(database_url: str) -> None:
    async with a_scene(database_url) as scene:
        wrong = await try_out(scene, rule={"when": "nobody.knows", "then": {"force_intent": "x"}})
        unknown = await try_out(scene, rule={"when": "true", "then": {"force_intent": "x"}}, rules=["y"])
        nowhere = await try_out(scene, conversation="c-99")
        app = await scene.gateway.key("app", "acme")
        forbidden = await scene.gateway.call("POST", "/v1/rules/dry-run", {}, key=app)

    assert wrong["errors"] == [
        {
            "field": "rule.when",
            "message": "line 1, column 1: there is no 'nobody'; "
            "there are: contact, conversation, message, now, persona",
        }
    ]
    assert [error["field"] for error in unknown["errors"]] == ["rules.0", "rule.then.force_intent"]
    assert (nowhere["status"], nowhere["detail"]) == (404, "there is no conversation 'c-99'")
    assert forbidden.status_code == 403


async def test_a_job_and_its_explanation_show_the_rules_of_its_run(database_url: str) -> None:
    rules = (
        RuleOutcome(rule="vip", outcome="applied"),
        RuleOutcome(rule="late", outcome="dropped", reason="vip comes before it, and they exclude each other"),
    )
    async with a_scene(database_url) as scene:
        await scene.say()
        await scene.decide(replace(a_reply("salut"), strategy=Resolved(rules=rules, autonomy="draft")))
        shown = await scene.call("GET", f"jobs/job_{await scene.newest()}")
        why = await scene.call("GET", "explain/c-1")

    assert (shown["state"], shown["on_hold"]) == ("held", True)
    assert shown["rules"] == [
        {"rule": "vip", "outcome": "applied"},
        {"rule": "late", "outcome": "dropped", "reason": "vip comes before it, and they exclude each other"},
    ]
    assert why["sentence"] == "the draft awaits approval: the autonomy is draft, by the persona or by a rule"
    assert why["facts"]["rules"] == [
        "vip applied",
        "late dropped: vip comes before it, and they exclude each other",
    ]


async def test_a_window_set_by_a_rule_is_the_one_that_a_released_draft_gets(database_url: str) -> None:
    async with a_scene(database_url) as scene:
        await scene.say()
        await scene.decide(replace(a_reply("salut"), strategy=Resolved(autonomy="draft", window=500)))
        await scene.steer("release")
        seconds = await scene.one("SELECT extract(epoch FROM due_at - clock_timestamp()) FROM jobs")

    assert 480 < seconds <= 500


@pytest.mark.parametrize(
    ("between", "standing"),
    [
        (Silence(SilenceReason.BOT_LOOP), ("hello",)),
        (Silence(SilenceReason.LEFT_ON_READ, strategy=Resolved()), ()),
    ],
    ids=["stopped before rules were asked", "a run in which it did not hold"],
)
async def test_once_stands_until_a_run_in_which_it_did_not_hold(
    between: Silence, standing: tuple[str, ...], database_url: str
) -> None:
    fired = Resolved(rules=(RuleOutcome(rule="hello", outcome="applied", standing=True),))
    async with a_scene(database_url) as scene:
        await scene.say()
        await scene.decide(replace(a_reply("salut"), strategy=fired))
        await scene.send()
        await scene.say()
        await scene.decide(between)
        await scene.say()
        claim = await scene.claim()

    assert claim is not None
    assert claim.case.standing_rules == standing
