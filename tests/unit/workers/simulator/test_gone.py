"""A caller that goes away in the middle: nothing of it in the log."""

from typing import Any

from starlette.types import Message

from workers.simulator.app import create_app


async def test_whoever_dies_while_asking_leaves_no_stack_trace() -> None:
    app = create_app()
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    for path in ("/v1/messages", "/v1/chat/completions"):
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [],
            "app": app,
        }
        await app(scope, receive, send)  # raises where nobody handles it

    assert sent[0]["status"] == 400
