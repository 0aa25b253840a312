"""Response headers as the API sends them."""

from workers.simulator.state import MINUTE, Simulator

ORGANIZATION = "00000000-0000-4000-8000-5117a1a70000"


def common_headers(request_id: str) -> dict[str, str]:
    return {
        "request-id": request_id,
        "anthropic-organization-id": ORGANIZATION,
        "x-replique-simulator": "true",
    }


def rate_limit_headers(simulator: Simulator, model: str) -> dict[str, str]:
    """Limits of the last minute, per model. Shown, not enforced: a test that wants a 429 asks for one."""
    limits = simulator.options
    requests, tokens_in, tokens_out = simulator.spent_in_last_minute(model)
    reset = simulator.clock.stamp(simulator.clock.now() + MINUTE).strftime("%Y-%m-%dT%H:%M:%SZ")
    both = limits.input_tokens_per_minute + limits.output_tokens_per_minute
    rows = {
        "requests": (limits.requests_per_minute, limits.requests_per_minute - requests),
        "input-tokens": (
            limits.input_tokens_per_minute,
            _thousands(limits.input_tokens_per_minute - tokens_in),
        ),
        "output-tokens": (
            limits.output_tokens_per_minute,
            _thousands(limits.output_tokens_per_minute - tokens_out),
        ),
        "tokens": (both, _thousands(both - tokens_in - tokens_out)),
    }
    headers = {}
    for name, (limit, remaining) in rows.items():
        headers[f"anthropic-ratelimit-{name}-limit"] = str(limit)
        headers[f"anthropic-ratelimit-{name}-remaining"] = str(max(0, remaining))
        headers[f"anthropic-ratelimit-{name}-reset"] = reset
    return headers


def _thousands(tokens: int) -> int:
    return round(tokens, -3)
