"""Parameters as fields of a form: their bounds are those of the documents, their words those of the catalogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.errors import Invalid
from schemas.resources import (
    AgentOverrides,
    Debounce,
    OrganizationLimits,
    Pacing,
    PersonaLimits,
    PersonaSpec,
    Prices,
)
from workers.gateway.console.words import Words

_GROUPS: Mapping[str, Any] = {
    "agent": AgentOverrides,
    "debounce": Debounce,
    "pacing": Pacing,
    "limits": PersonaLimits,
    "prices": Prices,
    "": PersonaSpec,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """`path` as `agent.MaxIterations`. `inherits`: an empty field takes the value of the level above; without, an empty
    field of `optional` means none. `kind`: switch, whole, number, text, choice, long."""

    path: str
    kind: str
    inherits: bool = False
    optional: bool = False
    choices: Sequence[str] = ()
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    def read(self, text: str, words: Words) -> Any:
        """What the form said. Raises Invalid with the bounds in words."""
        text = text.strip() if self.kind != "long" else text.replace("\r\n", "\n")
        if text == "" and (self.inherits or self.optional):
            return None
        if self.kind == "switch":
            return text == "true"
        if self.kind in ("whole", "number"):
            return self._number(text, words)
        if self.kind == "choice" and text not in self.choices:
            raise self._refused(words("error.choice", choices=", ".join(self.choices)))
        return "" if text == "none" and self.name == "MAX_FREE_MEDIA_WINDOW" else text

    def _number(self, text: str, words: Words) -> float:
        try:
            value = int(text) if self.kind == "whole" else float(text.replace(",", "."))
        except ValueError:
            raise self._refused(words(f"error.{self.kind}")) from None
        low, high = self.low, self.high
        if (low is not None and not value >= low) or (high is not None and not value <= high):
            raise self._refused(words("error.bounds", low=_shown(low, words), high=_shown(high, words)))
        return value

    def _refused(self, message: str) -> Invalid:
        return Invalid("", [{"field": self.name, "message": message}])


def _shown(bound: float | None, words: Words) -> str:
    return "…" if bound is None else words.plain(bound)


def _bounds(model: Any, field: str) -> tuple[float | None, float | None]:
    """What the document accepts, so that the form says the same."""
    found: dict[str, float | None] = {"ge": None, "le": None}
    for constraint in _constraints(model.model_fields[field]):
        for name in found:
            if (bound := getattr(constraint, name, None)) is not None:
                found[name] = float(bound)
    return found["ge"], found["le"]


def _constraints(info: Any) -> list[Any]:
    own = list(info.metadata)
    for argument in getattr(info.annotation, "__args__", ()):
        own += getattr(argument, "__metadata__", ())
    return [part for one in own for part in (getattr(one, "metadata", None) or [one])]


def _of(path: str, kind: str, model: Any = None, **more: Any) -> Parameter:
    group, _, field = path.rpartition(".")
    form = model or _GROUPS[group]
    low, high = _bounds(form, field) if kind in ("whole", "number") else (None, None)
    return Parameter(path, kind, inherits=group == "agent", low=low, high=high, **more)


AGENT = (
    _of("agent.Enable", "switch"),
    _of("agent.MaxIterations", "whole"),
    _of("agent.TimeoutSeconds", "number"),
    _of("agent.MaxRefusedToolCalls", "whole"),
    _of("agent.MaxValidationPasses", "whole"),
    _of("agent.UseRedactionValidation", "switch"),
    _of("agent.HardRemoveDisabledTools", "switch"),
    _of("agent.PreferAlbumContinuity", "switch"),
)
"""The card of the ReplyAgent."""

_MEDIA = (
    _of("agent.MAX_FREE_MEDIA", "whole"),
    _of("agent.MAX_FREE_MEDIA_WINDOW", "text"),
    _of("agent.PreferAlbumContinuity", "switch"),
)
CHATTING_OF_ALL = (
    *_MEDIA,
    _of("limits.replies_per_minute", "whole", OrganizationLimits),
    _of("limits.in_flight", "whole", OrganizationLimits),
)
CHATTING = (
    _of("autonomy", "choice", choices=("off", "draft", "window", "auto")),
    _of("engine", "choice", choices=("v2", "v1")),
    _of("control_window_seconds", "number"),
    _of("debounce.quiet_seconds", "number"),
    _of("debounce.max_wait_seconds", "number"),
    _of("pacing.base_ms", "number"),
    _of("pacing.per_char_ms", "number"),
    _of("quiet_hours", "text", optional=True),
    _of("proactive_hours", "text"),
    _of("limits.max_bubbles", "whole"),
    _of("limits.max_chars", "whole"),
    _of("limits.max_vocal_per_day", "whole"),
    _of("limits.links_per_day", "whole"),
    _of("prices.floor_ratio", "number"),
    _of("prices.ceiling_ratio", "number"),
    *_MEDIA,
)
PERSONA = (
    _of("display_name", "text"),
    _of("language", "text", optional=True),
    _of("tone", "text"),
    _of("instructions", "long"),
)
"""What the persona is; the rest of its document is in the two others."""


def sheet(name: str, persona: str | None) -> Sequence[Parameter]:
    """The parameters of a page, for one persona or for all of the organisation's."""
    if name == "persona":
        return PERSONA
    if name == "agents":
        return AGENT
    return CHATTING_OF_ALL if persona is None else CHATTING


def value_at(spec: Mapping[str, Any], path: str) -> Any:
    found: Any = spec
    for part in path.split("."):
        found = (found or {}).get(part)
    return found
