"""Configuration. Read once, in an entry point; passed down in groups.

Our own names start with `REPLIQUE_` (`__` nests: `REPLIQUE_AGENT__MAX_ITERATIONS=8`); the names that operators already
know (`DATABASE_URL`, `AI_MODEL_REPLY`, `MAX_FREE_MEDIA`, …) are kept as they are. A misspelt or out-of-range setting
stops the start with a sentence that names it.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from schemas.groups import (
    AgentSettings,
    ConsoleSettings,
    DeliverySettings,
    FxSettings,
    GatewaySettings,
    LlmSettings,
    MemorySettings,
    PaymentSettings,
    PlanSettings,
    QueueSettings,
    SpeechSettings,
    WorkerSettings,
)
from schemas.misspelt import misspelt
from schemas.payments import PaymentProvider

KEPT_NAMES = {
    "database_url": "DATABASE_URL",
    "redis_url": "REDIS_URL",
    "storage_url": "STORAGE_URL",
    "public_url": "PUBLIC_URL",
    "anthropic_api_key": "ANTHROPIC_API_KEY",
    "anthropic_base_url": "ANTHROPIC_BASE_URL",
    "openai_api_key": "OPENAI_API_KEY",
    "openai_base_url": "OPENAI_BASE_URL",
    "model_reply": "AI_MODEL_REPLY",
    "model_reply_strong": "AI_MODEL_REPLY_STRONG",
    "model_review": "AI_MODEL_REVIEW",
    "model_concierge": "AI_MODEL_CONCIERGE",
    "model_concierge_strong": "AI_MODEL_CONCIERGE_STRONG",
    "model_assistant": "AI_MODEL_ASSISTANT",
    "model_auxiliary": "AI_MODEL_AUXILIARY",
    "model_parse": "AI_MODEL_PARSE",
    "model_draft": "AI_MODEL_DRAFT",
    "model_bulk": "AI_MODEL_BULK",
    "model_embeddings": "AI_MODEL_EMBEDDINGS",
    "max_history_messages": "MAX_HISTORY_MESSAGES",
    "prompt_caching_enabled": "AI_PROMPT_CACHING_ENABLED",
    "routing_dynamic": "AI_ROUTING_DYNAMIC",
    "rag_global_enabled": "AI_RAG_GLOBAL_ENABLED",
    "max_tokens_per_turn": "AI_MAX_TOKENS_PER_TURN",
    "max_turns_per_conversation": "AI_MAX_TURNS_PER_CONVERSATION",
    "max_conversation_per_user": "AI_MAX_CONVERSATION_PER_USER",
    "max_free_media": "MAX_FREE_MEDIA",
    "max_free_media_window": "MAX_FREE_MEDIA_WINDOW",
}
"""Fields whose environment name is fixed by the contract, without our prefix."""


NOT_READ = frozenset(
    {
        "max_conversation_per_user",
        "max_turns_per_conversation",
        "model_assistant",
        "model_bulk",
        "model_concierge",
        "model_concierge_strong",
        "model_draft",
        "model_parse",
    }
)
"""Fields that are taken and change nothing yet: `doctor` names those that are set."""


STRONG_ALONE = frozenset({"model_reply_strong"})
"""Read by no process unless `AI_ROUTING_DYNAMIC` is on."""


def _kept(field: str) -> AliasChoices:
    return AliasChoices(KEPT_NAMES[field], field)


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="REPLIQUE_", env_nested_delimiter="__", frozen=True, extra="forbid", populate_by_name=True
    )

    database_url: SecretStr | None = Field(None, validation_alias=_kept("database_url"))
    redis_url: SecretStr | None = Field(None, validation_alias=_kept("redis_url"))
    storage_url: str | None = Field(None, validation_alias=_kept("storage_url"))
    public_url: str = Field("http://127.0.0.1:8080", validation_alias=_kept("public_url"))

    anthropic_api_key: SecretStr | None = Field(None, validation_alias=_kept("anthropic_api_key"))
    anthropic_base_url: str | None = Field(None, validation_alias=_kept("anthropic_base_url"))
    openai_api_key: SecretStr | None = Field(None, validation_alias=_kept("openai_api_key"))
    openai_base_url: str | None = Field(None, validation_alias=_kept("openai_base_url"))

    model_reply: str = Field("claude-haiku-5-5,gpt-6-luna", validation_alias=_kept("model_reply"))
    model_reply_strong: str = Field("claude-sonnet-5-5,gpt-6.1-terra", validation_alias=_kept("model_reply_strong"))
    model_review: str = Field("claude-haiku-5-5,gpt-6-luna", validation_alias=_kept("model_review"))
    model_concierge: str = Field("claude-haiku-5-5,gpt-6-luna", validation_alias=_kept("model_concierge"))
    model_concierge_strong: str = Field(
        "claude-sonnet-5-5,gpt-6.1-terra", validation_alias=_kept("model_concierge_strong")
    )
    model_assistant: str = Field("claude-sonnet-5-5,gpt-6.1-terra", validation_alias=_kept("model_assistant"))
    model_auxiliary: str = Field("claude-haiku-5-5,gpt-6-luna", validation_alias=_kept("model_auxiliary"))
    model_parse: str = Field("claude-haiku-5-5,gpt-6-luna", validation_alias=_kept("model_parse"))
    model_draft: str = Field("claude-sonnet-5-5,gpt-6.1-terra", validation_alias=_kept("model_draft"))
    model_bulk: str = Field("claude-haiku-5-5,gpt-6-luna", validation_alias=_kept("model_bulk"))
    model_embeddings: str | None = Field(None, validation_alias=_kept("model_embeddings"))

    max_history_messages: int = Field(30, ge=2, le=200, validation_alias=_kept("max_history_messages"))
    prompt_caching_enabled: bool = Field(True, validation_alias=_kept("prompt_caching_enabled"))
    routing_dynamic: bool = Field(False, validation_alias=_kept("routing_dynamic"))
    rag_global_enabled: bool | None = Field(None, validation_alias=_kept("rag_global_enabled"))
    max_tokens_per_turn: int = Field(4000, ge=64, le=64_000, validation_alias=_kept("max_tokens_per_turn"))
    max_turns_per_conversation: int = Field(100, ge=1, validation_alias=_kept("max_turns_per_conversation"))
    max_conversation_per_user: int = Field(20, ge=1, validation_alias=_kept("max_conversation_per_user"))
    max_free_media: int = Field(4, ge=0, le=100, validation_alias=_kept("max_free_media"))
    max_free_media_window: str = Field(
        "24h", pattern=r"^(\d{1,5}[smhd])?$", validation_alias=_kept("max_free_media_window")
    )

    agent: AgentSettings = AgentSettings()
    queue: QueueSettings = QueueSettings()
    worker: WorkerSettings = WorkerSettings()
    delivery: DeliverySettings = DeliverySettings()
    gateway: GatewaySettings = GatewaySettings()
    console: ConsoleSettings = ConsoleSettings()
    llm: LlmSettings = LlmSettings()
    speech: SpeechSettings = SpeechSettings()
    memory: MemorySettings = MemorySettings()
    payments: PaymentSettings = PaymentSettings()
    fx: FxSettings = FxSettings()
    plans: PlanSettings = PlanSettings()

    bootstrap_key: SecretStr | None = Field(
        None, min_length=16, description="Creates, once, an admin key with this secret."
    )
    secret_key: SecretStr | None = Field(
        None, min_length=32, description="Signs and hashes; without it, one made at the first migration."
    )
    allow_private_urls: bool = Field(False, description="Webhooks may point at private addresses. Not in production.")
    log_level: str = Field("INFO", pattern=r"^(DEBUG|INFO|WARNING|ERROR)$")
    log_json: bool = Field(False, description="One JSON object a line instead of readable lines.")
    pg_prepare: bool = Field(True, description="Off behind a transaction pooler.")
    url: str | None = Field(None, description="The gateway the command line talks to.")
    key: SecretStr | None = Field(None, description="The key the command line uses.")
    org: str | None = Field(None, description="The organisation the command line names.")
    simulator: bool = Field(False, description="A simulator answers instead of a model; every surface says so.")
    instance: str | None = Field(None, max_length=64, description="Names this process on the leases it takes.")

    @property
    def set_in_vain(self) -> list[str]:
        """The environment names of settings that are set and not read."""
        unread = NOT_READ if self.routing_dynamic else NOT_READ | STRONG_ALONE
        return sorted(KEPT_NAMES[field] for field in self.model_fields_set & unread)

    @property
    def payment_provider(self) -> PaymentProvider:
        """Beside a simulator nobody is to pay; without anything named, the platform sells."""
        if self.payments.provider is not None:
            return self.payments.provider
        if self.payments.stripe_key is not None:
            return PaymentProvider.STRIPE
        return PaymentProvider.TEST if self.simulator else PaymentProvider.WEBHOOK


class GivenSettings(Settings):
    """The same, from a mapping alone: the environment of this process is not looked at."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


