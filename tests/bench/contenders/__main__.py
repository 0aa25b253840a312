"""`python -m tests.bench.contenders NAME httpx|aiohttp URL`: a loop that waits for numbers on its standard input.

For each number it runs that many runs and answers a line of JSON: what they cost. The first line it writes, before any
number, names what it runs on.
"""

import asyncio
import gc
import json
import platform
import resource
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import uvloop
from anthropic import AsyncAnthropic, DefaultAioHttpClient

from tests.bench.contenders.work import CALLS, Done, RunOnce

TIMEOUT = 60.0


def contender(name: str) -> tuple[Callable[[AsyncAnthropic], RunOnce], tuple[str, ...]]:
    """How to build it, and the packages whose versions name it."""
    if name == "ours":
        from tests.bench.contenders import ours

        return ours.build, ("anthropic",)
    if name in ("parsed", "bodies"):
        from tests.bench.contenders import raw

        return getattr(raw, name), ("anthropic",)
    from tests.bench.contenders import frameworks

    packages = {
        "runner": ("anthropic",),
        "pydantic_ai": ("pydantic-ai-slim",),
        "langgraph": ("langgraph", "langchain-core", "langchain-anthropic"),
    }
    return getattr(frameworks, name), packages[name]


async def measured(run: RunOnce, times: int) -> dict[str, Any]:
    """Processor seconds of this process, user and system; wall seconds per call, sorted; peak memory in KiB."""
    gc.collect()
    took, cpu, began = [], time.process_time(), time.perf_counter()
    for _ in range(times):
        done, start = Done(), time.perf_counter()
        await run(done)
        took.append((time.perf_counter() - start) / CALLS)
        done.require_complete()
    spent, wall = time.process_time() - cpu, time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"cpu": spent, "wall": wall, "latency": sorted(took)[len(took) // 2], "peak_kib": peak}


async def main(name: str, transport: str, url: str) -> None:
    build, packages = contender(name)
    http = DefaultAioHttpClient() if transport == "aiohttp" else None
    async with AsyncAnthropic(
        api_key="key", base_url=url, max_retries=0, timeout=TIMEOUT, open_telemetry=False, http_client=http
    ) as client:
        run = build(client)
        versions = {package: metadata.version(package) for package in packages}
        answer({"python": platform.python_version(), "versions": versions})
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            answer(await measured(run, int(line)))


def answer(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
