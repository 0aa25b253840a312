"""Every action answers within 200 ms, or shows at once that it works. Measured in the browser, from press to answer."""

import os
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import quantiles
from typing import Any

from tests.browser.conftest import SignIn
from tests.browser.operator import Operator
from tests.browser.test_operator import LONG, another
from tests.scripts import bubbles, done
from tests.stack import Stack, Talk
from workers.simulator.control import SimulatorControl

SOON_MS, LENIENT_MS = 200, 1000
"""What is promised; and what a machine that has other work may take before the promise is called broken."""
OTHERS = ("playground", "check-up")
"""They wait for a model, or for whatever they examine."""

# Kept by the tab, because some answers are pages of their own. Times are of one clock, also across pages.
PROBE = """(() => {
  const now = () => performance.timeOrigin + performance.now();
  const read = () => JSON.parse(sessionStorage.pace || "{}");
  const keep = (seen) => { sessionStorage.pace = JSON.stringify(seen); };
  const note = (what) => {
    const seen = read();
    if (seen.pressed && !seen[what]) keep({ ...seen, [what]: now() });
  };
  addEventListener("click", (event) => {
    if (read().pressed || !event.target.closest("button")) return;
    keep({ pressed: now() });
    requestAnimationFrame(() => note("painted"));
  }, true);
  const busy = (one) => one.target.getAttribute("aria-busy") === "true";
  new MutationObserver((seen) => { if (seen.some(busy)) note("shown"); })
    .observe(document, { subtree: true, attributes: true, attributeFilter: ["aria-busy"] });
  document.addEventListener("htmx:afterSettle", () => note("answered"));
  document.addEventListener("DOMContentLoaded", () => note("answered"));
})()"""


@dataclass
class Stopwatch:
    page: Any
    took: dict[str, list[tuple[float, float | None]]] = field(default_factory=lambda: defaultdict(list))
    """By action: milliseconds until the answer, and until it was shown that work is in hand: None when the next picture
    of the page did not show it. In pictures and not in milliseconds, because a machine with other work may take its
    time with each."""

    async def time(self, action: str, act: Callable[[], Awaitable[Any]]) -> None:
        await self.page.evaluate("() => sessionStorage.removeItem('pace')")
        await act()
        await self.page.wait_for_function("() => JSON.parse(sessionStorage.pace || '{}').answered")
        seen = await self.page.evaluate("() => JSON.parse(sessionStorage.pace)")
        at_once = "shown" in seen and seen["shown"] <= seen.get("painted", float("inf"))
        shown = seen["shown"] - seen["pressed"] if at_once else None
        self.took[action].append((seen["answered"] - seen["pressed"], shown))

    def table(self) -> str:
        lines = ["| action | times | median | slowest | shown after |", "|---|---|---|---|---|"]
        for action, seen in self.took.items():
            took = sorted(answer for answer, _ in seen)
            shown = max((shown for _, shown in seen if shown is not None), default=float("nan"))
            lines.append(
                f"| {action} | {len(took)} | {took[len(took) // 2]:.0f} ms | {took[-1]:.0f} ms | {shown:.0f} ms |"
            )
        return "\n".join(lines)


def button(operator: Operator, name: str) -> Callable[[], Awaitable[Any]]:
    press: Callable[[], Awaitable[Any]] = operator.page.get_by_role("button", name=name, exact=True).click
    return press


async def timed(operator: Operator) -> Stopwatch:
    await operator.page.add_init_script(PROBE)
    return Stopwatch(operator.page)


async def in_the_window(watch: Stopwatch, anna: Operator, talk: Talk, model: SimulatorControl) -> None:
    job = await another(talk, model, "un", "deux")
    row = await anna.sees(job)
    await watch.time("hold", partial(anna.press, job, "Hold"))
    await watch.time("release", partial(anna.press, job, "Release"))
    await watch.time("open the edit", row.get_by_label("Edit").first.click)
    await row.get_by_label("Text of the bubble").fill("UN")
    await watch.time("save the edit", row.get_by_role("button", name="Save").click)
    await watch.time("move", row.get_by_label("Move up").first.click)
    await watch.time("drop", row.get_by_label("Drop").first.click)
    await model.script(bubbles("plus court"), done(), match=f"shorter {talk.marker}", task="reply")
    await row.get_by_text("Draft again…").click()
    await row.get_by_label("What to mind").fill(f"shorter {talk.marker}")
    await watch.time("draft again", row.get_by_role("button", name="Draft again", exact=True).click)
    await anna.row(job).get_by_text("plus court").wait_for()
    await watch.time("send now", partial(anna.press, job, "Send now"))
    second = await another(talk, model, "Encore")
    await anna.sees(second)
    await watch.time("cancel", partial(anna.press, second, "Cancel"))
    third = await another(talk, model, "Toujours")
    await anna.sees(third)
    await watch.time("take over", partial(anna.press, third, "Take over"))


