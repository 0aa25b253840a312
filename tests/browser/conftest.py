"""A real browser at the running product: Debian's Chromium, driven by Playwright.

Without either of the two these tests skip and say what to do: `make test-console` fetches Playwright, and asks for
Chromium. Nothing is downloaded by a test.
"""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.browser.operator import Operator
from tests.integration.conftest import model, receiver, simulator, stack
from tests.stack import ADMIN_KEY, Stack

__all__ = ["model", "receiver", "simulator", "stack"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "no browser here: `make test-console` says what is missing"

SignIn = Callable[..., Awaitable[Operator]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is not None and _has_playwright():
        return
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.skip(reason=MISSING))


def _has_playwright() -> bool:
    try:
        import playwright.async_api  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.fixture
async def browser() -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        arguments = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
        running = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield running
        await running.close()


@pytest.fixture
async def sign_in(browser: Any, stack: Stack) -> AsyncIterator[SignIn]:
    """Somebody at the console in a browser of their own: `sign_in(org, "anna")`, or an admin without a name."""
    opened: list[Operator] = []

    async def come_in(org: str, name: str | None = None, **context: Any) -> Operator:
        key = ADMIN_KEY
        if name is not None:
            body = {"role": "operator", "name": name, "organization": org}
            key = stack.call("POST", "/v1/keys", json=body, status=201)["key"]
        page = await (await browser.new_context(locale="en-GB", **context)).new_page()
        operator = Operator(page, stack.url)
        opened.append(operator)
        await operator.enter_with_key(key)
        if name is None:
            await operator.choose(org)
        return operator

    yield come_in
    for operator in opened:
        assert operator.faults == []
