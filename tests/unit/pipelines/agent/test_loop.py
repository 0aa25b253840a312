"""The loop with lookups, over two claims: what was looked up before is in the saved bytes."""

import json
from collections.abc import Sequence

from pipelines.agent.calls import Calls, Doors, Timer
from pipelines.agent.loop import Agent, Assignment, Finish
from pipelines.agent.policy import ToolPolicy
from pipelines.agent.trace import Trace
from pipelines.llm.dialects.anthropic import to_wire
from pipelines.llm.pricing import Purse
from pipelines.llm.ramp import OpenGate
from schemas.agent import AgentParameters, Resume
from schemas.ids import CallId
from schemas.llm import Message, Model, ModelRequest, Task, Text, ToolSpec
from tests.builders import a_resume
from tests.desk import Desk, Look, Note, Stop
from tests.fakes import HAIKU, FlatPrices, FrozenClock, Line, MemoryKeep, ScriptedModel, calling

LINES = [
    calling(("look", {"q": "a"}), ("note", {})),
    calling(("look", {"q": "b"})),
    calling(("stop", {})),
]


def build(call: CallId, model: Model, messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> ModelRequest:
    return ModelRequest(call, Task.REPLY, model, (), tuple(messages), 100, tools)


def agent(desk: Desk, lines: list[Line], keep: MemoryKeep, resume: Resume) -> tuple[Agent[Desk], ScriptedModel]:
    clock, limits = FrozenClock(), AgentParameters()
    model = ScriptedModel(list(lines), clock)
    trace, timer = Trace(clock), Timer.start(clock, limits.timeout_seconds, resume.active_seconds)
    calls = Calls(resume, keep, Doors({"anthropic": model}, OpenGate()), Purse(FlatPrices(), 100), timer, trace)
    assignment = Assignment(Task.REPLY, (HAIKU,), (Text("go"),), build)
    desk.open.set()
    return Agent(assignment, [Look(), Note(), Stop()], ToolPolicy(), desk, calls, timer, limits, trace), model


async def test_only_the_lookups_of_the_last_saved_step_are_made_again() -> None:
    keep = MemoryKeep()
    first, heard = agent(Desk(), LINES, keep, a_resume())
    assert await first.work() is Finish.ENDED

    for steps, made_again in ((1, ["look a", "note", "look b"]), (2, ["note", "look b"]), (3, ["note"])):
        desk = Desk()
        resumed, model = agent(desk, LINES[steps:], MemoryKeep(), keep.resume(steps))

        assert await resumed.work() is Finish.ENDED
        assert desk.log == made_again
        assert [json.dumps(to_wire(request)) for request in model.heard] == [
            json.dumps(to_wire(request)) for request in heard.heard[steps:]
        ]
