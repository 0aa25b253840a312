"""`replique send`: write as a contact, and watch the answer being made."""

import time
from typing import Any
from uuid import uuid4

from schemas.errors import Code
from schemas.http import JobOut
from workers.cli.client import Gateway
from workers.cli.failures import CommandFailed, GatewayAway, GatewayRefused
from workers.cli.story import Story
from workers.cli.terminal import SIMULATED, Terminal

LOOK_SECONDS = 0.4
PATIENCE_SECONDS = 60.0
GOOD_ENDS = frozenset({"sent", "silent"})


class NoReply(CommandFailed):
    """The job ended otherwise than with a reply or a silence that is right."""


def post(gateway: Gateway, text: str, persona: str, contact: str, conversation: str | None) -> dict[str, Any]:
    """Post one message; a persona that does not exist is answered with how to make one."""
    message = {
        "id": f"cli-{uuid4().hex}",
        "conversation": conversation or f"{persona}-{contact}",
        "persona": persona,
        "author": "contact",
        "contact": {"id": contact},
        "text": text,
    }
    try:
        return gateway.post_message(message)
    except GatewayRefused as refusal:
        if "persona" not in refusal.fields:
            raise
        hint = f"; make one with `replique apply -f FILE`, where FILE says: {{kind: Persona, name: {persona}}}"
        raise GatewayRefused(refusal.code, refusal.sentence + hint, refusal.facts, refusal.fields) from refusal


class Patience:
    """A follower outlives a restart of the gateway or its database: the job does, too."""

    def __init__(self) -> None:
        self._away_since: float | None = None

    def ask(self, gateway: Gateway, reference: str) -> dict[str, Any] | None:
        """The job; None while nobody answers. Raises what went wrong when that lasts."""
        try:
            found = gateway.job(reference)
        except (GatewayAway, GatewayRefused) as error:
            now = time.monotonic()
            self._away_since = self._away_since or now
            passing = isinstance(error, GatewayAway) or error.code == Code.UNAVAILABLE
            if not passing or now - self._away_since > PATIENCE_SECONDS:
                raise
            return None
        self._away_since = None
        return found


def follow(gateway: Gateway, reference: str, terminal: Terminal) -> None:
    """Show the job until it has ended; one that gives way to a newer one is followed there. Raises NoReply."""
    story, patience, warned = Story(), Patience(), False
    while True:
        if (found := patience.ask(gateway, reference)) is None:
            time.sleep(LOOK_SECONDS)
            continue
        job = JobOut.model_validate(found)
        if job.simulated and not warned:
            terminal.warn(SIMULATED)
            warned = True
        for line in story.news(job):
            terminal.say(line.text, line.style)
        if job.outcome == "superseded" and (newer := _live_job(gateway, job.conversation, reference)):
            reference, story = newer, Story()
        elif job.outcome is not None:
            break
        time.sleep(LOOK_SECONDS)
    if job.outcome not in GOOD_ENDS:
        raise NoReply(f"{job.id} ended {job.outcome} {' '.join(filter(None, [job.code, job.reason]))}".rstrip())


def _live_job(gateway: Gateway, conversation: str, other_than: str) -> str | None:
    live = gateway.conversation(conversation).get("job")
    reference = live.get("id") if isinstance(live, dict) else live
    return str(reference) if reference and reference != other_than else None
