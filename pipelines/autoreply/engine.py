"""Which engine answers: V2, the agent with tools, or V1, the chain of four questions."""

from enum import StrEnum

from pipelines.agent.trace import Trace
from schemas.agent import AgentParameters, Resume
from schemas.llm import Task
from schemas.resources import PersonaSpec


class Engine(StrEnum):
    V1 = "v1"
    V2 = "v2"

    @property
    def task(self) -> Task:
        """Of the calls that write the reply."""
        return Task.REPLY if self is Engine.V2 else Task.AUXILIARY


def engine_of(limits: AgentParameters, persona: PersonaSpec) -> Engine:
    """V2 where it is selected and `Enable` is on."""
    return Engine(persona.engine) if limits.enable else Engine.V1


def engine_of_run(resume: Resume, limits: AgentParameters, persona: PersonaSpec) -> Engine:
    """A run that was left off is ended by the engine that began it: a switch counts from the next run on."""
    if resume.steps:
        return Engine.V1 if resume.steps[0].task is Engine.V1.task else Engine.V2
    return engine_of(limits, persona)


def note_engine(engine: Engine, persona: PersonaSpec, trace: Trace) -> None:
    """A reader of the trace expects V2."""
    if engine is Engine.V1:
        fallen_back = Engine(persona.engine) is Engine.V2
        trace.note("Enable is off: engine V1 answers in place of V2" if fallen_back else "engine V1 answers")
