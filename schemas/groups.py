"""The groups that settings come in: every field with its default, bounds and a sentence."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from schemas.money import Currency
from schemas.payments import PaymentProvider
from schemas.speech import Engine

Rate = Annotated[Decimal, Field(gt=0, le=1_000_000, max_digits=15, decimal_places=8)]
Amount = Annotated[Decimal, Field(ge=0, max_digits=10, decimal_places=2)]


class Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AgentSettings(Group):
    """Defaults of the ReplyAgent; organisations and personas override them in the database."""

    enable: bool = Field(True, description="Off: the V1 chain answers.")
    max_iterations: int = Field(12, ge=1, le=50, description="Model calls of the agent in one run.")
    timeout_seconds: float = Field(150, ge=5, le=600, description="Active time from claim to decision.")
    max_refused_tool_calls: int = Field(6, ge=1, le=20, description="Refused tool calls in a row that end a run.")
    max_validation_passes: int = Field(2, ge=0, le=5, description="Correction passes after the review.")
    use_redaction_validation: bool = Field(True, description="Off only for tests: no local checks, no review.")
    hard_remove_disabled_tools: bool = Field(True, description="Restricted tools leave the palette.")
    prefer_album_continuity: bool = Field(True, description="A second free media prefers the album of the last.")


class QueueSettings(Group):
    lease_seconds: float = Field(15, ge=1, le=120, description="A claim nobody renews is over after this.")
    renew_seconds: float = Field(5, ge=0.2, le=60, description="How often a process renews what it holds.")
    look_seconds: float = Field(0.5, ge=0.05, le=5, description="The longest sleep of the clock.")
    resend_seconds: float = Field(60, ge=1, le=600, description="A hint nobody claimed is sent again after this.")
    admission_batch: int = Field(500, ge=1, le=5000, description="Hints pushed in one look.")
    drain_seconds: float = Field(25, ge=0, le=600, description="How long a stopping worker lets its runs finish.")


class WorkerSettings(Group):
    threads: int = Field(64, ge=1, le=1000, description="Hints in hand at once, per process.")
    pool_size: int = Field(5, ge=1, le=200, description="Database connections per process.")


class DeliverySettings(Group):
    timeout_seconds: float = Field(15, ge=1, le=60, description="How long a receiver may take to answer.")
    give_up_seconds: float = Field(86_400, ge=1, le=604_800, description="Age at which a delivery is given up.")
    ambiguous_seconds: float = Field(600, ge=1, le=86_400, description="The same when its job is no longer live.")


class GatewaySettings(Group):
    pool_size: int = Field(16, ge=1, le=200, description="Database connections per process.")
    answer_seconds: float = Field(2.5, ge=0.5, le=60, description="The database takes longer for one request: 503.")
    longer_seconds: float = Field(30, ge=0.5, le=600, description="The same for sums, exports and manifests.")
    waiting_requests: int = Field(
        500, ge=1, le=100_000, description="Requests that wait for a connection at once; the next ones get 503."
    )
    body_bytes: int = Field(1_048_576, ge=65_536, le=67_108_864, description="The longest request body.")
    document_bytes: int = Field(
        20_971_520, ge=65_536, le=268_435_456, description="The longest request body with an uploaded document."
    )
    head_seconds: float = Field(15, ge=0.5, le=300, description="How long address and headers of a request may take.")
    body_seconds: float = Field(
        30, ge=0.5, le=600, description="How long its body may take; a second more for each 50 KB it may hold."
    )
    known_key_seconds: float = Field(5, ge=0, le=5, description="How long a key is believed without asking again.")
    trusted_proxies: str = Field(
        "", description="Addresses or networks, comma-separated, whose X-Forwarded-For names the caller. Empty: none."
    )
    failed_keys_per_minute: int = Field(60, ge=1, le=100_000, description="Wrong keys from one address, then 429.")
    drain_seconds: float = Field(10, ge=0, le=600, description="How long a stopping gateway finishes its requests.")


class ConsoleSettings(Group):
    idle_minutes: float = Field(480, ge=1, le=43_200, description="A session nobody uses is over after this.")
    session_hours: float = Field(168, ge=0.1, le=8760, description="A session is over after this, used or not.")
    link_hours: float = Field(24, ge=0.1, le=720, description="How long a one-time link may be used.")
    failed_sign_ins: int = Field(
        10, ge=1, le=1000, description="Wrong sign-ins for one email or from one address in a quarter of an hour."
    )
    look_seconds: float = Field(0.5, ge=0.1, le=10, description="How often a gateway looks for what pages must show.")


class LlmSettings(Group):
    timeout_seconds: float = Field(90, ge=1, le=600, description="How long a provider may take to answer one call.")
    connect_seconds: float = Field(5, ge=0.1, le=60, description="How long connecting to a provider may take.")
    retries: int = Field(
        1, ge=0, le=8, description="Times a job asks a failing model again, later, before the next one of its route."
    )
    breaker_failures: int = Field(5, ge=1, le=1000, description="Failures in a row after which a model is left alone.")
    breaker_seconds: float = Field(
        10, ge=0.1, le=600, description="For so long at first; twice as long each time that it still fails."
    )
    ramp_seconds: float = Field(
        1,
        ge=0.05,
        le=60,
        description="After a rate limit a model is asked once in so many seconds, then 2, 4, … times.",
    )
    strong_share: float = Field(
        0.2,
        ge=0,
        le=1,
        description="With AI_ROUTING_DYNAMIC: the most that the stronger route gives of an organisation's answers.",
    )


class SpeechSettings(Group):
    engine: Engine = Field(Engine.ESPEAK, description="Speaks for personas whose voice names no engine.")
    timeout_seconds: float = Field(30, ge=1, le=600, description="How long an engine or provider may take.")
    kokoro_timeout_seconds: float = Field(120, ge=1, le=600, description="The same for Kokoro, which is slow.")
    processes: int = Field(1, ge=1, le=16, description="Speech programs of one engine in each send worker.")
    idle_seconds: float = Field(600, ge=1, le=86_400, description="When a speech program nobody needs is ended.")
    openai_model: str = Field("gpt-4o-mini-tts", min_length=1, description="Its key is OPENAI_API_KEY.")
    elevenlabs_api_key: SecretStr | None = Field(None, min_length=1)
    elevenlabs_model: str = Field("eleven_multilingual_v2", min_length=1)
    elevenlabs_base_url: str = Field("https://api.elevenlabs.io/v1", pattern=r"^https?://")


class MemorySettings(Group):
    learn: bool = Field(True, description="Off: nothing is remembered of what contacts tell.")
    summarize: bool = Field(True, description="Off: what a long conversation's window cuts is not summed up.")
    idle_seconds: float = Field(
        21_600, ge=1, le=2_592_000, description="Silence of a contact after which is looked for facts to remember."
    )


class PaymentSettings(Group):
    provider: PaymentProvider | None = Field(
        None, description="webhook, stripe or test; else Stripe with its key, test beside a simulator, or webhook."
    )
    stripe_key: SecretStr | None = Field(None, min_length=1, description="Makes Checkout sessions.")
    stripe_webhook_secret: SecretStr | None = Field(
        None, min_length=1, description="Of the Stripe endpoint at /v1/payments/stripe, which tells what was paid."
    )
    stripe_base_url: str = Field("https://api.stripe.com", pattern=r"^https?://")
    return_url: str | None = Field(
        None, pattern=r"^https?://", description="Where Stripe leads who has paid; else a page of the gateway."
    )
    timeout_seconds: float = Field(20, ge=1, le=80, description="How long a provider may take to make a link.")


class FxSettings(Group):
    eur_per_usd: Decimal = Field(
        Decimal("0.86"), gt=0, le=100, max_digits=10, decimal_places=6, description="Rate kept on each ledger row."
    )
    per_usd: dict[Currency, Rate] = Field(
        {}, description='Rates of other currencies of organisations, e.g. {"GBP": "0.74"}.'
    )
    dated: date = Field(date(2026, 11, 30), description="The day of these rates, kept beside them.")

    def rate(self, currency: str) -> Decimal | None:
        """What a US dollar is in a currency; None: no rate of it is known."""
        known = {**self.per_usd, "EUR": self.eur_per_usd, "USD": Decimal(1)}
        return known.get(currency)


class PlanSettings(Group):
    starter_replies: int | None = Field(500, ge=0, description="AI replies a month of plan starter; null is unlimited.")
    pro_replies: int | None = Field(2_000, ge=0, description="The same of plan pro.")
    enterprise_replies: int | None = Field(None, ge=0, description="The same of plan enterprise.")
    starter_price: Amount | None = Field(
        None, description="What plan starter is sold for a month; its margin is shown."
    )
    pro_price: Amount | None = Field(Decimal(99), description="The same of plan pro.")
    enterprise_price: Amount | None = Field(Decimal(299), description="The same of plan enterprise.")
    currency: Currency = Field("EUR", description="Of these prices; its rate is one of REPLIQUE_FX.")
