"""What operations and administrators do in the browser: dead letters in bulk, rules and media that are turned off."""

from tests.browser.conftest import SignIn
from tests.browser.test_operator import a_held_reply
from tests.scripts import bubbles, call, done, heard
from tests.stack import Stack, Talk
from workers.simulator.control import SimulatorControl

# In one turn: a row that is told of what happened before is swapped, and has its own token again.
FORGE = """job => {
  const row = document.getElementById(job);
  row.querySelector("[name=csrf]").value = "0".repeat(64);
  [...row.querySelectorAll("button")].find(one => one.textContent.trim() === "Send now").click();
}"""


async def given_up(talk: Talk, model: SimulatorControl) -> str:
    """A reply that its receiver refused: a dead letter."""
    talk.stack.receiver.answers[talk.name] = [400]
    await model.script(bubbles("Salut"), done(), match=talk.marker, task="reply")
    job = str(talk.say("coucou")["job"])
    talk.ended(job, "failed")
    return job


async def test_all_dead_letters_of_a_code_are_run_again_after_a_question(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    first = stack.organization()
    talks = [first, first.another()]
    jobs = [await given_up(talk, model) for talk in talks]
    ops = await sign_in(first.org)
    await ops.go("/dead-letters")

    await ops.page.get_by_label("Code").select_option("AR-571")
    await ops.page.get_by_role("button", name="Narrow").click()
    await ops.page.get_by_text("No dead letters").wait_for()
    await ops.page.get_by_label("Code").select_option("AR-560")
    await ops.page.get_by_role("button", name="Narrow").click()
    await ops.page.get_by_role("button", name="Try all of these again…").click()
    await ops.page.get_by_text("2 dead letters", exact=True).wait_for()
    untouched = [talk.job(job)["state"] for talk, job in zip(talks, jobs, strict=True)]
    await ops.page.get_by_role("button", name="Try all again").click()
    await ops.page.get_by_text("2 run again.").wait_for()
    for talk, job in zip(talks, jobs, strict=True):
        talk.ended(job)

    assert untouched == ["failed", "failed"]
    assert [talk.texts() for talk in talks] == [["Salut"], ["Salut"]]


async def test_a_dead_letter_is_removed_with_a_second_press(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization()
    await given_up(talk, model)
    ops = await sign_in(talk.org)
    await ops.go("/dead-letters")

    await ops.page.get_by_text("Remove…", exact=True).click()
    await ops.page.get_by_role("button", name="Remove", exact=True).click()
    await ops.page.get_by_text("No dead letters").wait_for()
    await ops.page.get_by_role("link", name="Removed").click()

    assert await ops.page.locator("article").count() == 1
    assert talk.texts() == []


async def test_a_rule_that_is_turned_off_is_not_obeyed_by_the_next_run(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization()
    rule = {"kind": "Rule", "name": "calm", "when": "true", "then": {"inject": "§stay calm§"}}
    talk.call("POST", "/v1/apply", json={"resources": [rule]}, status=200)
    admin = await sign_in(talk.org)
    await admin.go("/rules")

    asked = []
    for button, other in (("Turn off", "Turn on"), ("Turn on", "Turn off")):
        await admin.page.get_by_role("button", name=button).click()
        await admin.page.get_by_role("button", name=other).wait_for()
        one = talk.another()
        await model.script(bubbles("Salut"), done(), match=one.marker, task="reply")
        one.ended(one.say("coucou")["job"])
        asked.append("§stay calm§" in (await heard(model, one.marker))[0].body)

    assert asked == [False, True]


async def test_a_photo_that_is_withdrawn_while_it_waits_does_not_leave(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk = stack.organization(control_window_seconds=120)
    photo = {
        "kind": "MediaItem", "name": f"hut-{talk.name}", "persona": "maya", "type": "photo",
        "url": "https://cdn.example/hut.jpg", "description": "le refuge",
        "consent_record": {"owner": "Maya", "given_at": "2026-01-05T10:00:00+01:00"},
    }  # fmt: skip
    talk.call("POST", "/v1/apply", json={"resources": [photo]}, status=200)
    look, show = call("get_media", kind="free"), call("send_image", media_id=photo["name"])
    await model.script({"calls": [look]}, {"calls": [show]}, done(), match=talk.marker, task="reply")
    job = talk.say("une photo du refuge ?")["job"]
    talk.reaches(job, "held")
    anna = await sign_in(talk.org, "anna-o1")
    await anna.go("/personas/maya")

    await anna.page.get_by_role("button", name=f"Withdraw: {photo['name']}").click()
    await anna.page.get_by_role("button", name=f"Bring back: {photo['name']}").wait_for()
    await anna.go()
    await anna.press(job, "Send now")
    await anna.row(job).get_by_text("A photo or video can no longer be sent.").wait_for()

    assert talk.texts() == []


async def test_the_key_of_an_app_opens_nothing_and_a_forged_form_does_nothing(
    stack: Stack, model: SimulatorControl, sign_in: SignIn
) -> None:
    talk, job = await a_held_reply(stack, model, "Salut")
    talk.reaches(job, "held")
    anna = await sign_in(talk.org, "anna-o2")
    await anna.sees(job)
    await anna.page.evaluate(FORGE, job)
    await anna.page.get_by_text("This form has expired").wait_for()
    app = stack.call("POST", "/v1/keys", json={"role": "app", "organization": talk.org}, status=201)["key"]
    other = await (await anna.page.context.browser.new_context(locale="en-GB")).new_page()
    await other.goto(f"{stack.url}/console/sign-in")
    await other.get_by_text("Sign in with a key").click()
    await other.get_by_label("Key", exact=True).fill(app)
    await other.locator("details").get_by_role("button", name="Sign in").click()

    await other.get_by_text("apps do not sign in here").wait_for()
    assert talk.job(job)["state"] == "held"


async def test_a_refusal_is_said_in_the_visitors_language(stack: Stack, sign_in: SignIn) -> None:
    talk = stack.organization()
    admin = await sign_in(talk.org)
    await admin.page.locator("summary", has_text="bootstrap").click()
    await admin.page.get_by_role("button", name="Français").click()
    await admin.go("/rules")

    await admin.page.get_by_label("Brouillon (YAML)").fill("when: message.txt == 1\nthen:\n  inject: x")
    await admin.page.get_by_role("button", name="Essayer").click()
    refused = await admin.page.locator(".told.bad").inner_text()

    assert "ligne 1, colonne 1 : message n'a pas de champ txt ; il a" in refused or "n'a pas de champ" in refused
