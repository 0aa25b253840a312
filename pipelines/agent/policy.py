"""Which tools a run may use: those taken from it leave the palette, or stay and say why they refuse."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipelines.agent.tools import Refused, Tool


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """`disabled` names the tools, `reason` completes "… for this reply: {reason}"; `remove` takes them away."""

    disabled: frozenset[str] = frozenset()
    reason: str = ""
    remove: bool = True

    def palette(self, tools: Iterable[Tool[Any, Any]]) -> list[Tool[Any, Any]]:
        return [tool for tool in tools if not (self.remove and tool.name in self.disabled)]

    def refusal(self, name: str) -> Refused | None:
        if name not in self.disabled:
            return None
        return Refused(f"{name} is disabled for this reply: {self.reason}. Reply without it.")
