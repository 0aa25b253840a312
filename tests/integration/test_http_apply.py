"""`POST /v1/apply`: idempotent, whole truth, all or nothing, and audited."""

from typing import Any

from schemas.manifest import KINDS
from schemas.responsibility import NOTICE_RESPONSIBILITY, NOTICE_RESPONSIBILITY_VERSION
from tests.builders_face import Gateway, a_gateway

ACME = {"kind": "Organization", "name": "acme"}
MAYA = {"kind": "Persona", "name": "maya"}
SILENT = {**MAYA, "disclosure": {"notice": False}}
SECRET = "whsec_" + "c2VjcmV0" * 4


async def apply(gateway: Gateway, *documents: dict[str, Any], org: str | None = None) -> Any:
    answer = await gateway.call("POST", "/v1/apply", {"resources": list(documents)}, org=org)
    return answer.json() if answer.status_code != 200 else [item["result"] for item in answer.json()["resources"]]


async def spec(gateway: Gateway, table: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await gateway.run(f"SELECT spec FROM {table} WHERE name = :name", name=name)
    return found


async def test_the_same_documents_again_change_nothing(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        first = await apply(gateway, MAYA, ACME)
        again = await apply(gateway, MAYA, ACME)
        changed = await apply(gateway, {**MAYA, "tone": "warm"}, ACME)
        alone = await apply(gateway, {**MAYA, "tone": "dry"}, {"kind": "Persona", "name": "lea"}, org="acme")
        versions = await gateway.run("SELECT json_agg(version ORDER BY name) FROM personas")

    assert first == ["created", "created"]
    assert again == ["unchanged", "unchanged"]
    assert changed == ["updated", "unchanged"]
    assert alone == ["updated", "created"]
    assert versions == [0, 2]


async def test_a_field_left_out_returns_to_its_default(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await apply(
            gateway,
            ACME,
            {**MAYA, "autonomy": "auto", "debounce": {"quiet_seconds": 0.5}, "agent": {"MaxIterations": 3}},
        )
        before = await spec(gateway, "personas", "maya")
        await apply(gateway, MAYA, org="acme")
        after = await spec(gateway, "personas", "maya")

    assert (before["autonomy"], before["debounce"]["quiet_seconds"], before["agent"]["MaxIterations"]) == (
        "auto",
        0.5,
        3,
    )
    assert (after["autonomy"], after["debounce"]["quiet_seconds"], after["agent"]["MaxIterations"]) == (
        "window",
        8,
        None,
    )


async def test_which_organisation_a_batch_belongs_to(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        nobody = await apply(gateway, MAYA)
        unknown = await apply(gateway, MAYA, org="acme")
        created_by_header = await apply(gateway, ACME, MAYA, org="acme")
        other = await apply(gateway, {**ACME, "name": "other"}, org="acme")
        two = await apply(gateway, ACME, {**ACME, "name": "other"})
        twice = await apply(gateway, MAYA, MAYA, org="acme")
        names = await gateway.run("SELECT array_agg(name) FROM organizations")

    assert (nobody["status"], nobody["errors"][0]["field"]) == (422, "X-Organization")
    assert unknown["status"] == 404
    assert created_by_header == ["created", "created"]
    assert (other["status"], other["errors"][0]["field"]) == (422, "resources.0.name")
    assert (two["status"], two["errors"][0]["field"]) == (422, "resources.1.name")
    assert (twice["status"], twice["errors"][0]["field"]) == (422, "resources.1.name")
    assert names == ["acme"]


async def test_faults_are_named_by_field_and_nothing_is_kept(database_url: str) -> None:
    documents = [
        {**ACME, "webhook": {"url": "https://x.test/in", "secret": "short"}, "models": {"replies": "x"}},
        {**MAYA, "agent": {"MaxIteration": 4}, "pacing": {"base_ms": -1}, "pipeline": "concierge"},
        {**MAYA, "name": "lea", "control_window_seconds": "45", "debounce": {"quiet_seconds": True}},
        {"kind": "Spell", "name": "r"},
        {"name": "x"},
        {"kind": "Persona", "name": "no spaces"},
    ]
    async with a_gateway(database_url) as gateway:
        problem = await apply(gateway, *documents)
        kept = await gateway.run("SELECT count(*) FROM organizations")

    assert problem["status"] == 422
    assert [error["field"] for error in problem["errors"]] == [
        "resources.0.webhook",
        "resources.0.models",
        "resources.1.pipeline",
        "resources.1.pacing.base_ms",
        "resources.1.agent.MaxIteration",
        "resources.2.control_window_seconds",
        "resources.2.debounce.quiet_seconds",
        "resources.3.kind",
        "resources.4.kind",
        "resources.5.name",
    ]
    assert kept == 0


async def test_going_without_the_notice_must_be_answered_for_once(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        first = await apply(gateway, ACME, {**MAYA, "tone": "warm"}, {**SILENT, "name": "lea"})
        rolled_back = await gateway.run("SELECT count(*) FROM personas")
        accepted = {**SILENT, "disclosure": {"notice": False, "accept": first["version"]}}
        second = await apply(gateway, ACME, accepted)
        again = [await apply(gateway, SILENT, org="acme"), await apply(gateway, accepted, org="acme")]
        toned = await apply(gateway, {**SILENT, "tone": "dry"}, org="acme")
        restored = await apply(gateway, MAYA, org="acme")
        off_again = await apply(gateway, SILENT, org="acme")
        stale = await apply(gateway, {**MAYA, "disclosure": {"notice": False, "accept": "2020-01"}}, org="acme")
        log = await gateway.run(
            "SELECT array_agg(facts ->> 'version') FROM audit_log WHERE action = 'notice.turned_off'"
        )

    assert (first["status"], first["code"]) == (409, "AR-409")
    assert (first["version"], first["text"]) == (NOTICE_RESPONSIBILITY_VERSION, NOTICE_RESPONSIBILITY)
    assert rolled_back == 0
    assert second == ["created", "created"]
    assert again == [["unchanged"], ["unchanged"]]
    assert (toned, restored) == (["updated"], ["updated"])
    assert (off_again["status"], stale["status"]) == (409, 409)
    assert log == [NOTICE_RESPONSIBILITY_VERSION]


async def test_changes_are_audited_without_secrets_or_texts(database_url: str) -> None:
    webhook = {"url": "https://x.test/in", "secret": SECRET}
    async with a_gateway(database_url) as gateway:
        await apply(gateway, {**ACME, "webhook": webhook}, {**MAYA, "instructions": "be brief"})
        await apply(gateway, {**MAYA, "instructions": "be kind", "agent": {"MaxIterations": 6}}, org="acme")
        log = await gateway.run(
            "SELECT json_agg(json_build_array(who, action, subject, facts) ORDER BY id) FROM audit_log "
            "WHERE org_id IS NOT NULL"
        )
        stored = await spec(gateway, "organizations", "acme")

    assert log[-1] == [
        "bootstrap",
        "persona.updated",
        "maya",
        {"changed": ["agent", "instructions"], "agent": {"MaxIterations": [None, 6]}},
    ]
    assert [entry[1] for entry in log] == ["organization.created", "persona.created", "persona.updated"]
    assert [text for text in (SECRET, "be brief", "be kind") if text in str(log)] == []
    assert stored["webhook"]["secret"] == SECRET


async def test_applying_the_webhook_opens_it_again(database_url: str) -> None:
    document = {**ACME, "webhook": {"url": "https://x.test/in", "secret": SECRET}}
    async with a_gateway(database_url) as gateway:
        await apply(gateway, document)
        await gateway.run("UPDATE organizations SET webhook_disabled_at = now()")
        reopened = await apply(gateway, document)
        disabled = await gateway.run("SELECT webhook_disabled_at FROM organizations")
        again = await apply(gateway, document)

    assert (reopened, disabled, again) == (["updated"], None, ["unchanged"])


async def test_text_that_no_database_holds_is_repaired(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        applied = await apply(gateway, ACME, {**MAYA, "instructions": "a\x00b\ud83d"})
        kept = await spec(gateway, "personas", "maya")

    assert applied == ["created", "created"]
    assert kept["instructions"] == "ab\ufffd"


async def test_somebodys_voice_needs_their_consent_on_record(database_url: str) -> None:
    consent = {"owner": "Maya D.", "given_at": "2026-11-01T10:00:00+01:00", "proof": "contract 12"}
    spoken = {**MAYA, "voice": "elevenlabs:21m00"}
    async with a_gateway(database_url) as gateway:
        refused = await apply(gateway, ACME, spoken)
        unknown = await apply(gateway, ACME, {**MAYA, "voice": "parrot:polly"})
        synthetic = await apply(gateway, ACME, {**MAYA, "voice": "fr+f3"})
        allowed = await apply(gateway, ACME, {**spoken, "voice_consent_record": consent})

    assert refused["errors"] == [
        {
            "field": "resources.1.voice_consent_record",
            "message": "the voice elevenlabs is somebody's: say who allowed it, when, and where the proof lies",
        }
    ]
    assert unknown["errors"] == [
        {
            "field": "resources.1.voice",
            "message": "no speech engine is called 'parrot'; there are espeak, kokoro, openai, elevenlabs",
        }
    ]
    assert (synthetic, allowed) == (["created", "created"], ["unchanged", "updated"])


async def test_a_notice_cannot_be_emptied_and_its_own_words_are_kept_in_the_log(database_url: str) -> None:
    blank = {"en": " ", "fr": "{name}", "de": "\u3164\u3164\u3164\u3164"}
    async with a_gateway(database_url) as gateway:
        emptied = await apply(gateway, ACME, {**MAYA, "disclosure": {"texts": blank}})
        no_language = await apply(gateway, ACME, {**MAYA, "disclosure": {"texts": {"all of them": "Une IA écrit."}}})
        own = await apply(gateway, ACME, {**MAYA, "disclosure": {"texts": {"fr": "Une IA écrit."}}})
        toned = await apply(gateway, ACME, {**MAYA, "tone": "dry", "disclosure": {"texts": {"fr": "Une IA écrit."}}})
        back = await apply(gateway, ACME, MAYA)
        log = await gateway.run(
            "SELECT json_agg(facts -> 'texts' ORDER BY id) FROM audit_log WHERE action = 'notice.reworded'"
        )

    fields = [[error["field"] for error in problem["errors"]] for problem in (emptied, no_language)]
    texts = "resources.1.disclosure.texts"
    assert fields == [[f"{texts}.en", f"{texts}.fr", f"{texts}.de"], [f"{texts}.all of them"]]
    assert (own, toned, back) == (["created"] * 2, ["unchanged", "updated"], ["unchanged", "updated"])
    assert log == [{"fr": "Une IA écrit."}, {}]


async def test_a_notice_must_tell_that_an_ai_answers(database_url: str) -> None:
    own = {"fr": "Bienvenue chez Maya !", "fr-CA": "Tu parles avec la vraie Maya, en direct.", "en": "No AI here."}
    async with a_gateway(database_url) as gateway:
        refused = await apply(gateway, ACME, {**MAYA, "disclosure": {"texts": {**own, "de": "Eine KI antwortet."}}})

    assert [error["field"].rpartition(".")[2] for error in refused["errors"]] == ["fr", "fr-CA", "en"]
    assert all("an AI" in error["message"] for error in refused["errors"])


async def test_a_notice_that_a_channel_would_cut_is_refused(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        fits = await apply(gateway, ACME, {**MAYA, "disclosure": {"texts": {"hi": "एआई " + "क" * 329}}})
        wordy = await apply(gateway, ACME, {**MAYA, "disclosure": {"texts": {"hi": "एआई " + "क" * 331}}})
        named = await apply(gateway, ACME, {**MAYA, "display_name": "é" * 500})

    fields = [[error["field"] for error in problem["errors"]] for problem in (wordy, named)]
    assert (fits, fields) == (
        ["created", "created"],
        [["resources.1.disclosure.texts.hi"], ["resources.1.display_name"]],
    )


async def test_a_route_nobody_can_read_is_refused(database_url: str) -> None:
    routes = {"reply": "banana", "review": "claude-haiku-5-5,", "draft": " , ", "bulk": "claude-haiku-5-5, cherry"}
    async with a_gateway(database_url) as gateway:
        refused = await apply(gateway, {**ACME, "models": routes})
        own_vectors = await apply(gateway, {**ACME, "models": {"embeddings": "text-embedding-3-small"}})
        accepted = await apply(gateway, {**ACME, "models": {"reply": "claude-haiku-5-5,openai:banana"}})
        dealt = {"reply": "90% claude-haiku-5-5,gpt-6-luna | 10% claude-sonnet-5-5"}
        experiment = await apply(gateway, {**ACME, "models": dealt})

    assert {error["field"]: error["message"] for error in refused["errors"]} == {
        "resources.0.models.reply": "'banana' names no known provider; write anthropic:NAME or openai:NAME",
        "resources.0.models.draft": "the route is empty",
        "resources.0.models.bulk": "'cherry' names no known provider; write anthropic:NAME or openai:NAME",
    }
    assert [(error["field"], error["message"]) for error in own_vectors["errors"]] == [
        (
            "resources.0.models.embeddings",
            "one model makes the vectors of the whole installation: set AI_MODEL_EMBEDDINGS there, and leave this out",
        )
    ]
    assert (refused["status"], accepted, experiment) == (422, ["created"], ["updated"])


async def test_money_is_a_decimal_string(database_url: str) -> None:
    budgets = {"per_run": 0.5, "per_conversation": "0.50", "per_month": "NaN"}
    async with a_gateway(database_url) as gateway:
        refused = await apply(gateway, {**ACME, "budgets": budgets})

    sentence = 'money is a decimal string of at most ten digits and four decimals, e.g. "0.50"'
    assert refused["errors"] == [
        {"field": "resources.0.budgets.per_run", "message": sentence},
        {"field": "resources.0.budgets.per_month", "message": sentence},
    ]


async def test_the_place_of_a_fault_is_told_the_same_way_for_every_kind(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        found = {}
        for kind in KINDS:
            body = {"resources": [{"kind": kind, "name": "x", "strange": 1}]}
            problem = (await gateway.call("POST", "/v1/apply", body, org="acme")).json()
            found[kind] = "resources.0.strange" in [error["field"] for error in problem["errors"]]

    assert found == dict.fromkeys(KINDS, True)
