"""What every call to the provider passes first: a key, and a version the API knows."""

from collections.abc import Mapping

from workers.simulator.refusals import ErrorType, Refused

VERSIONS = frozenset({"2023-01-01", "2023-06-01", "2026-10-21"})


def check_key(headers: Mapping[str, str], accepted: frozenset[str]) -> str:
    """The key, which also names the workspace whose cache is used. `x-api-key` wins when both are sent."""
    bearer = headers.get("authorization", "")
    key = headers.get("x-api-key", "") or bearer.removeprefix("Bearer ").strip()
    if not key or (bearer and not bearer.startswith("Bearer ") and "x-api-key" not in headers):
        raise Refused("x-api-key header is required", ErrorType.AUTHENTICATION)
    if accepted and key not in accepted:
        raise Refused("invalid x-api-key", ErrorType.AUTHENTICATION)
    return key


def check_version(headers: Mapping[str, str]) -> str:
    version = headers.get("anthropic-version")
    if version is None:
        raise Refused("anthropic-version: header is required")
    if version not in VERSIONS:
        raise Refused(f'anthropic-version: "{version}" is not a valid version')
    return version
