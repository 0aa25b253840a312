"""Which providers this installation can call, and what they charge."""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from pipelines.llm.models import ANTHROPIC, NoModel, Routes, UnknownModel, routes_of
from pipelines.ports import ChatModel, Clock, PriceTable
from schemas.llm import Task
from schemas.settings import Settings, SettingsRefused
from workers.adapters.llm.anthropic import AnthropicModel
from workers.adapters.llm.prices import GenaiPrices

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
        routes = Routes(routes_of(settings), frozenset(models))
        for task in NEEDED:
            routes.pick(task)
    except UnknownModel as error:
        raise SettingsRefused(str(error)) from None
    except NoModel as error:
        raise SettingsRefused(f"AI_MODEL_*: {error}") from None
    for model in routes.left_out():
        log.warning("model_left_out", model=str(model), reason="no key for its provider")
    return Llm(models, GenaiPrices())


def _models(settings: Settings, clock: Clock) -> dict[str, ChatModel]:
    key, base_url = settings.anthropic_api_key, settings.anthropic_base_url
    if key is None and base_url is None:
        raise SettingsRefused(
            "ANTHROPIC_API_KEY: no model can be called. Set it, or set ANTHROPIC_BASE_URL to a model simulator"
        )
    secret = key.get_secret_value() if key else NO_KEY
    return {ANTHROPIC: AnthropicModel(secret, base_url, settings.llm, clock)}
