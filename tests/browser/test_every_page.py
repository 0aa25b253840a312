"""Every page: can it be used with a screen reader, on a phone, without a mouse?"""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import SignIn
from tests.browser.scenes import Scenes, set_up
from tests.simulator import RunningSimulator
from tests.stack import Stack

AXE = Path(__file__).parent / ".axe" / "axe.min.js"
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""Of axe-core 4.14.1, MPL-2.0: fetched by `make test-console`, never part of the product."""

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
SERIOUS = {"serious", "critical"}
PHONE = {"width": 380, "height": 800}

_scenes: dict[str, Scenes] = {}


@pytest.fixture
async def scenes(stack: Stack, simulator: RunningSimulator) -> Scenes:
    """Made once: the stack is the module's."""
    if stack.url not in _scenes:
        async with simulator.control() as model:
            _scenes[stack.url] = await set_up(stack, model)
    return _scenes[stack.url]


def axe() -> str:
    if not AXE.exists():
        pytest.skip("axe-core is not here: `make test-console` fetches it")
    script = AXE.read_bytes()
    assert hashlib.sha256(script).hexdigest() == AXE_SHA256
    return script.decode()


async def issues(page: Any, script: str) -> list[str]:
    """Rule, severity and place of each issue. Run as the extension does, past the page's own policy."""
    await page.evaluate(script)
    found = await page.evaluate("options => axe.run(document, options)", RULES)
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['html'][:100]}"
        for one in found["violations"]
        for node in one["nodes"]
        if one["impact"] in SERIOUS
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_no_serious_issue(stack: Stack, scenes: Scenes, sign_in: SignIn, scheme: str) -> None:
    script = axe()
    admin = await sign_in(scenes.org, color_scheme=scheme)
    found = {}
    for name, path in scenes.pages.items():
        await admin.go(path)
        found[name] = await issues(admin.page, script)
    await admin.go(scenes.pages["conversation"])
    await admin.page.locator("#withdrawn").click()
    found["drafts"] = await issues(admin.page, script)
    await admin.go("/dead-letters")
    await admin.page.locator("[name=verb][value=purge]").click()
    await admin.page.locator("[name=sure]").wait_for(state="attached")
    found["sure"] = await issues(admin.page, script)
    await admin.go("/")
    await admin.page.keyboard.press("?")
    found["help"] = await issues(admin.page, script)
    await admin.page.keyboard.press("Escape")
    await admin.page.locator("article [data-key=e]").first.click()
    await admin.page.locator("[data-editing]").wait_for()
    found["edit"] = await issues(admin.page, script)

    assert {name: told for name, told in found.items() if told} == {}


async def test_axe_sees_what_is_wrong(stack: Stack, scenes: Scenes, sign_in: SignIn) -> None:
    admin = await sign_in(scenes.org)
    await admin.go("/")
    await admin.page.evaluate("document.getElementById('find').parentElement.querySelector('label').remove()")
    await admin.page.evaluate("document.getElementById('find').removeAttribute('placeholder')")

    assert [told.split(" ")[0] for told in await issues(admin.page, axe())] == ["label"]


async def test_the_door_has_no_serious_issue(browser: Any, stack: Stack) -> None:
    script = axe()
    page = await browser.new_page()
    await page.goto(f"{stack.url}/console/sign-in")

    assert await issues(page, script) == []


async def test_no_page_is_wider_than_a_phone(stack: Stack, scenes: Scenes, sign_in: SignIn) -> None:
    admin = await sign_in(scenes.org, viewport=PHONE)
    found = {}
    for name, path in scenes.pages.items():
        await admin.go(path)
        for fold in await admin.page.locator("main summary[id]").all():
            await fold.click()
        found[name] = await admin.page.evaluate("document.documentElement.scrollWidth - innerWidth")

    assert {name: beyond for name, beyond in found.items() if beyond > 0} == {}


async def test_every_page_has_one_heading_and_its_own_title(stack: Stack, scenes: Scenes, sign_in: SignIn) -> None:
    admin = await sign_in(scenes.org)
    titles, headings = set(), {}
    for name, path in scenes.pages.items():
        await admin.go(path)
        titles.add(await admin.page.title())
        headings[name] = await admin.page.locator("h1").count()

    assert len(titles) == len(scenes.pages)
    assert set(headings.values()) == {1}
