"""The shape of a tool: what the model sees of it, what it may do to a run, and how it says no."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.llm import ToolSpec


class Effect(StrEnum):
    """READ looks only, and may run beside others. DRAFT and NOTE change the run and nothing else, so that they can be
    repeated when a run is resumed. END ends it. PROPOSE asks a person."""

    READ = "read"
    DRAFT = "draft"
    NOTE = "note"
    END = "end"
    PROPOSE = "propose"


@dataclass(frozen=True, slots=True)
class Done:
    """`text` is what the model reads."""

    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """`sentence` says precisely what was wrong and what to do instead."""

    sentence: str


Outcome = Done | Refused


class Args(BaseModel):
    """Arguments as the model sees them: the docstring is the tool's description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RunState(Protocol):
    """What the loop must know of the draft that its tools work on."""

    @property
    def sendable(self) -> int:
        """How many candidates are queued."""
        ...

    @property
    def ended(self) -> bool:
        """An END tool was accepted."""
        ...

    def learnt(self, answer: str) -> None:
        """A lookup answered."""
        ...


A = TypeVar("A", bound=Args)
S = TypeVar("S", bound=RunState)


class Tool(ABC, Generic[A, S]):
    """One tool. Who is asking comes with `state`, never from the arguments."""

    name: ClassVar[str]
    effect: ClassVar[Effect]
    args: type[A]

    @abstractmethod
    async def call(self, args: A, state: S) -> Outcome: ...

    def spec(self) -> ToolSpec:
        return _spec(self.name, self.args)

    def read(self, args: dict[str, Any]) -> A | Refused:
        try:
            return self.args.model_validate(args)
        except ValidationError as error:
            return Refused(f"{_wrong(error)}. Correct the arguments and call {self.name} again.")


@lru_cache(maxsize=256)
def _spec(name: str, args: type[Args]) -> ToolSpec:
    """Made once: building a schema takes longer than the rest of a request."""
    schema = _plain(args.model_json_schema())
    return ToolSpec(name, str(schema.pop("description", name)), schema)


def _plain(schema: Any) -> Any:
    """The schema without the titles that pydantic adds: they say nothing, and every byte is paid for."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _plain(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))}


def _wrong(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}" for problem in problems)
