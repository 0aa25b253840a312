"""The SDK's own tool runner, pydantic-ai and LangGraph, each as its guide shows it, on the same SDK and transport."""

from typing import Any

from anthropic import AsyncAnthropic

from tests.bench.contenders.raw import fresh
from tests.bench.contenders.work import HISTORY, MAX_TOKENS, MODEL, QUESTION, SYSTEM, Done, RunOnce


def runner(client: AsyncAnthropic) -> RunOnce:
    from anthropic import beta_async_tool

    async def run(done: Done) -> None:
        tools = [beta_async_tool(function) for function in _functions(done)]
        wire: dict[str, Any] = {**fresh(), "tools": tools}
        await client.beta.messages.tool_runner(**wire, thread=False, max_iterations=12).until_done()

    return run


def pydantic_ai(client: AsyncAnthropic) -> RunOnce:
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    model = AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client))
    # Annotations are given as objects: the classes are known inside this function only.
    agent = Agent(model, instructions=SYSTEM, deps_type=Done, model_settings={"max_tokens": MAX_TOKENS})

    async def look_up(context: Any, query: str, limit: int) -> str:
        """Look something up in the notes."""
        return str(context.deps.look_up(query, limit))

    async def set_plan(context: Any, steps: list[str]) -> str:
        """Note the plan of the reply."""
        return str(context.deps.set_plan(steps))

    async def send_message(context: Any, text: str) -> str:
        """Queue one message."""
        return str(context.deps.send_message(text))

    for function in (look_up, set_plan, send_message):
        function.__annotations__["context"] = RunContext[Done]
        agent.tool(function)
    history: list[Any] = [
        ModelRequest(parts=[UserPromptPart(text)]) if role == "user" else ModelResponse(parts=[TextPart(text)])
        for role, text in HISTORY
    ]

    async def run(done: Done) -> None:
        await agent.run(QUESTION, deps=done, message_history=history)

    return run


def langgraph(client: AsyncAnthropic) -> RunOnce:
    import warnings

    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import tool

    with warnings.catch_warnings(action="ignore"):
        from langgraph.prebuilt import create_react_agent

    model = ChatAnthropic(
        model_name=MODEL, base_url=str(client.base_url), api_key="key", max_tokens=MAX_TOKENS, max_retries=0
    )
    model.__dict__["_async_client"] = client  # otherwise it opens one of its own, with its own transport

    async def look_up(query: str, limit: int, config: Any) -> str:
        """Look something up in the notes."""
        return str(config["configurable"]["done"].look_up(query, limit))

    async def set_plan(steps: list[str], config: Any) -> str:
        """Note the plan of the reply."""
        return str(config["configurable"]["done"].set_plan(steps))

    async def send_message(text: str, config: Any) -> str:
        """Queue one message."""
        return str(config["configurable"]["done"].send_message(text))

    for function in (look_up, set_plan, send_message):
        function.__annotations__["config"] = RunnableConfig
    with warnings.catch_warnings(action="ignore"):
        graph = create_react_agent(model, [tool(f) for f in (look_up, set_plan, send_message)], prompt=SYSTEM)
    history = [HumanMessage(text) if role == "user" else AIMessage(text) for role, text in HISTORY]

    async def run(done: Done) -> None:
        await graph.ainvoke({"messages": [*history, HumanMessage(QUESTION)]}, {"configurable": {"done": done}})

    return run


def _functions(done: Done) -> list[Any]:
    async def look_up(query: str, limit: int) -> str:
        """Look something up in the notes."""
        return done.look_up(query, limit)

    async def set_plan(steps: list[str]) -> str:
        """Note the plan of the reply."""
        return done.set_plan(steps)

    async def send_message(text: str) -> str:
        """Queue one message."""
        return done.send_message(text)

    return [look_up, set_plan, send_message]
