"""The scenes of the demo. Each shows one promise, and fails when it was not kept."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from schemas.http import JobOut
from workers.cli.demo.receiver import Delivery
from workers.cli.demo.stage import Stage, check, ended, held, thinking

PERSONA: dict[str, Any] = {
    "kind": "Persona",
    "name": "maya",
    "display_name": "Maya",
    "language": "fr",
    "timezone": "Europe/Paris",
    "tone": "chaleureuse, spontanée, tutoie",
    "instructions": "Maya crée des vidéos de randonnée et de voyage. Elle répond à ses fans en phrases courtes.",
    "control_window_seconds": 4,
    "debounce": {"quiet_seconds": 1.5, "max_wait_seconds": 10},
    "pacing": {"base_ms": 400, "per_char_ms": 10},
}

OPERATORS_WORDS = "Un sac de 30 litres suffit pour débuter, et surtout : essaie-le chargé 🎒"


def provision(stage: Stage, secret: str) -> None:
    organization = {
        "kind": "Organization",
        "name": "demo",
        "locale": "fr",
        "timezone": "Europe/Paris",
        "country": "FR",
        "webhook": {"url": stage.receiver.url, "secret": secret},
    }
    stage.gateway.apply([organization, PERSONA])


def three_in_a_row(stage: Stage) -> None:
    stage.terminal.heading("1. Three messages in a row get one answer that has read all three")
    jobs = []
    for number, text in enumerate(("coucou Maya !", "j'ai adoré ta dernière vidéo", "tu fais quoi de beau ?"), 1):
        jobs.append(stage.write(number, text))
        time.sleep(0.4)
    check(len(set(jobs)) == 1, f"three messages in a row made {len(set(jobs))} jobs instead of one")
    bubbles = _answered(stage, stage.follow(jobs[0], ended))
    check(bubbles[0].data.get("kind") == "notice", "the first thing a contact hears is not that an AI answers")
    check(len(bubbles) > 1, "nothing came after the notice")


def one_more(stage: Stage) -> None:
    stage.terminal.heading("2. One more: the prompt's unchanged beginning is read from the provider's cache")
    job = stage.follow(stage.write(4, "et la montagne, tu y retournes quand ?"), ended)
    bubbles = _answered(stage, job)
    check(all(b.data.get("kind") != "notice" for b in bubbles), "the notice was said twice")


def heard(stage: Stage, files: Path) -> None:
    stage.terminal.heading("3. Asked for a voice, she speaks: made on this machine, after the control window")
    job = stage.follow(stage.write(5, "tu m'envoies un vocal ?"), ended)
    spoken = [bubble.data for bubble in _answered(stage, job) if bubble.data.get("kind") == "voice"]
    check(len(spoken) == 1, f"{len(spoken)} voice bubbles arrived instead of one")
    audio = spoken[0]["audio"]
    answer = httpx2.get(audio["url"], timeout=20)
    check(answer.content.startswith(b"OggS"), f"the link to the voice answers {answer.status_code}, not a sound")
    kept = next((path for path in files.rglob("*.ogg") if path.read_bytes() == answer.content), None)
    check(kept is not None, f"the voice is not in {files}")
    seconds, size = audio["duration_ms"] / 1000, len(answer.content) / 1000
    stage.terminal.say(f"  {seconds:.1f} s of speech, {size:.0f} kB: {kept}", "dim")


def edited(stage: Stage) -> None:
    stage.terminal.heading("4. An operator steps in: stops the countdown, rewrites a bubble, lets it go")
    reference = stage.write(6, "tu conseilles quoi comme sac pour débuter ?")
    job = stage.follow(reference, held)
    check(job.state == "held", f"{job.id} was {job.state} before the operator could stop it")
    stage.steer(job.id, "hold")
    draft = next(c for c in job.candidates if c.kind == "text")
    stage.terminal.say(f"operator: PATCH {draft.id}: {OPERATORS_WORDS}", "bold yellow")
    stage.gateway.edit(draft.id, {"text": OPERATORS_WORDS})
    stage.steer(job.id, "approve")
    read = [bubble.data for bubble in _answered(stage, stage.follow(reference, ended))]
    texts = {bubble["id"]: bubble["text"] for bubble in read}
    check(texts.get(draft.id) == OPERATORS_WORDS, f"the contact read {texts.get(draft.id)!r}, not the operator's words")


def overtaken(stage: Stage) -> None:
    stage.terminal.heading("5. The contact writes while the reply is held: it is recalled, the next one has read both")
    first = stage.write(7, "et niveau chaussures, tu prends quoi ?")
    job = stage.follow(first, held)
    check(job.state == "held", f"{job.id} was {job.state} before the contact wrote again")
    second = stage.write(8, "ah et il pleut souvent là-haut, je précise")
    check(second != first, "the second message was answered by the reply to the first")
    job = stage.follow(first, ended)
    check(job.outcome == "superseded", f"{job.id} ended {job.outcome}, though the contact had written since")
    _answered(stage, stage.follow(second, ended))
    stale = [d.data["text"] for d in stage.receiver.all if d.data.get("job") == job.id]
    check(not stale, f"a stale bubble left: {stale}")


def killed_while_thinking(stage: Stage, pid: Callable[[], int | None], slow_model: Callable[[], None]) -> None:
    stage.terminal.heading("6. Kill the worker in the middle of a thought: the reply still arrives, once")
    slow_model()
    reference = stage.write(9, "tu as un coin préféré pour dormir sous les étoiles ?")
    job = stage.follow(reference, thinking)
    check(not ended(job), f"{job.id} had ended before the worker could be killed")
    victim = pid()
    check(victim, "there is no reply worker to kill")
    os.killpg(int(victim or 0), signal.SIGKILL)  # the worker and what it forked
    stage.terminal.say(f"kill -9 {victim}   (the reply worker: a model call saved, another in the air)", "bold red")
    job = stage.follow(reference, ended)
    _answered(stage, job)
    check(job.attempts > 1, f"{job.id} ended without a second worker: the first was not killed in time")
    steps = [item["n"] for item in job.trace if item.get("kind") == "model"]
    check(len(steps) == len(set(steps)), f"a finished model call was paid twice: {steps}")


def _answered(stage: Stage, job: JobOut) -> list[Delivery]:
    """What the receiver got for this job. Checks that it is the reply: signed, in order, each bubble once."""
    check(job.outcome == "sent", f"{job.id} ended {job.outcome} {job.code or ''} {job.reason or ''}".rstrip())
    stage.show_arrivals()
    got = [d for d in stage.receiver.all if d.type == "message.send" and d.data.get("job") == job.id]
    check(all(d.verified for d in got), "a webhook came with a wrong signature")
    ids = [d.webhook_id for d in got]
    check(len(ids) == len(set(ids)), f"a bubble was delivered twice: {ids}")
    sent = [c.id for c in job.candidates if c.state == "sent"]
    check([d.data.get("id") for d in got] == sent, f"{sent} are marked sent, {[d.data.get('id') for d in got]} arrived")
    check(all(d.data.get("ai_generated") is True for d in got), "a bubble does not say that an AI made it")
    return got
