"""What the Messages API refuses, in the order of the real one: shapes first, then rules across fields."""

from typing import Any

from workers.simulator.models import Model, find_model
from workers.simulator.refusals import ErrorType, Refused
from workers.simulator.validation.conversation import check_conversation
from workers.simulator.validation.output import check_output
from workers.simulator.validation.pairing import check_pairing
from workers.simulator.validation.shape import check_shape
from workers.simulator.validation.thinking import check_thinking
from workers.simulator.validation.tools import check_tools

__all__ = ["check_request"]


def check_request(body: dict[str, Any], version: str, *, counting: bool = False) -> Model:
    """The model's rules, once the request is known to be one that the API would run.

    `counting` is for the token-count endpoint, which takes no `max_tokens`.

    Raises:
        Refused: with the API's kind of sentence.
    """
    check_shape(body, counting=counting)
    model = find_model(body["model"])
    if model is None:
        raise Refused(f"model: {body['model']}", ErrorType.NOT_FOUND)
    check_conversation(body, model)
    check_tools(body, model)
    check_pairing(body["messages"])
    check_thinking(body, model)
    check_output(body, model, version)
    return model
