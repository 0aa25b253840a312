"""Documents: what they accept, and that what is stored reads back as the same document."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.manifest import Manifest
from schemas.resources import OrganizationDocument, OrganizationSpec, PersonaSpec, stored

ORGANIZATION = {
    "kind": "Organization",
    "name": "acme",
    "plan": "pro",
    "timezone": "Europe/Paris",
    "webhook": {"url": "https://x.test/in", "secret": "whsec_" + "c2VjcmV0" * 4, "channel": "telegram"},
    "budgets": {"per_run": "0.05", "per_month": "250"},
    "limits": {"in_flight": 4},
    "models": {"reply": "claude-haiku-5-5,gpt-6-luna"},
    "agent": {"MaxIterations": 8, "TimeoutSeconds": 90},
}
PERSONA = {
    "kind": "Persona",
    "name": "maya",
    "control_window_seconds": 1.5,
    "debounce": {"quiet_seconds": 0, "max_wait_seconds": 2},
    "limits": {"banned_words": ["free"], "spend_24h_flag": "100.00"},
    "quiet_hours": "22:00–08:00",
    "voice_consent_record": {"owner": "Maya", "given_at": "2026-01-01T00:00:00Z"},
    "disclosure": {"mode": "disclose", "texts": {"fr": "Une IA vous répond."}, "repeat_hours": 3},
}


def test_what_is_stored_reads_back_as_the_same_document() -> None:
    organization, persona = Manifest.model_validate({"resources": [ORGANIZATION, PERSONA]}).resources

    read = (OrganizationSpec.model_validate(stored(organization)), PersonaSpec.model_validate(stored(persona)))

    assert [stored(spec) for spec in read] == [stored(organization), stored(persona)]


def test_a_channel_that_is_not_named_is_not_stored_and_so_read_by_older_workers_too() -> None:
    webhook = {"url": "https://x.test/in", "secret": "whsec_" + "c2VjcmV0" * 4}

    kept = stored(OrganizationSpec.model_validate({"webhook": webhook}))

    assert sorted(kept["webhook"]) == ["secret", "url"]


def test_a_channel_that_nobody_knows_is_refused_by_name() -> None:
    webhook = {"url": "https://x.test/in", "secret": "whsec_" + "c2VjcmV0" * 4, "channel": "fax"}

    with pytest.raises(ValidationError) as refused:
        OrganizationSpec.model_validate({"webhook": webhook})

    assert [error["loc"] for error in refused.value.errors()] == [("webhook", "channel")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("control_window_seconds", "45"),
        ("control_window_seconds", True),
        ("control_window_seconds", -1),
        ("control_window_seconds", float("inf")),
        ("quiet_hours", "24:00-08:00"),
        ("timezone", "Mars/Olympus"),
        ("autonomy", "full"),
        ("pipeline", "concierge"),
        ("limits", {"max_bubbles": 6.0}),
        ("disclosure", {"notice": 0}),
        ("limits", {"spend_24h_flag": 100}),
        ("limits", {"spend_24h_flag": "1e2"}),
        ("voice_consent_record", {"owner": "Maya", "given_at": 0}),
    ],
)
def test_what_a_persona_refuses(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        PersonaSpec.model_validate({field: value})

    assert {error["loc"][0] for error in refused.value.errors()} == {field}


@pytest.mark.parametrize(
    "url",
    ["https://name:hunter2@x.test/in", "https://name@x.test/in", "http://x.test:25/in", "http://x.test:0/in"],
)
def test_a_webhook_that_could_never_be_delivered_to_is_refused_when_it_is_named_and_read_when_it_is_stored(
    url: str,
) -> None:
    webhook = {"url": url, "secret": "whsec_" + "c2VjcmV0" * 4}

    with pytest.raises(ValidationError) as refused:
        OrganizationDocument.model_validate({"kind": "Organization", "name": "acme", "webhook": webhook})

    (error,) = refused.value.errors(include_input=False)
    assert error["loc"] == ("webhook", "url")
    assert "hunter2" not in error["msg"]
    assert OrganizationSpec.model_validate({"webhook": webhook}).webhook is not None
