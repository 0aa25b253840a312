"""Prices, and which providers an installation can call."""

from decimal import Decimal

import anthropic
import httpx2
import pytest
from structlog.testing import capture_logs

from schemas.errors import FailureKind
from schemas.llm import Model, Usage
from schemas.settings import SettingsRefused, read_settings
from tests.builders import NOON
from tests.fakes import HAIKU, FrozenClock
from workers.adapters.llm import build
from workers.adapters.llm.classify import classify, of_error_body, retry_after
from workers.adapters.llm.prices import GenaiPrices


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(input=1_000), "0.0001"),
        (Usage(cache_read=1_000), "0.00001"),
        (Usage(cache_write_5m=1_000), "0.000125"),
        (Usage(cache_write_1h=1_000), "0.0002"),
        (Usage(output=1_000), "0.0005"),
        (Usage(100, 200, 300, 400, 50), "0.0001545"),
        # Above 100,000 tokens the whole request is five times as dear.
        (Usage(input=1_000, cache_read=100_000), "0.0055"),
        (Usage(), "0"),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Usage, dollars: str) -> None:
    assert GenaiPrices().cost(HAIKU, usage) == Decimal(dollars)


def test_a_model_nobody_knows_has_no_price() -> None:
    prices = GenaiPrices()

    assert [prices.cost(Model("anthropic", "claude-mythos-5-1"), Usage(input=n)) for n in (1, 200_000)] == [None, None]


def test_without_key_and_without_simulator_nothing_starts() -> None:
    with pytest.raises(SettingsRefused, match=r"ANTHROPIC_API_KEY: no model can be called"):
        build(read_settings({}), FrozenClock())


def test_a_route_that_nobody_can_serve_stops_the_start() -> None:
    settings = read_settings({"ANTHROPIC_API_KEY": "k", "AI_MODEL_REVIEW": "gpt-6-luna"})

    with pytest.raises(SettingsRefused, match="no model for task review: no key for openai:gpt-6-luna"):
        build(settings, FrozenClock())


def test_members_without_a_key_are_left_out_with_a_warning() -> None:
    settings = read_settings({"ANTHROPIC_API_KEY": "k", "AI_MODEL_REPLY": "claude-haiku-5-5,gpt-6-luna"})

    with capture_logs() as logs:
        llm = build(settings, FrozenClock())

    assert sorted(llm.models) == ["anthropic"]
    assert logs == [
        {
            "event": "model_left_out",
            "log_level": "warning",
            "model": "openai:gpt-6-luna",
            "reason": "no key for its provider",
        }
    ]


def an_error(status: int, kind: str | None, code: str | None = None, **headers: str) -> anthropic.APIStatusError:
    request = httpx2.Request("POST", "http://localhost/v1/messages")
    details = {"error_code": code} if code else {}
    body = {"type": "error", "error": {"type": kind, "message": "quoting: secret words", "details": details}}
    response = httpx2.Response(status, headers=headers, json=body, request=request)
    return anthropic.APIStatusError("quoting: secret words", response=response, body=body)


@pytest.mark.parametrize(
    ("error", "kind", "wait"),
    [
        (an_error(200, "overloaded_error"), FailureKind.OVERLOADED, None),
        (an_error(529, None), FailureKind.OVERLOADED, None),
        (an_error(429, "rate_limit_error", **{"retry-after": "9"}), FailureKind.RATE_LIMITED, 9.0),
        (an_error(429, "rate_limit_error"), FailureKind.SPEND_CAP, None),
        (
            an_error(429, "rate_limit_error", "enforced_spend_limit_reached", **{"retry-after": "9"}),
            FailureKind.SPEND_CAP,
            None,
        ),
        (an_error(500, "api_error"), FailureKind.TRANSIENT, None),
        (an_error(504, "timeout_error"), FailureKind.TRANSIENT, None),
        (an_error(503, None, **{"retry-after": "3"}), FailureKind.TRANSIENT, 3.0),
        (an_error(402, "billing_error"), FailureKind.SPEND_CAP, None),
        (an_error(403, "permission_error"), FailureKind.TRANSIENT, None),
        (an_error(413, None), FailureKind.CONTEXT_OVERFLOW, None),
        (an_error(400, "invalid_request_error"), FailureKind.PERMANENT, None),
        (an_error(422, None), FailureKind.PERMANENT, None),
    ],
    ids=lambda value: f"{value.status_code}-{value.type}" if isinstance(value, anthropic.APIStatusError) else "",
)
def test_what_an_error_means_is_told_by_its_type(
    error: anthropic.APIStatusError, kind: FailureKind, wait: float | None
) -> None:
    failure = classify(error, NOON)

    assert (failure.kind, failure.retry_after) == (kind, wait)
    assert "secret" not in str(failure)


def test_an_error_inside_a_good_answer_is_known_by_its_type_too() -> None:
    kinds = [of_error_body(kind).kind for kind in ("overloaded_error", "api_error", "news")]

    assert kinds == [FailureKind.OVERLOADED, FailureKind.TRANSIENT, FailureKind.TRANSIENT]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("30", 30.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Mon, 30 Nov 2026 11:01:00 GMT", 60.0),
        ("Mon, 30 Nov 2026 10:00:00 GMT", 0.0),
        ("soon", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_how_long_to_wait_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOON) == seconds
