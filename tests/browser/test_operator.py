"""An operator's day in the browser, against the running product and the simulated model."""

import asyncio
import re
from typing import Any

from tests.browser.conftest import SignIn
from tests.browser.operator import Operator
from tests.scripts import bubbles, call, done
from tests.stack import Stack, Talk, wait_until
from workers.simulator.control import SimulatorControl

LONG = 120
"""Seconds of a window in which a test has time to act."""


async def a_held_reply(stack: Stack, model: SimulatorControl, *texts: str, **persona: Any) -> tuple[Talk, str]:
    talk = stack.organization(**{"control_window_seconds": LONG, **persona})
    return talk, await another(talk, model, *texts)


async def another(talk: Talk, model: SimulatorControl, *texts: str) -> str:
    await model.script(bubbles(*texts), done(), match=talk.marker, task="reply")
    return str(talk.say("coucou, tu fais quoi ?")["job"])


async def test_somebody_signs_in_under_a_one_time_link_and_then_by_password(browser: Any, stack: Stack) -> None:
    talk = stack.organization()
    wanted = {"name": "zoe", "email": "zoe@acme.example", "organization": talk.org}
    link = stack.call("POST", "/v1/users", json=wanted, status=201)["link"]["url"]
    page = await (await browser.new_context(locale="fr-FR")).new_page()

    await page.goto(link)
    for label in ("Mot de passe, 12 caractères ou plus", "Le même encore une fois"):
        await page.get_by_label(label).fill("une phrase assez courte")
    await page.get_by_role("button", name="Enregistrer et se connecter").click()
    await page.get_by_role("heading", name="Window").wait_for()  # her own language is English, whatever the browser's
    await page.locator("summary", has_text="zoe").click()
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_label("E-mail").fill("zoe@acme.example")
    await page.get_by_label("Mot de passe").fill("une phrase assez courte")
    await page.locator("main > form button").click()

    await page.get_by_role("heading", name="Window").wait_for()


