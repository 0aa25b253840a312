"""What 200 held replies with live countdowns cost the gateway: processor time and requests, by one page and by ten.

make bench-console
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import psutil
from sqlalchemy import create_engine, text

from tests import servers
from tests.simulator import running_simulator
from tests.stack import ADMIN_KEY, Stack, running_stack
from tests.upstream import running_receiver

HELD = 200
SECONDS = 30.0
FILL = """
INSERT INTO contacts (org_id, name, display_name, profile) SELECT :org, 'f' || n, 'Contact ' || n, '{}' FROM
  generate_series(1, :many) AS n;
INSERT INTO conversations (org_id, persona_id, contact_id, name, inbound_seq, last_position)
  SELECT :org, :persona, id, name, 1, 3 FROM contacts WHERE org_id = :org;
INSERT INTO messages (org_id, conversation_id, author, position, seq, text)
  SELECT :org, c.id, 'contact', p, 1, 'coucou, tu fais quoi ce week-end ? ' || p FROM conversations c,
    generate_series(1, 3) AS p WHERE c.org_id = :org;
INSERT INTO jobs (org_id, conversation_id, queue, state, inbound_seq, first_message_at, due_at)
  SELECT :org, id, 'send', 'held', 1, clock_timestamp(), clock_timestamp() + interval '1 h' + id * interval '1 s'
  FROM conversations WHERE org_id = :org;
INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text)
  SELECT :org, id, conversation_id, o, 'text', 'held', 'Je pars en rando dans le Vercors, tu connais le coin ? ' || o
  FROM jobs, generate_series(0, 1) AS o WHERE org_id = :org
"""


def fill(stack: Stack) -> str:
    """`HELD` replies in one organisation; its name."""
    talk = stack.organization()
    engine = create_engine(stack.environment["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        org = connection.scalar(text("SELECT id FROM organizations WHERE name = :name"), {"name": talk.org})
        persona = connection.scalar(text("SELECT id FROM personas WHERE org_id = :org"), {"org": org})
        for statement in FILL.split(";"):
            connection.execute(text(statement), {"org": org, "persona": persona, "many": HELD})
    engine.dispose()
    return talk.org


Act = Callable[[Stack, str, Any], Awaitable[None]]


@dataclass(frozen=True)
class Seen:
    """`share` of a core, of the gateway alone; `loaded`: seconds to load a page."""

    share: float
    asked: int
    loaded: float


async def watch(stack: Stack, org: str, pages: int, act: Act) -> Seen:
    """So many operators with the window open, while `act` is done by one of them, or beside them."""
    from playwright.async_api import async_playwright

    gateway = psutil.Process(stack.children["gateway"].pid)
    async with async_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        asked: list[str] = []
        opened = [await open_page(await browser.new_context(locale="en-GB"), stack, org, asked) for _ in range(pages)]
        asked.clear()
        before, began = gateway.cpu_times(), time.monotonic()
        await act(stack, org, opened[0][0])
        spent, passed = gateway.cpu_times(), time.monotonic() - began
        await browser.close()
    share = (spent.user + spent.system - before.user - before.system) / passed
    return Seen(share, len(asked), opened[-1][1])


async def open_page(context: Any, stack: Stack, org: str, asked: list[str]) -> tuple[Any, float]:
    """Somebody at a browser of their own, the window open; and the seconds it took to load."""
    page = await context.new_page()
    await page.goto(stack.url + "/console/sign-in")
    await page.get_by_text("Sign in with a key").click()
    await page.get_by_label("Key", exact=True).fill(ADMIN_KEY)
    await page.locator("details").get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/console/")
    if await page.get_by_role("button", name=org, exact=True).count():
        await page.get_by_role("button", name=org, exact=True).click()
    context.on("request", lambda request: asked.append(request.url))
    began = time.monotonic()
    await page.goto(stack.url + "/console/")
    await page.locator("article.reply").nth(HELD - 1).wait_for()
    return page, time.monotonic() - began


async def nothing(stack: Stack, org: str, page: Any) -> None:
    """The countdowns run, and nobody does anything."""
    await asyncio.sleep(SECONDS)


async def by_api(stack: Stack, org: str, page: Any) -> None:
    """Somebody holds and releases replies over the API, one a second: the pages hear of it."""
    headers = {"Authorization": f"Bearer {ADMIN_KEY}", "X-Organization": org}
    end = time.monotonic() + SECONDS
    async with httpx2.AsyncClient(base_url=stack.url, headers=headers) as http:
        jobs = (await http.get("/v1/jobs?state=held&limit=200")).json()["items"]
        for turn in count():
            await asyncio.sleep(1.0)
            if time.monotonic() >= end:
                return
            answer = await http.post(f"/v1/jobs/{jobs[turn // 2]['id']}/{('hold', 'release')[turn % 2]}")
            assert answer.status_code == 200, answer.text


async def in_the_window(stack: Stack, org: str, page: Any) -> None:
    """An operator presses a button a second: hold, release, edit, save. The pages of the others hear of it."""
    end = time.monotonic() + SECONDS
    rows = await page.locator("article.reply").evaluate_all("all => all.map(row => row.id)")
    for turn in count():
        await asyncio.sleep(1.0)
        if time.monotonic() >= end:
            return
        row, step = page.locator(f"#{rows[turn // 4]}"), turn % 4
        if step == 0:
            await row.get_by_role("button", name="Hold", exact=True).click()
            await row.get_by_role("button", name="Release", exact=True).wait_for()
        elif step == 1:
            await row.get_by_role("button", name="Release", exact=True).click()
            await row.get_by_role("button", name="Hold", exact=True).wait_for()
        elif step == 2:
            await row.get_by_label("Edit").first.click()
            await row.get_by_label("Text of the bubble").fill(f"Je pars en rando demain. {turn}")
        else:
            await row.get_by_role("button", name="Save").click()
            await row.get_by_label("Edit").first.wait_for()


ROWS: tuple[tuple[int, str, Act], ...] = (
    (1, "none", nothing),
    (10, "none", nothing),
    (1, "one a second, over the API", by_api),
    (10, "one a second, over the API", by_api),
    (1, "one a second, in the window", in_the_window),
    (10, "one a second, in the window of one", in_the_window),
)


def main() -> None:
    out = sys.stdout.write
    with servers.postgres() as postgres, servers.valkey() as redis, running_simulator() as simulator:
        template = servers.make_template(postgres)
        with (
            servers.database(postgres, template) as url,
            running_receiver() as receiver,
            running_stack(url, redis, simulator.base_url, receiver) as stack,
        ):
            org = fill(stack)
            out(f"load average {Path('/proc/loadavg').read_text()[:4]}, {HELD} held replies, {SECONDS:.0f} s each\n")
            out("| open pages | actions | gateway, part of a core | requests | a page loads in |\n")
            out("|---|---|---|---|---|\n")
            for pages, told, act in ROWS:
                seen = asyncio.run(watch(stack, org, pages, act))
                out(f"| {pages} | {told} | {seen.share:.1%} | {seen.asked} | {seen.loaded:.2f} s |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
