"""Every field of every kind of document, with a value that does not belong there: taken or refused with a code, and
whatever was taken can be read by a worker."""

import json
from typing import Any

import pytest

from schemas.resources import OrganizationSpec, PersonaSpec
from schemas.strategy import IntentSpec, RuleSpec
from tests.builders_face import a_gateway
from tests.fuzz.hostile import places, put
from tests.victim import ORG, RESOURCES

FULL_PERSONA = {
    "kind": "Persona",
    "name": "full",
    "language": "fr",
    "timezone": "Europe/Paris",
    "voice": "espeak:fr",
    "autonomy": "draft",
    "control_window_seconds": 1.5,
    "debounce": {"quiet_seconds": 1, "max_wait_seconds": 2},
    "pacing": {"base_ms": 1, "per_char_ms": 1, "jitter": 0.1},
    "limits": {"max_bubbles": 2, "max_chars": 100, "banned_words": ["x"], "spend_24h_flag": "10.00"},
    "prices": {"floor_ratio": 0.5, "ceiling_ratio": 2},
    "quiet_hours": "22:00-08:00",
    "proactive_hours": "09:00-21:00",
    "voice_consent_record": {"owner": "m", "given_at": "2026-01-01T00:00:00Z", "proof": "p"},
    "disclosure": {"mode": "disclose", "texts": {"fr": "Une IA vous répond."}, "repeat_hours": 3, "profile": "eu"},
    "agent": {"MaxIterations": 6, "TimeoutSeconds": 60, "MAX_FREE_MEDIA_WINDOW": "1d"},
}
FULL_ORGANIZATION = {
    "kind": "Organization",
    "name": ORG,
    "plan": "pro",
    "locale": "fr",
    "timezone": "Europe/Paris",
    "country": "FR",
    "currency": "EUR",
    "webhook": {"url": "https://x.example/in", "secret": "whsec_" + "c2VjcmV0" * 4, "channel": "telegram"},
    "flags": {"ai_rag_enabled": True, "crisis_notice": False},
    "budgets": {"per_run": "1", "per_conversation": "2", "per_month": "3"},
    "limits": {"in_flight": 4, "replies_per_minute": 5, "escalation_minutes": 6},
    "retention_days": 30,
    "models": {"reply": "claude-haiku-5-5,gpt-6-luna"},
    "agent": {"MaxIterations": 8},
}
FULL_RULE = {
    "kind": "Rule",
    "name": "full",
    "persona": "maya",
    "priority": 1,
    "when": "size(contact.name) > 3 && size(message.text) < 100",
    "then": {
        "inject": "x",
        "force_intent": "sell",
        "disable_tools": ["send_vocal"],
        "require_tools": ["send_message"],
        "autonomy": "draft",
        "control_window_seconds": 5,
    },
    "once": True,
    "excludes": ["calm"],
    "requires": [],
}
USER = {"kind": "User", "name": "yann", "email": "yann@acme.example", "role": "operator", "locale": "fr"}
KINDS = [FULL_ORGANIZATION, FULL_PERSONA, FULL_RULE, USER, *RESOURCES[2:]]
HOSTILE: list[Any] = [
    None, True, 0, -1, 1.5, 2**31, 2**63, 10**30, -(10**30), 1e308, -0.0, "", " ", "x" * 300, "\ud800", "\x00", "..",
    "-1", "1e3", "NaN", "9" * 40, "0.00001", [], [None], ["x"] * 60, {}, {"": ""}, {"x": {"y": []}}, "²", "１",
    "\u202e", "a\nb", "2026-02-30T00:00:00Z", "24:00-25:00", "1" * 400 + " > 0", "(" * 400 + ")" * 400,
    "[" * 200 + "]" * 200, "message.text.matches('(a+)+$')", "1/0 == 1", "[1,2][5] == 1",
    "contact.profile.x.y.z == 1", "9223372036854775807 + 1 > 0", "timestamp('x') > now",
    "duration('99999999999h') > duration('1h')", "http://[::1", "https://x.example:99999/",
]  # fmt: skip


@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.slow)])
async def test_hostile_values_in_every_field(database_url: str, share: int) -> None:
    """A third of the values at each place, each value at a third of the places; the long form tries them all."""
    async with a_gateway(database_url) as gateway:
        for resources in (RESOURCES, *([whole] for whole in KINDS)):
            base = await gateway.call(
                "POST", "/v1/apply", {"resources": resources}, org=ORG if len(resources) == 1 else None
            )
            assert base.status_code == 200, base.text
        statuses: dict[int, int] = {}
        taken = []
        for whole in KINDS:
            for number, at in enumerate(places(whole)):
                if at in (("kind",), ("text",), ("description",)) and whole["kind"] not in ("Document",):
                    continue
                for hostile in HOSTILE[number % share :: share]:
                    document = put(whole, at, hostile)
                    body = json.dumps({"resources": [document]}).encode()
                    answer = await gateway.call(
                        "POST", "/v1/apply", content=body, headers={"Content-Type": "application/json"}, org=ORG
                    )
                    statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
                    assert answer.status_code in (200, 404, 409, 413, 422), (document, answer.text)
                    if answer.status_code == 200:
                        taken.append(document["kind"])
                        await readable(gateway)

    assert statuses[200] > 50
    assert statuses[422] > 500, statuses


async def readable(gateway: Any) -> None:
    """As workers read them. Each may hold what one change left of the others."""
    for table, spec in (
        ("organizations", OrganizationSpec),
        ("personas", PersonaSpec),
        ("rules", RuleSpec),
        ("intents", IntentSpec),
    ):
        kept = await gateway.run(f"SELECT json_agg(spec) FROM {table}")
        for one in kept if isinstance(kept, list) else json.loads(kept):
            spec.model_validate(one)


async def test_a_rule_that_was_taken_can_be_tried(database_url: str) -> None:
    """Conditions that fail at run time are told, not thrown."""
    async with a_gateway(database_url) as gateway:
        await gateway.call("POST", "/v1/apply", {"resources": RESOURCES})
        message = {
            "id": "m-1",
            "conversation": "c-1",
            "persona": "maya",
            "author": "contact",
            "contact": {"id": "f", "profile": {"total_spent": 10**300, "x": [[[]]], "y": 1e308, "z": "\x00"}},
            "text": "a" * 5_000 + "!",
        }
        assert (await gateway.call("POST", "/v1/messages", message, org=ORG)).status_code == 202
        found = set()
        for when in HOSTILE:
            rule = {"name": "x", "when": when, "then": {"inject": "x"}}
            answer = await gateway.call("POST", "/v1/rules/dry-run", {"rule": rule}, org=ORG)
            found.add(answer.status_code)

    assert found <= {200, 422}
