"""The work that every loop is given, in plain data, and what a loop must offer to be measured."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

MODEL = "claude-haiku-5-5"
MARK = "§loop§"
MAX_TOKENS = 1_000
CALLS = 4
"""Calls of the model in one run."""

SYSTEM = (
    "You answer the fans of a hiker. You are warm, brief and exact. You look things up before you state them. " * 60
)
HISTORY = [("user", "salut, tu fais quoi ce week-end ?"), ("assistant", "Je pars marcher en Chartreuse !")] * 6
QUESTION = f"et il fera quel temps là-haut ? {MARK}"
FOUND = "Chartreuse: sun on Saturday, storms on Sunday from two in the afternoon, snow above 2,000 m."

TURNS: list[dict[str, Any]] = [
    {"text": "Je regarde.", "calls": [{"name": "look_up", "input": {"query": "météo Chartreuse", "limit": 3}}]},
    {"calls": [{"name": "set_plan", "input": {"steps": ["tell the weather", "ask whether he comes along"]}}]},
    {
        "calls": [
            {"name": "send_message", "input": {"text": "Grand soleil samedi, orages dimanche après-midi."}},
            {"name": "send_message", "input": {"text": "Tu viens avec nous samedi ?"}},
        ]
    },
    {"text": "Done."},
]
"""What the simulator answers, run after run."""


@dataclass
class Done:
    """What a run's tools did; a loop that skipped work is no competitor."""

    looked_up: int = 0
    plan: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    def look_up(self, query: str, limit: int) -> str:
        self.looked_up += limit
        return FOUND

    def set_plan(self, steps: list[str]) -> str:
        self.plan = steps
        return "noted"

    def send_message(self, text: str) -> str:
        self.sent.append(text)
        return f"queued as bubble {len(self.sent)}"

    def require_complete(self) -> None:
        if (self.looked_up, len(self.plan), len(self.sent)) != (3, 2, 2):
            raise RuntimeError(f"the run did not do its work: {self}")


RunOnce = Callable[[Done], Awaitable[None]]
"""One run: asks the model until it ends its turn."""


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TOOLS: list[dict[str, Any]] = [
    {
        "name": "look_up",
        "description": "Look something up in the notes.",
        "input_schema": schema(query={"type": "string"}, limit={"type": "integer"}),
    },
    {
        "name": "set_plan",
        "description": "Note the plan of the reply.",
        "input_schema": schema(steps={"type": "array", "items": {"type": "string"}}),
    },
    {
        "name": "send_message",
        "description": "Queue one message.",
        "input_schema": schema(text={"type": "string"}),
    },
]