class SettingsRefused(Exception):
    """The environment does not make a configuration; the message names each setting and what is wrong with it."""


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process. Raises `SettingsRefused`."""
    names = os.environ if environ is None else environ  # noqa: TID251  (the one place that reads it)
    problems = [f"{name}: no such setting" for name in names if _unknown(name)]
    problems += misspelt([name for name in names if not name.startswith("REPLIQUE_")], set(KEPT_NAMES.values()))
    if environ is not None:
        return _from_mapping(environ, problems)
    try:
        settings = Settings()
    except ValidationError as error:
        raise SettingsRefused("; ".join([*problems, *_sentences(error)])) from None
    if problems:
        raise SettingsRefused("; ".join(problems))
    return settings


def _from_mapping(environ: Mapping[str, str], problems: list[str]) -> Settings:
    values: dict[str, Any] = {}
    by_kept_name = {kept: field for field, kept in KEPT_NAMES.items()}
    for name, value in environ.items():
        if name in by_kept_name:
            values[by_kept_name[name]] = value
        elif name.startswith("REPLIQUE_"):
            *groups, leaf = name.removeprefix("REPLIQUE_").lower().split("__")
            target = values
            for group in groups:
                target = target.setdefault(group, {})
            target[leaf] = value
    try:
        settings = GivenSettings.model_validate(values)
    except ValidationError as error:
        raise SettingsRefused("; ".join([*problems, *_sentences(error)])) from None
    if problems:
        raise SettingsRefused("; ".join(problems))
    return settings


def _unknown(name: str) -> bool:
    if not name.startswith("REPLIQUE_"):
        return False
    group = name.removeprefix("REPLIQUE_").lower().split("__")[0]
    return group not in Settings.model_fields or group in KEPT_NAMES


def _sentences(error: ValidationError) -> list[str]:
    found = []
    for problem in error.errors(include_input=False, include_url=False):
        path = [str(part) for part in problem["loc"]]
        first = path[0]
        kept = first in KEPT_NAMES.values() or first in KEPT_NAMES
        name = KEPT_NAMES.get(first, first) if kept else "REPLIQUE_" + "__".join(path).upper()
        unknown = problem["type"] == "extra_forbidden"
        found.append(f"{name}: no such setting{_meant(path)}" if unknown else f"{name}: {problem['msg']}")
    return found


def _meant(path: list[str]) -> str:
    """Of a setting inside a group that has none of this name, the one that was meant."""
    group = Settings.model_fields.get(path[0])
    known = getattr(group.annotation, "model_fields", {}) if group and len(path) == 2 else {}
    alike = get_close_matches(path[1].lower(), known, n=1, cutoff=0.75) if known else []
    return f"; did you mean REPLIQUE_{path[0].upper()}__{alike[0].upper()}?" if alike else ""
