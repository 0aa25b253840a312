"""What a test makes the model say."""

from typing import Any

from workers.simulator.control import SeenRequest, SimulatorControl


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "input": arguments}


def bubbles(*texts: str, delay: float = 0) -> dict[str, Any]:
    """A turn that queues text bubbles."""
    return {"calls": [call("send_message", text=text) for text in texts], "delay": delay}


def done(text: str = "", delay: float = 0) -> dict[str, Any]:
    """A turn that ends, with a remark nobody may ever read."""
    return {"text": text or "I am done with this reply.", "delay": delay}


NOWHERE = "claude-of-nowhere"
"""A model that is asked on purpose although no provider has it."""


async def refused(model: SimulatorControl) -> list[str]:
    """What the API would have refused of all that it was asked, by whichever test."""
    return [sentence for sentence in await model.refusals() if sentence != f"model: {NOWHERE}"]


async def heard(model: SimulatorControl, marker: str, task: str = "reply") -> list[SeenRequest]:
    """The calls of one conversation, in order."""
    return [seen for seen in await model.requests(task=task) if marker in seen.body]
