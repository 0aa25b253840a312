"""Many windows of one browser, which gives a host six connections: they share one stream."""

from tests.browser.conftest import SignIn
from tests.browser.operator import PATIENCE, Operator
from tests.browser.test_operator import LONG, a_held_reply, another
from tests.stack import Stack, is_ready, wait_until
from workers.simulator.control import SimulatorControl

WINDOWS = 8


async def beside(anna: Operator, count: int) -> list[Operator]:
    """`count` windows of Anna's browser, hers among them, each with the window page open and live."""
    found = [anna]
    for _ in range(count - 1):
        found.append(Operator(await anna.page.context.new_page(), anna.url))
        await found[-1].go()
    for one in found:
        await one.page.locator(".is-live").wait_for(state="attached")
    return found


async def test_eight_windows_are_live_and_each_can_act(stack: Stack, model: SimulatorControl, sign_in: SignIn) -> None:
    talk = stack.organization(control_window_seconds=LONG)
    anna = await sign_in(talk.org, "anna-w1")
    asked: list[str] = []
    anna.page.context.on("request", lambda request: asked.append(request.url))
    windows = await beside(anna, WINDOWS)

    job = await another(talk, model, "Salut")
    for one in windows:
        await one.sees(job)
    for n, one in enumerate(windows):
        await one.press(job, ("Hold", "Release")[n % 2])
        expected = one.row(job).get_by_text("On hold") if n % 2 == 0 else one.row(job).get_by_role("timer")
        await expected.wait_for()
        other = windows[n - 1]
        await (other.row(job).get_by_text("On hold") if n % 2 == 0 else other.row(job).get_by_role("timer")).wait_for()

    assert [one.faults for one in windows] == [[]] * WINDOWS
    assert [url for url in asked if url.endswith("/console/live")] == []  # theirs is the worker's


async def test_a_window_that_comes_later_hears_what_happens_and_the_first_may_go(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    first, second = await beside(await sign_in(talk.org, "anna-w2"), 2)
    await second.sees(job)

    await first.page.close()
    later = await another(talk.another(), model, "Bonsoir")
    await second.sees(later)

    assert second.faults == []


async def test_without_a_shared_worker_a_page_listens_by_itself(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization(control_window_seconds=LONG)
    anna = await sign_in(talk.org, "anna-w3")
    await anna.page.add_init_script("delete window.SharedWorker")
    await anna.go()
    asked = anna.page.expect_event("request", lambda request: request.url.endswith("/console/live"), timeout=PATIENCE)
    async with asked:
        await anna.page.reload()

    await anna.sees(await another(talk, model, "Salut"))


async def test_the_stream_comes_back_when_the_gateway_was_away(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization(control_window_seconds=LONG)
    anna = await sign_in(talk.org, "anna-w4")
    await anna.page.locator(".is-live").wait_for(state="attached")

    stack.stop("gateway")
    await anna.page.locator(".is-lost").wait_for(state="attached")
    stack.start("gateway", "gateway", "--port", stack.url.rpartition(":")[2])
    wait_until(lambda: is_ready(stack), 180, "the gateway to be ready")
    await anna.page.locator(".is-live").wait_for(state="attached")

    await anna.sees(await another(talk, model, "Salut"))