async def test_a_held_reply_appears_by_itself_is_edited_and_leaves_as_edited(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization(control_window_seconds=LONG)
    anna = await sign_in(talk.org, "anna-1")
    await anna.page.get_by_text("Nothing waits here").wait_for()

    job = await another(talk, model, "Salut Léo", "À demain")
    row = await anna.sees(job)
    await anna.key(job, "e")
    await row.get_by_label("Text of the bubble").fill("Salut Léo, content de te lire !")
    await row.get_by_role("button", name="Save").click()
    await row.get_by_text("content de te lire").wait_for()
    await anna.press(job, "Send now")
    talk.ended(job)

    assert talk.texts() == ["Salut Léo, content de te lire !", "À demain"]
    await row.wait_for(state="detached")


async def test_bubbles_are_moved_and_dropped(stack: Stack, model: SimulatorControl, sign_in: SignIn) -> None:
    talk, job = await a_held_reply(stack, model, "un", "deux", "trois")
    anna = await sign_in(talk.org, "anna-2")
    row = await anna.sees(job)

    await row.locator("li", has_text="trois").get_by_label("Move up").click()
    await row.locator("li:nth-child(2)", has_text="trois").wait_for()
    await row.locator("li", has_text="un").get_by_label("Drop").click()
    await row.locator("li", has_text="un").wait_for(state="detached")
    await anna.press(job, "Send now")
    talk.ended(job)

    assert talk.texts() == ["trois", "deux"]


async def test_hold_release_cancel_and_take_over_by_keys(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    anna = await sign_in(talk.org, "anna-3")
    row = await anna.sees(job)

    await anna.page.keyboard.press("j")
    await anna.page.keyboard.press("h")
    await row.get_by_text("On hold").wait_for()
    held = talk.job(job)["on_hold"]
    await anna.key(job, "h")
    await row.get_by_role("timer").wait_for()
    released = talk.job(job)["on_hold"]
    await anna.key(job, "x")
    await row.wait_for(state="detached")
    cancelled = talk.job(job)["state"]
    second = await another(talk, model, "Encore")
    await anna.sees(second)
    await anna.key(second, "t")
    await anna.row(second).wait_for(state="detached")
    shown = talk.call("GET", f"/v1/conversations/{talk.name}", status=200)

    assert (held, released, cancelled, talk.job(second)["state"]) == (True, False, "cancelled", "cancelled")
    assert (shown["handled_by"], shown["by"], talk.texts()) == ("human", "anna-3", [])


async def test_a_reply_is_drafted_again_with_an_instruction(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    anna = await sign_in(talk.org, "anna-4")
    row = await anna.sees(job)
    await model.script(bubbles("Plus court"), done(), match="shorter please", task="reply")

    await row.get_by_text("Draft again…").click()
    await row.get_by_label("What to mind").fill("shorter please")
    await row.get_by_role("button", name="Draft again", exact=True).click()
    await anna.row(job).get_by_text("Plus court").wait_for()

    assert talk.job(job)["instruction"] == "shorter please"


async def test_a_menu_that_is_open_stays_so_when_somebody_else_acts(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    talk.reaches(job, "held")
    anna = await sign_in(talk.org, "anna-16")
    row = await anna.sees(job)
    await row.get_by_text("Draft again…").click()
    await row.get_by_label("What to mind").fill("shorter")
    await row.get_by_label("What to mind").blur()

    talk.call("POST", f"/v1/jobs/{job}/hold", status=200)
    await row.get_by_text("On hold").wait_for()

    assert await row.get_by_label("What to mind").is_visible()
    assert await row.get_by_label("What to mind").input_value() == "shorter"


async def test_an_answer_that_was_asked_for_before_an_edit_began_does_not_take_it_away(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    talk.reaches(job, "held")
    anna = await sign_in(talk.org, "anna-17")
    row = await anna.sees(job)
    asked = asyncio.Event()

    async def late(route: Any) -> None:
        asked.set()
        await anna.page.wait_for_timeout(1000)
        await route.continue_()

    await anna.page.route("**/window/rows*", late)
    talk.call("POST", f"/v1/jobs/{job}/hold", status=200)
    await asyncio.wait_for(asked.wait(), 20)
    await anna.key(job, "e")
    await row.get_by_label("Text of the bubble").fill("Bonjour")
    await anna.page.wait_for_timeout(1500)
    await row.get_by_role("button", name="Save").click()
    await row.get_by_text("Bonjour").wait_for()

    assert await row.get_by_text("On hold").is_visible()


async def test_a_second_operator_who_is_late_is_told_who_when_and_what(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    anna, bob = await sign_in(talk.org, "anna-5"), await sign_in(talk.org, "bob-5")
    await anna.sees(job)
    await bob.sees(job)
    await bob.page.evaluate("document.body.removeAttribute('data-live')")
    await bob.page.route("**/window/rows*", lambda route: route.abort())  # Bob's page has not heard of it yet

    await anna.press(job, "Cancel")
    await anna.row(job).wait_for(state="detached")
    await bob.press(job, "Send now")
    told = await bob.told(job)

    assert re.fullmatch(r"Too late: anna-5 was faster, at \d\d:\d\d:\d\d; it is cancelled\. What you .*", told)
    assert talk.texts() == []


async def test_two_operators_see_each_others_actions(stack: Stack, model: SimulatorControl, sign_in: SignIn) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    anna, bob = await sign_in(talk.org, "anna-6"), await sign_in(talk.org, "bob-6")
    await anna.sees(job)
    await bob.sees(job)

    await anna.press(job, "Hold")
    await bob.row(job).get_by_text("On hold").wait_for()
    await bob.press(job, "Release")
    await anna.row(job).get_by_role("timer").wait_for()
    await anna.key(job, "e")
    await anna.row(job).get_by_label("Text of the bubble").fill("Bonjour")
    await anna.row(job).get_by_role("button", name="Save").click()

    await bob.row(job).get_by_text("Bonjour").wait_for()


async def test_countdowns_agree_with_the_server_whatever_the_clock_of_the_desk(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut", control_window_seconds=90)
    talk.reaches(job, "held")
    anna = await sign_in(talk.org, "anna-7")
    await anna.page.add_init_script("const real = Date.now; Date.now = () => real() + 3600000")
    await anna.go()
    row = await anna.sees(job)

    await row.locator(".count", has_text=re.compile(r"^(1:\d\d|\d\d? s)$")).wait_for()
    shown = await row.locator(".count").inner_text()
    seconds = 60 + int(shown[2:]) if shown.startswith("1:") else int(shown[:-2])

    assert 20 < seconds <= 90


async def a_voice(talk: Talk, model: SimulatorControl, anna: Operator, text: str) -> Any:
    """The player of a voice bubble that has left."""
    voice: dict[str, Any] = {"calls": [call("send_vocal", text=text)]}
    await model.script(voice, done(), match=talk.marker, task="reply")
    talk.ended(talk.say("un vocal ?")["job"], seconds=60)
    await anna.go(f"/conversations/{talk.name}")
    player = anna.page.locator("#conversation audio")
    await player.wait_for()
    return player


async def play(anna: Operator) -> None:
    await anna.page.evaluate("() => document.querySelector('#conversation audio').play()")
    await anna.page.wait_for_function("() => document.querySelector('#conversation audio').currentTime > 0.3")


async def test_a_voice_bubble_is_listened_to(stack: Stack, model: SimulatorControl, sign_in: SignIn) -> None:
    talk = stack.organization()
    anna = await sign_in(talk.org, "anna-8")
    player = await a_voice(talk, model, anna, "Coucou Léo, je te réponds de vive voix.")

    await play(anna)

    assert await player.evaluate("sound => sound.duration > 1 && sound.error === null")


async def test_a_voice_plays_on_when_something_comes_which_is_shown_after_it(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization()
    anna = await sign_in(talk.org, "anna-19")
    player = await a_voice(talk, model, anna, "Coucou Léo, " + "je te raconte toute la rando, " * 12)
    asked, heard = asyncio.Event(), asyncio.Event()

    async def late(route: Any) -> None:
        asked.set()
        await heard.wait()
        await route.continue_()

    await anna.page.route("**/part", late)
    talk.call("POST", f"/v1/conversations/{talk.name}/takeover", status=200)
    await asyncio.wait_for(asked.wait(), 30)
    await play(anna)
    async with anna.page.expect_response("**/part"):
        heard.set()
    await anna.page.wait_for_timeout(300)
    goes_on = await player.evaluate("sound => !sound.paused && sound.currentTime > 0.3")
    await player.evaluate("sound => sound.pause()")

    assert goes_on
    await anna.page.get_by_text("A person answers").wait_for()


async def test_an_attention_item_is_answered_and_another_dismissed(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization()
    asked = talk.say("attends, t'es un bot ?")["job"]
    talk.ended(asked, "failed")
    failing = talk.another()
    await model.script(done(""), done(""), match=failing.marker, task="reply")
    empty = failing.say("tu m'envoies une photo ?")["job"]
    failing.ended(empty, "failed")
    anna = await sign_in(talk.org, "anna-9")
    await anna.go("/attention")

    row = await anna.sees(asked)
    await row.get_by_text("The contact asks whether a machine writes.").wait_for()
    await anna.press(asked, "Send this answer")
    talk.ended(asked)
    await (await anna.sees(empty)).get_by_text("Dismiss…").click()
    await anna.row(empty).get_by_role("button", name="Dismiss", exact=True).click()
    nothing = await anna.told(empty)
    await anna.row(empty).get_by_text("Dismiss…").click()
    await anna.row(empty).get_by_label("Reason").fill("answered by phone")
    await anna.row(empty).get_by_role("button", name="Dismiss", exact=True).click()
    await anna.page.get_by_text("Nobody needs you now").wait_for()

    assert "IA" in talk.texts()[0]
    assert "say why" in nothing
    assert failing.job(empty)["attention"] is False


async def test_a_dead_letter_is_run_again(stack: Stack, model: SimulatorControl, sign_in: SignIn) -> None:
    talk = stack.organization()
    stack.receiver.answers[talk.name] = [400]
    await model.script(bubbles("Salut"), done(), match=talk.marker, task="reply")
    job = talk.say("coucou")["job"]
    talk.ended(job, "failed")
    ops = await sign_in(talk.org)
    await ops.go("/dead-letters")

    await ops.page.get_by_text("The delivery was given up").wait_for()
    await ops.page.get_by_role("button", name="Try again").click()
    await ops.page.get_by_text("No dead letters").wait_for()
    talk.ended(job)

    assert talk.texts() == ["Salut"]


async def test_a_changed_parameter_is_obeyed_by_the_next_run(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization()
    admin = await sign_in(talk.org)
    await admin.go("/agents?persona=maya")

    field = admin.page.get_by_label("MaxIterations")
    await field.fill("51")
    await admin.page.get_by_role("button", name="Save").click()
    refused = await admin.page.locator(".told.bad").inner_text()
    await field.fill("1")
    await admin.page.get_by_role("button", name="Save").click()
    await admin.page.get_by_text("Saved. The next run obeys.").wait_for()
    await admin.page.locator("aside", has_text="MaxIterations").get_by_text("– → 1").wait_for()
    await model.script(bubbles("un"), bubbles("deux"), done(), match=talk.marker, task="reply")
    job = talk.ended(talk.say("coucou")["job"], "failed")

    assert "MaxIterations: from 1 to 50" in refused
    assert job["code"] == "AR-550"


async def test_two_administrators_do_not_overwrite_each_other(stack: Stack, sign_in: SignIn) -> None:
    talk = stack.organization()
    one, other = await sign_in(talk.org), await sign_in(talk.org)
    for admin in (one, other):
        await admin.go("/agents?persona=maya")
    await one.page.get_by_label("MaxIterations").fill("7")
    await one.page.get_by_role("button", name="Save").click()
    await one.page.get_by_text("Saved.").wait_for()

    await other.page.get_by_label("TimeoutSeconds").fill("60")
    await other.page.get_by_role("button", name="Save").click()

    assert re.match(r"bootstrap has changed this at \d", await other.page.locator(".told.bad").inner_text())
    assert await other.page.get_by_label("TimeoutSeconds").input_value() == "60"


async def test_a_rule_is_tried_on_replies_of_the_past(stack: Stack, model: SimulatorControl, sign_in: SignIn) -> None:
    talk = stack.organization()
    await model.script(bubbles("Salut"), done(), match=talk.marker, task="reply")
    talk.ended(talk.say("combien ça coûte ?")["job"])
    anna = await sign_in(talk.org, "anna-10")
    await anna.go("/rules")

    draft = anna.page.get_by_label("Draft (YAML)")
    await draft.fill("when: message.txt == 1\nthen:\n  inject: x")
    await anna.page.get_by_role("button", name="Try it").click()
    refused = await anna.page.locator(".told.bad").inner_text()
    await draft.fill('when: message.text.contains("combien")\nthen:\n  inject: Say the price.')
    await anna.page.get_by_role("button", name="Try it").click()
    await anna.page.get_by_text("1 reply looked at").wait_for()

    assert "txt" in refused
    assert await anna.page.locator("#found li .chip").inner_text() == "draft: applied"


async def test_a_trace_is_read_on_one_page(stack: Stack, model: SimulatorControl, sign_in: SignIn) -> None:
    talk, job = await a_held_reply(stack, model, "Salut Léo")
    talk.reaches(job, "held")
    anna = await sign_in(talk.org, "anna-11")
    row = await anna.sees(job)

    await row.get_by_role("link", name="Trace").click()
    trace = await anna.page.locator("ol.trace").inner_text()

    assert [
        word for word in ("send_message", "Salut Léo", "claude-haiku", "from the cache", "review") if word not in trace
    ] == []
    assert "The reply waits in its window." in await anna.page.locator("aside").inner_text()


async def test_a_conversation_is_taken_over_and_given_back_and_shows_what_comes(stack: Stack, sign_in: SignIn) -> None:
    talk = stack.organization(control_window_seconds=LONG)
    talk.ended(talk.say("attends, t'es un bot ?")["job"], "failed")
    anna = await sign_in(talk.org, "anna-12")
    await anna.go(f"/conversations/{talk.name}")

    await anna.page.get_by_role("button", name="Take over").click()
    await anna.page.get_by_text("A person answers · anna-12").wait_for()
    talk.say("tu es là ?")
    await anna.page.locator("ol.history").get_by_text("tu es là ?").wait_for()
    talk.say("C'est Anna, oui !", author="operator")  # until a person has answered the question, it waits for one
    await anna.page.locator("ol.history").get_by_text("C'est Anna, oui !").wait_for()
    await anna.page.get_by_role("button", name="Give back to the AI").click()

    await anna.page.get_by_text("The AI answers", exact=True).wait_for()


async def test_drafts_that_were_not_sent_are_unfolded_by_key_and_stay_so_when_something_comes(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut Léo")
    talk.reaches(job, "held")
    talk.call("POST", f"/v1/jobs/{job}/cancel", status=200)
    talk.call("POST", f"/v1/conversations/{talk.name}/takeover", status=200)
    anna = await sign_in(talk.org, "anna-18")
    await anna.go(f"/conversations/{talk.name}")
    draft = anna.page.locator(".drafts").get_by_text("Salut Léo")
    folded = await draft.is_hidden()

    await anna.page.locator("#withdrawn").focus()
    await anna.page.keyboard.press("Enter")
    await draft.wait_for()
    talk.say("tu es là ?")
    await anna.page.locator("ol.history").get_by_text("tu es là ?").wait_for()

    assert (folded, await draft.is_visible()) == (True, True)
    assert await anna.page.evaluate("document.activeElement.id") == "withdrawn"


async def test_a_persona_is_talked_to_and_nothing_is_sent(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization()
    await model.script(bubbles("Je pars en rando !"), done(), match="§play§", task="reply")
    anna = await sign_in(talk.org, "anna-13")
    await anna.go("/playground")

    await anna.page.get_by_label("Write as a contact").fill("tu fais quoi ? §play§")
    await anna.page.get_by_role("button", name="Send").click()
    await anna.page.locator("ol.history").get_by_text("Je pars en rando !").wait_for()
    costs = stack.call("GET", "/v1/jobs", headers={"x-organization": talk.org}, status=200)["items"]
    await anna.go("/costs")

    assert (costs, stack.receiver.of(talk.name)) == ([], [])
    calls = anna.page.locator(".tile", has=anna.page.get_by_role("heading", name="Calls", exact=True))
    assert int(await calls.locator(".big").inner_text()) >= 2


async def test_who_is_signed_out_elsewhere_is_led_to_the_door(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    anna = await sign_in(talk.org, "anna-14")
    await anna.sees(job)
    keys = stack.call("GET", "/v1/keys", status=200)["items"]
    mine = next(key["id"] for key in keys if key["name"] == "anna-14")
    stack.call("DELETE", f"/v1/keys/{mine}", status=200)

    await anna.press(job, "Send now")
    await anna.page.wait_for_url("**/console/sign-in")

    assert talk.job(job)["state"] == "held"


async def test_the_help_opens_with_a_question_mark_and_focus_can_be_seen(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    anna: Operator = await sign_in(talk.org, "anna-15")
    await anna.sees(job)

    await anna.page.keyboard.press("?")
    await anna.page.get_by_role("dialog").get_by_text("Hold, or let it run again").wait_for()
    await anna.page.keyboard.press("Escape")
    await anna.page.keyboard.press("j")
    seen = "id => getComputedStyle(document.getElementById(id)).outlineStyle === 'solid'"
    await anna.page.wait_for_function(seen, arg=job)

    wait_until(lambda: talk.job(job)["state"] == "held", 1, "nothing was pressed by it")
