"""Which tools a run may use: those taken from it leave the palette, or stay and say why they refuse."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.agent.tools import Refused, Tool


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """`disabled`: by the name of a tool why it may not be used, as "payments are disabled for this reply"; `remove`
    takes them away."""

    disabled: Mapping[str, str] = field(default_factory=dict)
    remove: bool = True

    def palette(self, tools: Iterable[Tool[Any, Any]]) -> list[Tool[Any, Any]]:
        return [tool for tool in tools if not (self.remove and tool.name in self.disabled)]

    def refusal(self, name: str) -> Refused | None:
        reason = self.disabled.get(name)
        return None if reason is None else Refused(f"{name} cannot be used now: {reason}. Reply without it.")
