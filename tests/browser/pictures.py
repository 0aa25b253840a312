"""Pictures of every page, light and dark, on a desk and on a phone, in French and English: `make screenshots`.

They go to tests/browser/.pictures, and the two of the README to docs/pictures.
"""

import asyncio
import shutil
import sys
from pathlib import Path

from tests import servers
from tests.browser.operator import Operator
from tests.browser.scenes import Scenes, set_up
from tests.simulator import RunningSimulator, running_simulator
from tests.stack import ADMIN_KEY, Stack, running_stack
from tests.upstream import running_receiver

ROOT = Path(__file__).parents[2]
OUT = Path(__file__).parent / ".pictures"
README = {"window-en-light-desk.png": "window.png", "attention-fr-dark-phone.png": "attention-phone.png"}
SIZES = {"desk": {"width": 1280, "height": 800}, "phone": {"width": 380, "height": 780}}
LANGUAGES = {"en": "en-GB", "fr": "fr-FR"}
SCHEMES = ("light", "dark")


async def take(stack: Stack, simulator: RunningSimulator) -> int:
    from playwright.async_api import async_playwright

    async with simulator.control() as model:
        scenes = await set_up(stack, model)
    taken = 0
    async with async_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for language, locale in LANGUAGES.items():
            for scheme in SCHEMES:
                for size, viewport in SIZES.items():
                    context = await browser.new_context(
                        locale=locale,
                        color_scheme=scheme,
                        viewport=viewport,
                        device_scale_factor=2 if size == "phone" else 1,
                    )
                    taken += await _all(
                        Operator(await context.new_page(), stack.url), scenes, f"{language}-{scheme}-{size}"
                    )
                    await context.close()
        await browser.close()
    return taken


async def _all(operator: Operator, scenes: Scenes, suffix: str) -> int:
    page = operator.page
    await operator.go("/sign-in")
    await page.screenshot(path=OUT / f"door-{suffix}.png")
    await page.locator("summary").click()
    await page.locator("[name=key]").fill(ADMIN_KEY)
    await page.locator("details button").click()
    await page.wait_for_url("**/console/")
    if await page.locator(".choices").count():
        await page.get_by_role("button", name=scenes.org, exact=True).click()
    for name, path in scenes.pages.items():
        await operator.go(path)
        await page.locator(".is-live").wait_for(state="attached")
        await page.wait_for_timeout(400)
        await page.screenshot(path=OUT / f"{name}-{suffix}.png", full_page=True)
    await operator.go(scenes.pages["conversation"])
    await page.locator("#withdrawn").click()
    await page.screenshot(path=OUT / f"conversation-drafts-{suffix}.png", full_page=True)
    await operator.go("/dead-letters")
    await page.locator("[name=verb][value=purge]").click()
    await page.locator("[name=sure]").wait_for(state="attached")
    await page.screenshot(path=OUT / f"dead-letters-sure-{suffix}.png", full_page=True)
    await operator.go("/")
    await page.locator("article [data-key=e]").first.click()
    await page.locator("[data-editing]").wait_for()
    await page.screenshot(path=OUT / f"window-edit-{suffix}.png")
    return len(scenes.pages) + 4


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with servers.postgres() as postgres, servers.valkey() as redis, running_simulator() as simulator:
        template = servers.make_template(postgres)
        with (
            servers.database(postgres, template) as url,
            running_receiver() as receiver,
            running_stack(url, redis, simulator.base_url, receiver) as stack,
        ):
            taken = asyncio.run(take(stack, simulator))
    (ROOT / "docs" / "pictures").mkdir(exist_ok=True)
    for name, kept in README.items():
        shutil.copyfile(OUT / name, ROOT / "docs" / "pictures" / kept)
    sys.stdout.write(f"{taken} pictures in {OUT}\n")


if __name__ == "__main__":
    main()
