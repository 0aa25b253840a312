"""What an organisation provisions: the kinds of `POST /v1/apply`, every field with its default and bounds.

A document is the whole truth about its resource: a field left out returns to its default. Durations are seconds,
fractions allowed; money is a decimal string.
"""

import base64
import binascii
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Self
from zoneinfo import available_timezones

from pydantic import (
    AfterValidator,
    AnyHttpUrl,
    BaseModel,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from schemas.channels import Channel
from schemas.llm import Task
from schemas.moments import rfc3339
from schemas.money import Currency, Money
from schemas.spec import STRICT, Locale, Name
from schemas.speech import SpeechFailed, Voice
from schemas.web import fault_of

Seconds = Annotated[float, Field(ge=0, le=31_536_000, allow_inf_nan=False)]
Country = Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
DayHours = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d[-–]([01]\d|2[0-3]):[0-5]\d$")]

PIPELINES = frozenset({"autoreply"})
"""The pipelines that exist. Naming another one is refused, not stored for later."""


# Walks the zone files: 40 ms a call, and every document that is read asks.
_zones = cache(available_timezones)


def _zone(name: str) -> str:
    if name not in _zones():
        raise ValueError(f"{name!r} is not an IANA time zone, e.g. Europe/Paris")
    return name


def _pipeline(name: str) -> str:
    if name not in PIPELINES:
        raise ValueError(f"pipeline {name!r} does not exist; one of: {', '.join(sorted(PIPELINES))}")
    return name


def _tasks(models: dict[str, str]) -> dict[str, str]:
    unknown = sorted(set(models) - set(Task))
    if unknown:
        raise ValueError(f"no such task: {', '.join(unknown)}; one of: {', '.join(Task)}")
    return models


Zone = Annotated[str, AfterValidator(_zone)]
Pipeline = Annotated[str, AfterValidator(_pipeline)]
Models = Annotated[dict[str, Annotated[str, Field(min_length=1, max_length=1000)]], AfterValidator(_tasks)]
"""Routes by task; a route is model names, the first is asked first."""


class Spec(BaseModel):
    model_config = STRICT


class Webhook(Spec):
    """Where signed webhooks go. `secret`: `whsec_` and base64 of 24 to 64 bytes, as Standard Webhooks asks. `channel`:
    the platform on which the receiver shows what it gets; a text that is too long for it arrives as several."""

    url: AnyHttpUrl
    secret: SecretStr
    channel: Annotated[Channel, Field(strict=False)] = Channel.WEBHOOK

    @model_validator(mode="after")
    def _secret_is_a_key(self) -> Self:
        text = self.secret.get_secret_value()
        try:
            raw = base64.b64decode(text.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if not text.startswith("whsec_") or not 24 <= len(raw) <= 64:
            raise ValueError("secret must be whsec_ followed by the base64 of 24 to 64 bytes")
        return self


class Flags(Spec):
    """`crisis_notice`: who speaks of self-harm is sent the help lines of the organisation's country, at once."""

    ai_rag_enabled: bool | None = None
    crisis_notice: bool | None = None


class Budgets(Spec):
    """US dollars; absent is unlimited."""

    per_run: Money | None = None
    per_conversation: Money | None = None
    per_month: Money | None = None


class OrganizationLimits(Spec):
    in_flight: int = Field(16, ge=1, le=1000, description="Jobs of one queue in Redis or running at once.")
    replies_per_minute: int = Field(10, ge=1, le=600, description="AI replies of one conversation.")
    escalation_minutes: int = Field(15, ge=1, le=1440)


class AgentOverrides(Spec):
    """The agent's parameters under the names operators know; absent inherits from the level above."""

    Enable: bool | None = None
    MaxIterations: int | None = Field(None, ge=1, le=50)
    TimeoutSeconds: float | None = Field(None, ge=5, le=600)
    MaxRefusedToolCalls: int | None = Field(None, ge=1, le=20)
    MaxValidationPasses: int | None = Field(None, ge=0, le=5)
    UseRedactionValidation: bool | None = None
    HardRemoveDisabledTools: bool | None = None
    PreferAlbumContinuity: bool | None = None
    MAX_FREE_MEDIA: int | None = Field(None, ge=0, le=100)
    MAX_FREE_MEDIA_WINDOW: str | None = Field(None, pattern=r"^(\d{1,5}[smhd])?$")


class OrganizationSpec(Spec):
    plan: Literal["starter", "pro", "enterprise"] | None = None
    locale: Locale = "en"
    timezone: Zone = "UTC"
    country: Country | None = None
    currency: Currency = "EUR"
    pipeline: Pipeline = "autoreply"
    webhook: Webhook | None = None
    ai_context: str = ""
    featured_menu: str = ""
    flags: Flags = Flags()
    budgets: Budgets = Budgets()
    limits: OrganizationLimits = OrganizationLimits()
    retention_days: int | None = Field(None, ge=1, le=36_500)
    models: Models = {}
    agent: AgentOverrides = AgentOverrides()


class Debounce(Spec):
    quiet_seconds: Seconds = 8
    max_wait_seconds: Seconds = 45


class Pacing(Spec):
    base_ms: float = Field(800, ge=0, le=600_000, allow_inf_nan=False)
    per_char_ms: float = Field(30, ge=0, le=10_000, allow_inf_nan=False)
    jitter: float = Field(0.2, ge=0, le=1, allow_inf_nan=False)


class PersonaLimits(Spec):
    max_bubbles: int = Field(6, ge=1, le=20)
    max_chars: int = Field(1000, ge=1, le=10_000)
    banned_words: Annotated[tuple[str, ...], Field(strict=False)] = ()
    max_vocal_per_day: int = Field(5, ge=0, le=100)
    links_per_day: int = Field(5, ge=0, le=100)
    spend_24h_flag: Money | None = None


class Prices(Spec):
    floor_ratio: float = Field(0.5, ge=0, le=1, allow_inf_nan=False)
    ceiling_ratio: float = Field(2, ge=1, le=100, allow_inf_nan=False)


class VoiceConsent(Spec):
    """Who allowed the voice, when, and where the proof lies."""

    owner: str
    given_at: Annotated[datetime, Field(strict=False), BeforeValidator(rfc3339)]
    proof: str = ""


class Disclosure(Spec):
    """How a contact learns that an AI writes. Weakening it (`notice: false`) needs `accept` with the version shown."""

    mode: Literal["handover", "disclose"] | None = None
    notice: bool = True
    texts: dict[str, str] = {}
    repeat_hours: float | None = Field(None, gt=0, le=87_600)
    profile: Literal["eu", "us_ny", "none"] = "eu"
    accept: str | None = None


class PersonaSpec(Spec):
    pipeline: Pipeline | None = None
    display_name: str = ""
    language: Locale | None = None
    timezone: Zone | None = None
    instructions: str = ""
    tone: str = ""
    voice: str | None = None
    engine: Literal["v2", "v1"] = "v2"
    autonomy: Literal["off", "draft", "window", "auto"] = "window"
    control_window_seconds: Seconds = 45
    debounce: Debounce = Debounce()
    pacing: Pacing = Pacing()
    limits: PersonaLimits = PersonaLimits()
    prices: Prices = Prices()
    quiet_hours: DayHours | None = None
    proactive_hours: DayHours = "09:00-21:00"
    voice_consent_record: VoiceConsent | str | None = None
    disclosure: Disclosure = Disclosure()
    agent: AgentOverrides = AgentOverrides()


def _known_engine(voice: str) -> str:
    try:
        Voice.parse(voice)
    except SpeechFailed as failed:
        raise ValueError(failed.sentence) from None
    return voice


class WebhookDocument(Webhook):
    """Stricter than what is stored: what could never be delivered to is refused when it is named."""

    @field_validator("url", mode="after")
    @classmethod
    def _can_be_posted_to(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        if (fault := fault_of(str(url))) is not None:
            raise ValueError(fault)
        return url


class OrganizationDocument(OrganizationSpec):
    kind: Literal["Organization"]
    name: Name
    webhook: WebhookDocument | None = None


class DisclosureDocument(Disclosure):
    """`texts` by language, as `fr` or `pt-BR`; `{name}` stands for the persona. They must say something."""

    texts: dict[Locale, Annotated[str, Field(min_length=1, max_length=2000)]] = {}


class PersonaDocument(PersonaSpec):
    """Stricter than what is stored: a voice that belongs to somebody needs their consent on record."""

    kind: Literal["Persona"]
    name: Name
    disclosure: DisclosureDocument = DisclosureDocument()
    voice: Annotated[str, Field(max_length=200), AfterValidator(_known_engine)] | None = None
    voice_consent_record: VoiceConsent | str | None = Field(None, validate_default=True)

    @field_validator("voice_consent_record", mode="after")
    @classmethod
    def _voices_have_owners(cls, record: VoiceConsent | str | None, info: ValidationInfo) -> VoiceConsent | str | None:
        engine = Voice.parse(info.data.get("voice")).engine
        if not engine.built_in and not record:
            raise ValueError(f"the voice {engine} is somebody's: say who allowed it, when, and where the proof lies")
        return record


def stored(document: BaseModel) -> dict[str, Any]:
    """A document as it is kept: JSON, secrets in clear (the database is the vault), without kind and name."""
    kept = document.model_dump(mode="json", by_alias=True, exclude={"kind", "name"})
    webhook = getattr(document, "webhook", None)
    if webhook is not None:
        kept["webhook"]["secret"] = webhook.secret.get_secret_value()
        if webhook.channel is Channel.WEBHOOK:
            del kept["webhook"]["channel"]  # a worker of the version before knows no such field, and refuses the rest
    return kept
