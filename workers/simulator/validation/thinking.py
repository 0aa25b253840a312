"""Thinking and effort: what each model takes."""

from typing import Any

from workers.simulator.models import Model
from workers.simulator.refusals import Refused
from workers.simulator.validation.shape import check_type

EFFORTS = ("low", "medium", "high", "xhigh", "max")
MIN_BUDGET = 1_024
_FIELDS = {
    "adaptive": {"type", "display"},
    "enabled": {"type", "budget_tokens", "display"},
    "disabled": {"type"},
    "between_tools": {"type", "display"},
}


def check_thinking(body: dict[str, Any], model: Model) -> None:
    effort = (body.get("output_config") or {}).get("effort")
    _check_effort(effort, model)
    if (thinking := body.get("thinking")) is None:
        return
    kind = thinking.get("type")
    if kind not in _FIELDS:
        raise Refused(f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags")
    for name in thinking.keys() - _FIELDS[kind]:
        raise Refused(f"thinking.{kind}.{name}: Extra inputs are not permitted")
    _check_kind(kind, model)
    if kind == "disabled" and model.disabled_up_to_high and effort in ("xhigh", "max"):
        raise Refused('"thinking.type.disabled" is not supported for this model at effort above "high".')
    if kind == "enabled":
        _check_budget(thinking, body)


def _check_effort(effort: Any, model: Model) -> None:
    if effort is None:
        return
    if effort not in EFFORTS:
        raise Refused("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    if not model.effort:
        raise Refused("This model does not support the effort parameter.")


def _check_kind(kind: str, model: Model) -> None:
    if kind in model.thinking:
        return
    if kind == "adaptive":
        raise Refused("adaptive thinking is not supported on this model")
    advice = ' Use "thinking.type.adaptive" and "output_config.effort".' if "adaptive" in model.thinking else ""
    raise Refused(f'"thinking.type.{kind}" is not supported for this model.{advice}')


def _check_budget(thinking: dict[str, Any], body: dict[str, Any]) -> None:
    if "budget_tokens" not in thinking:
        raise Refused("thinking.enabled.budget_tokens: Field required")
    budget = thinking["budget_tokens"]
    check_type("thinking.enabled.budget_tokens", budget, int)
    if budget < MIN_BUDGET:
        raise Refused(f"thinking.enabled.budget_tokens: Input should be greater than or equal to {MIN_BUDGET}")
    if budget >= body.get("max_tokens", budget + 1):
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        raise Refused("Thinking may not be enabled when tool_choice forces tool use.")
