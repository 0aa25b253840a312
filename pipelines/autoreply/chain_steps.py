"""The four questions of engine V1: what each answer must look like, and how it is read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.llm import ModelAnswer, Stop


class Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class Intent(Answer):
    intent: str
    because: str


class Context(Answer):
    facts: list[str]
    open_points: list[str]
    mood: str


class Reflection(Answer):
    approach: str
    avoid: list[str]


class Drafted(Answer):
    messages: list[str]


A = TypeVar("A", bound=Answer)
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


@dataclass(frozen=True, slots=True)
class Step(Generic[A]):
    """`schema` is sent with the question, `answer` reads what comes back: a provider may not keep to the schema."""

    name: str
    schema: dict[str, Any]
    answer: type[A]

    def read(self, answer: ModelAnswer) -> A | None:
        """None when it was cut, or is no such object."""
        if answer.stop is Stop.CUT:
            return None
        try:
            return self.answer.model_validate_json(answer.text)
        except ValidationError:
            return None


def _object(**members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(members), "properties": members}


def intent_step(names: Iterable[str]) -> Step[Intent]:
    return Step("intent", _object(intent={"type": "string", "enum": list(names)}, because=_TEXT), Intent)


CONTEXT = Step("context", _object(facts=_TEXTS, open_points=_TEXTS, mood=_TEXT), Context)
REFLECTION = Step("reflection", _object(approach=_TEXT, avoid=_TEXTS), Reflection)
DRAFTING = Step("drafting", _object(messages=_TEXTS), Drafted)