async def on_the_list(watch: Stopwatch, anna: Operator, talk: Talk, model: SimulatorControl) -> None:
    asked, failing = talk.another(), talk.another()
    question = asked.say("attends, t'es un bot ?")["job"]
    asked.ended(question, "failed")
    await model.script(*[done("")] * 4, match=failing.marker, task="reply")
    empty = failing.say("tu m'envoies une photo ?")["job"]
    failing.ended(empty, "failed")
    await anna.go("/attention")
    await watch.time("send the ready answer", partial(anna.press, question, "Send this answer"))
    await watch.time("try again", partial(anna.press, empty, "Try again"))
    failing.ended(empty, "failed")
    await anna.go("/attention")
    await anna.row(empty).get_by_text("Dismiss…").click()
    await anna.row(empty).get_by_label("Reason").fill("by phone")
    await watch.time("dismiss", anna.row(empty).get_by_role("button", name="Dismiss", exact=True).click)


async def on_pages(watch: Stopwatch, anna: Operator, talk: Talk, model: SimulatorControl) -> None:
    talk.say("coucou")
    talk.call("POST", f"/v1/conversations/{talk.name}/takeover", status=200)
    await anna.go(f"/conversations/{talk.name}")
    await watch.time("give back", button(anna, "Give back to the AI"))
    await watch.time("take over a conversation", button(anna, "Take over"))
    await anna.go("/rules")
    await watch.time("dry run of a rule", button(anna, "Try it"))
    await model.script(bubbles("Coucou"), done(), match=f"play {talk.marker}", task="reply")
    await anna.go("/playground")
    await anna.page.get_by_label("Write as a contact").fill(f"play {talk.marker}")
    await watch.time("playground", button(anna, "Send"))


async def as_admin(watch: Stopwatch, admin: Operator) -> None:
    await admin.go("/agents?persona=maya")
    await admin.page.get_by_label("MaxIterations").fill("7")
    await watch.time("save a parameter", button(admin, "Save"))
    await admin.go("/dead-letters")
    await watch.time("try a dead letter again", admin.page.get_by_role("button", name="Try again").first.click)
    await admin.go("/queues")
    await watch.time("check-up", button(admin, "Look at everything"))


async def a_dead_letter(stack: Stack, talk: Talk, model: SimulatorControl) -> None:
    stack.receiver.answers[talk.name] = [400]
    await model.script(bubbles("Salut"), done(), match=talk.marker, task="reply")
    job = talk.say("coucou")["job"]
    talk.call("POST", f"/v1/jobs/{talk.reaches(job, 'held')['id']}/approve", status=200)
    talk.ended(job, "failed")


async def test_every_action_answers_soon_or_shows_that_it_works(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization(control_window_seconds=LONG)
    await a_dead_letter(stack, talk.another(), model)
    anna, admin = await sign_in(talk.org, "anna-p1"), await sign_in(talk.org)
    watch, other = await timed(anna), await timed(admin)
    await anna.go()
    for _ in range(4):
        await in_the_window(watch, anna, talk.another(), model)
    await on_the_list(watch, anna, talk, model)
    await on_pages(watch, anna, talk, model)
    await as_admin(other, admin)
    watch.took |= other.took
    sys.stdout.write(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n{watch.table()}\n")

    seen = [(action, *times) for action, found in watch.took.items() for times in found]
    assert [(action, took) for action, took, shown in seen if took > SOON_MS and shown is None] == []
    assert quantiles([took for action, took, _ in seen if action not in OTHERS], n=20)[-1] < LENIENT_MS


async def test_work_in_hand_is_seen_and_gone_with_its_answer(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization(control_window_seconds=LONG)
    anna = await sign_in(talk.org, "anna-p2")
    job = await another(talk, model, "Salut")
    await anna.sees(job)

    async def late(route: Any) -> None:
        await anna.page.wait_for_timeout(1500)
        await route.continue_()

    await anna.page.route("**/jobs/*/hold", late)
    await anna.press(job, "Hold")
    line = await anna.row(job).evaluate(
        "async row => { await new Promise(done => setTimeout(done, 400));"
        " const line = getComputedStyle(row, '::before');"
        " return [row.getAttribute('aria-busy'), line.content, line.opacity, line.height]; }"
    )
    await anna.row(job).get_by_text("On hold").wait_for()

    assert line == ["true", '""', "1", "3px"]
    assert await anna.page.locator("[aria-busy=true]").count() == 0
