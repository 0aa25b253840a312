"""Which providers this installation can call, and what they charge."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from pipelines.llm.models import (
    ANTHROPIC,
    OPENAI,
    NoModel,
    Routes,
    UnknownModel,
    callable_providers,
    not_named,
    routes_of,
)
from pipelines.ports import ChatModel, Clock, PriceTable
from schemas.llm import Task
from schemas.settings import Settings, SettingsRefused
from workers.adapters.llm.anthropic import AnthropicModel
from workers.adapters.llm.prices import GenaiPrices

if TYPE_CHECKING:
    from workers.adapters.llm.openai import OpenAIModel

log = structlog.get_logger()

NEEDED = (Task.REPLY, Task.REVIEW)
"""Tasks without which nothing can be answered."""

NO_KEY = "no-key"
"""Sent to a base URL that was named without a key, as the built-in simulator is."""


@dataclass(frozen=True, slots=True)
class Llm:
    """`models` by provider."""

    models: Mapping[str, ChatModel]
    prices: PriceTable


def build(settings: Settings, clock: Clock) -> Llm:
    """Raises SettingsRefused: no provider can be called, or a route names none that can."""
    models = _models(settings, clock)
    try:
        routes = Routes(routes_of(settings), frozenset(models), not_named(settings))
        for task in NEEDED:
            routes.pick(task)
    except UnknownModel as error:
        raise SettingsRefused(str(error)) from None
    except NoModel as error:
        raise SettingsRefused(f"AI_MODEL_*: {error}") from None
    for model in routes.left_out():
        log.warning("model_left_out", model=str(model), reason="no key for its provider")
    return Llm(models, GenaiPrices())


def open_openai(settings: Settings, clock: Clock) -> "OpenAIModel":
    """Its library costs 1.2 s and 19 MB: imported only where its key or its address is set."""
    from workers.adapters.llm.openai import OpenAIModel  # noqa: PLC0415

    secret = settings.openai_api_key.get_secret_value() if settings.openai_api_key else NO_KEY
    return OpenAIModel(secret, settings.openai_base_url, settings.llm, clock)


def _models(settings: Settings, clock: Clock) -> dict[str, ChatModel]:
    providers = callable_providers(settings)
    if not providers:
        raise SettingsRefused(
            "ANTHROPIC_API_KEY: no model can be called. Set it, or OPENAI_API_KEY, or set ANTHROPIC_BASE_URL to a "
            "model simulator"
        )
    models: dict[str, ChatModel] = {}
    if ANTHROPIC in providers:
        key = settings.anthropic_api_key
        secret = key.get_secret_value() if key else NO_KEY
        models[ANTHROPIC] = AnthropicModel(secret, settings.anthropic_base_url, settings.llm, clock)
    if OPENAI in providers:
        models[OPENAI] = open_openai(settings, clock)
    return models
