"""Collects the story of a run as it happens."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pipelines.ports import Clock
from schemas.agent import TraceItem, TraceKind
from schemas.errors import Code
from schemas.llm import ModelAnswer


@dataclass(slots=True)
class Trace:
    """`n` is the model call that things belong to. Muted while steps are repeated whose story is already saved."""

    clock: Clock
    n: int = 0
    muted: bool = False
    _items: list[TraceItem] = field(default_factory=list)

    def take(self) -> tuple[TraceItem, ...]:
        """What was added since the last time."""
        items, self._items = tuple(self._items), []
        return items

    def model(self, answer: ModelAnswer, cost: Decimal | None) -> None:
        self._add(
            TraceKind.MODEL,
            model=str(answer.model),
            stop=answer.stop.value,
            input=answer.usage.input,
            cache_read=answer.usage.cache_read,
            cache_write=answer.usage.cache_write,
            output=answer.usage.output,
            cost_usd=None if cost is None else format(cost, "f"),
            ms=answer.latency_ms,
        )

    def tool(self, name: str, args: dict[str, Any], result: str, *, refused: bool, unknown: bool = False) -> None:
        reason = result if refused else None
        invented = {"unknown": True} if unknown else {}
        self._add(
            TraceKind.TOOL,
            tool=name,
            args=args,
            result=None if refused else result,
            refused=refused,
            reason=reason,
            **invented,
        )

    def review(self, verdict: str, issues: list[dict[str, Any]], *, by_rules: bool = False) -> None:
        """`by_rules`: the second model was not asked."""
        asked = {"by": "rules"} if by_rules else {}
        self._add(TraceKind.REVIEW, verdict=verdict, issues=issues, **asked)

    def guard(self, code: Code | None, rule: str) -> None:
        self._add(TraceKind.GUARD, code=code.value if code else None, rule=rule)

    def note(self, note: str, /, **facts: Any) -> None:
        self._add(TraceKind.NOTE, note=note, **facts)

    def _add(self, kind: TraceKind, /, **facts: Any) -> None:
        if not self.muted:
            self._items.append(TraceItem(self.n, kind, self.clock.now(), facts))
