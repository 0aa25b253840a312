"""What comes out: `max_tokens`, `output_config.format`, and the sampling parameters of older models."""

from typing import Any

from workers.simulator.models import Model
from workers.simulator.refusals import Refused
from workers.simulator.validation.schema import check_strict_schema
from workers.simulator.validation.shape import check_type

OLD_VERSION = "2023-06-01"


def check_output(body: dict[str, Any], model: Model, version: str) -> None:
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            _check_sampling(name, body[name], model, version)
    _check_config(body.get("output_config") or {})
    if "max_tokens" in body:
        _check_max_tokens(body, model)


def _check_sampling(name: str, value: float, model: Model, version: str) -> None:
    if version != OLD_VERSION:
        raise Refused(f"{name}: Extra inputs are not permitted")
    if not model.sampling:
        raise Refused(f"`{name}` is not supported for this model.")
    if name != "top_k" and not 0 <= value <= 1:
        raise Refused(f"{name}: range: 0..1")


def _check_config(config: dict[str, Any]) -> None:
    for name in config.keys() - {"effort", "format"}:
        raise Refused(f"output_config.{name}: Extra inputs are not permitted")
    if (wanted := config.get("format")) is None:
        return
    check_type("output_config.format", wanted, dict)
    if wanted.get("type") != "json_schema":
        raise Refused("output_config.format.type: Input should be 'json_schema'")
    if "schema" not in wanted:
        raise Refused("output_config.format.schema: Field required")
    for name in wanted.keys() - {"type", "schema"}:
        raise Refused(f"output_config.format.{name}: Extra inputs are not permitted")
    check_strict_schema("output_config.format.schema", wanted["schema"])


def _check_max_tokens(body: dict[str, Any], model: Model) -> None:
    asked = body["max_tokens"]
    if asked < 0:
        raise Refused("max_tokens: Input should be greater than or equal to 0")
    if asked > model.max_output:
        raise Refused(
            f"max_tokens: {asked} > {model.max_output}, which is the maximum allowed number of output tokens "
            f"for {body['model']}"
        )
    if asked == 0 and (forbidden := _not_with_zero(body)):
        raise Refused(f"max_tokens: 0 only warms the cache and cannot be combined with {forbidden}")


def _not_with_zero(body: dict[str, Any]) -> str | None:
    checks = {
        "stream": bool(body.get("stream")),
        "a forced tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
        "output_config.format": bool((body.get("output_config") or {}).get("format")),
        "thinking.type.enabled": (body.get("thinking") or {}).get("type") == "enabled",
    }
    return next((name for name, used in checks.items() if used), None)
