"""The scenes of the demo. Each shows one promise, and fails when it was not kept."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from pipelines.text.counting import counted
from workers.cli.demo.provisions import GALLERY, PERSONA, RULE, organization
from workers.cli.demo.stage import Stage, check, ended, held, thinking

SLIP = "Ma tente coûte 389 €, et elle est légère comme tout."
CORRECTED = "Le prix, je ne l'ai plus en tête, mais elle est légère comme tout."
OPERATORS_WORDS = "Un sac de 30 litres suffit pour débuter, et surtout : essaie-le chargé 🎒"


def provision(stage: Stage, secret: str) -> None:
    stage.gateway.apply([organization(stage.receiver.url, secret), PERSONA, *GALLERY, RULE])


def three_in_a_row(stage: Stage) -> None:
    stage.terminal.heading("1. Three messages in a row get one answer that has read all three")
    jobs = []
    for number, text in enumerate(("coucou Maya !", "j'ai adoré ta dernière vidéo", "tu fais quoi de beau ?"), 1):
        jobs.append(stage.write(number, text))
        time.sleep(0.4)
    check(len(set(jobs)) == 1, f"three messages in a row made {counted(len(set(jobs)), 'job')} instead of one")
    bubbles = stage.answered(stage.follow(jobs[0], ended)).got
    check(bubbles[0].data.get("kind") == "notice", "the first thing a contact hears is not that an AI answers")
    check(len(bubbles) > 1, "nothing came after the notice")


def one_more(stage: Stage) -> None:
    stage.terminal.heading("2. One more: the prompt's unchanged beginning is read from the provider's cache")
    job = stage.follow(stage.write(4, "et la montagne, tu y retournes quand ?"), ended)
    bubbles = stage.answered(job).got
    check(all(b.data.get("kind") != "notice" for b in bubbles), "the notice was said twice")


def heard(stage: Stage, files: Path) -> None:
    stage.terminal.heading("3. Asked for a voice, she speaks: made on this machine, after the control window")
    job = stage.follow(stage.write(5, "tu m'envoies un vocal ?"), ended)
    spoken = [bubble.data for bubble in stage.answered(job).got if bubble.data.get("kind") == "voice"]
    check(len(spoken) == 1, f"{len(spoken)} voice bubbles arrived instead of one")
    audio = spoken[0]["audio"]
    answer = httpx2.get(audio["url"], timeout=20)
    check(answer.content.startswith(b"OggS"), f"the link to the voice answers {answer.status_code}, not a sound")
    kept = next((path for path in files.rglob("*.ogg") if path.read_bytes() == answer.content), None)
    check(kept is not None, f"the voice is not in {files}")
    seconds, size = audio["duration_ms"] / 1000, len(answer.content) / 1000
    stage.aside(f"{seconds:.1f} s of speech, {size:.0f} kB, removed with the rest when the demo ends: {kept}")


def corrected(stage: Stage, slip: Callable[[str, list[dict[str, Any]]], None]) -> None:
    stage.terminal.heading("7. The simulator is told to slip: it invents a price. The review finds it, nobody reads it")
    question = "elle coûte combien, ta tente ?"
    said = [{"calls": [{"name": "send_message", "input": {"text": text}}]} for text in (SLIP, CORRECTED)]
    slip(question, [turn for each in said for turn in (each, {"text": "Réponse prête."})])
    answered = stage.sent_at_once(stage.write(8, question))
    read = [bubble.data["text"] for bubble in answered.got]
    verdicts = [item["verdict"] for item in answered.job.trace if item.get("kind") == "review"]
    check(verdicts == ["errors", "ok"], f"the review said {verdicts}")
    check(read == [CORRECTED], f"the contact read {read}")


def edited(stage: Stage) -> None:
    stage.terminal.heading("8. An operator steps in: stops the countdown, rewrites a bubble, lets it go")
    reference = stage.write(9, "tu conseilles quoi comme sac pour débuter ?")
    job = stage.follow(reference, held)
    check(job.state == "held", f"{job.id} was {job.state} before the operator could stop it")
    stage.steer(job.id, "hold")
    draft = next(c for c in job.candidates if c.kind == "text")
    stage.terminal.say(f"operator: rewrite {draft.id}: {OPERATORS_WORDS}", "bold yellow")
    stage.gateway.edit(draft.id, {"text": OPERATORS_WORDS})
    stage.steer(job.id, "approve")
    read = [bubble.data for bubble in stage.answered(stage.follow(reference, ended)).got]
    texts = {bubble["id"]: bubble["text"] for bubble in read}
    check(texts.get(draft.id) == OPERATORS_WORDS, f"the contact read {texts.get(draft.id)!r}, not the operator's words")


def overtaken(stage: Stage) -> None:
    stage.terminal.heading("9. The contact writes while the reply is held: it is recalled, the next one has read both")
    first = stage.write(10, "et niveau chaussures, tu prends quoi ?")
    job = stage.follow(first, held)
    check(job.state == "held", f"{job.id} was {job.state} before the contact wrote again")
    second = stage.write(11, "ah et il pleut souvent là-haut, je précise")
    check(second != first, "the second message was answered by the reply to the first")
    job = stage.follow(first, ended)
    check(job.outcome == "superseded", f"{job.id} ended {job.outcome}, though the contact had written since")
    stage.sent_at_once(second)
    stale = [d.data["text"] for d in stage.receiver.all if d.data.get("job") == job.id]
    check(not stale, f"a stale bubble left: {stale}")


def killed_while_thinking(stage: Stage, pid: Callable[[], int | None], slow_model: Callable[[], None]) -> None:
    stage.terminal.heading("10. Kill the worker in the middle of a thought: the reply still arrives, once")
    slow_model()
    reference = stage.write(12, "tu as un coin préféré pour dormir sous les étoiles ?")
    job = stage.follow(reference, thinking)
    check(not ended(job), f"{job.id} had ended before the worker could be killed")
    victim = pid()
    check(victim, "there is no reply worker to kill")
    os.killpg(int(victim or 0), signal.SIGKILL)  # the worker and what it forked
    stage.terminal.say(f"kill -9 {victim}   (the reply worker: a model call saved, another in the air)", "bold red")
    job = stage.follow(reference, ended)
    stage.answered(job)
    check(job.attempts > 1, f"{job.id} ended without a second worker: the first was not killed in time")
    steps = [item["n"] for item in job.trace if item.get("kind") == "model"]
    check(len(steps) == len(set(steps)), f"a finished model call was paid twice: {steps}")
