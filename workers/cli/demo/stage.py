"""How the demo shows what happens: told live, from the gateway's own answers and from what the receiver got."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from queue import Empty
from types import TracebackType
from typing import Self

from schemas.http import JobOut
from workers.cli.client import Gateway
from workers.cli.demo.receiver import Delivery, Receiver
from workers.cli.failures import Interrupted, StoryBroken
from workers.cli.story import Story
from workers.cli.terminal import Terminal

LOOK_SECONDS = 0.1
SCENE_SECONDS = 90.0
TOLD_BY_THE_RECEIVER = frozenset({"bubble"})
BETWEEN = (" is queued", " is running", " is sending")
"""States that the lines around them tell of."""


@dataclass(frozen=True)
class Answered:
    """A reply that was sent, and the webhooks that brought its bubbles."""

    job: JobOut
    got: list[Delivery]


@dataclass
class Stage:
    """`interrupted` says that somebody pressed Ctrl-C: every wait ends then."""

    gateway: Gateway
    receiver: Receiver
    terminal: Terminal
    interrupted: Callable[[], bool]
    _stories: dict[str, Story] = field(default_factory=dict)

    def write(self, number: int, text: str) -> str:
        """The contact writes. Answers the job that will answer."""
        message = {
            "id": f"demo-{number}",
            "conversation": "demo-leo",
            "persona": "maya",
            "author": "contact",
            "contact": {"id": "leo", "name": "Léo", "locale": "fr", "timezone": "Europe/Paris"},
            "text": text,
        }
        taken = self.gateway.post_message(message)
        self.terminal.say(f"Léo: {text}", "bold white")
        check(taken.get("job"), f"the message got no job: {taken.get('reason')}")
        return str(taken["job"])

    def steer(self, job: str, verb: str) -> None:
        """The operator does something with a job."""
        self.terminal.say(f"operator: {verb} {job}", "bold yellow")
        self.gateway.steer(job, verb)

    def follow(self, reference: str, until: Callable[[JobOut], bool]) -> JobOut:
        """Tell what the job does until it is as wanted. Raises StoryBroken when that takes too long."""
        story, end = self._stories.setdefault(reference, Story()), time.monotonic() + SCENE_SECONDS
        with Countdown(self.terminal) as countdown:
            while True:
                job = JobOut.model_validate(self.gateway.job(reference))
                self.show_arrivals()
                for line in story.news(job):
                    if line.kind not in TOLD_BY_THE_RECEIVER and not line.text.endswith(BETWEEN):
                        self.terminal.say(line.text, line.style)
                if until(job):
                    return job
                countdown.show(job)
                self._wait(job, end)

    def sent_at_once(self, reference: str) -> Answered:
        """The operator has read the reply and sends it: the rest of the countdown need not be watched."""
        job = self.follow(reference, held)
        check(job.state == "held", f"{job.id} was {job.state} before the operator could send it")
        self.steer(job.id, "approve")
        return self.answered(self.follow(reference, ended))

    def answered(self, job: JobOut) -> Answered:
        """What the receiver got for this job. Checks that it is the reply: signed, in order, each bubble once."""
        check(job.outcome == "sent", f"{job.id} ended {job.outcome} {job.code or ''} {job.reason or ''}".rstrip())
        self.show_arrivals()
        got = [d for d in self.receiver.all if d.type == "message.send" and d.data.get("job") == job.id]
        check(all(d.verified for d in got), "a webhook came with a wrong signature")
        ids = [d.webhook_id for d in got]
        check(len(ids) == len(set(ids)), f"a bubble was delivered twice: {ids}")
        sent, arrived = [c.id for c in job.candidates if c.state == "sent"], [d.data.get("id") for d in got]
        check(arrived == sent, f"{sent} are marked sent, {arrived} arrived")
        check(all(d.data.get("ai_generated") is True for d in got), "a bubble does not say that an AI made it")
        return Answered(job, got)

    def arrives(self, kind: str, seconds: float) -> Delivery:
        """The newest webhook of that type, waited for. Raises StoryBroken when it does not come."""
        end = time.monotonic() + seconds
        while (found := next((d for d in reversed(self.receiver.all) if d.type == kind), None)) is None:
            check(time.monotonic() < end, f"no {kind} within {seconds:.0f} s")
            time.sleep(LOOK_SECONDS)
        self.show_arrivals()
        return found

    def aside(self, text: str) -> None:
        """A remark to whoever watches, with facts of the product."""
        self.terminal.say(f"  → {text}", "italic")

    def show_arrivals(self) -> None:
        while True:
            try:
                self._show(self.receiver.arrivals.get_nowait())
            except Empty:
                return

    def _show(self, delivery: Delivery) -> None:
        seal = "signature verified" if delivery.verified else "BAD SIGNATURE"
        for line in told(delivery):
            self.terminal.say(line, "bold green")
        self.terminal.say(f"  webhook {delivery.webhook_id} {delivery.type}, {seal}", "dim")

    def _wait(self, job: JobOut, end: float) -> None:
        if self.interrupted():
            raise Interrupted
        if time.monotonic() > end:
            raise StoryBroken(f"{job.id} is still {job.state} after {SCENE_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


def told(delivery: Delivery) -> Iterator[str]:
    """What the app would show its user, or hears itself."""
    data = delivery.data
    if delivery.type != "message.send":
        yield f"your app hears: {delivery.type} {data.get('id', '')}".rstrip()
        return
    who = "notice" if data.get("kind") == "notice" else "Maya"
    shown = [f"{media['type']} {media['id']}" for media in data.get("media") or ()]
    payment = data.get("payment")
    if payment:
        shown.append(f"offer of {', '.join(payment['media_ids'])} for {payment['amount']} {payment['currency']}")
    if data.get("audio"):
        shown.append("spoken")
    of = f" ({', '.join(shown)})" if shown else ""
    yield f"{who}{of}: {data.get('text', '')}".rstrip(": ")
    yield from (f"  at {media['url']}" for media in data.get("media") or ())
    if payment:
        yield f"  pay at {payment['url']}"


class Countdown:
    """What is left of the control window, below the story; only where there is a terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self._status = terminal.console.status("") if terminal.console else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, job: JobOut) -> None:
        if self._status is None:
            return
        if job.state != "held" or job.due_at is None:
            self._status.stop()
            return
        left = max(0.0, (job.due_at - datetime.now(UTC)).total_seconds())
        self._status.update(f"the control window: an operator may still stop it for {left:.1f} s")
        self._status.start()


def check(true: object, otherwise: str) -> None:
    """What the demo promises to show. Raises StoryBroken with what happened instead."""
    if not true:
        raise StoryBroken(otherwise)


def ended(job: JobOut) -> bool:
    return job.outcome is not None


def held(job: JobOut) -> bool:
    return ended(job) or job.state == "held"


def thinking(job: JobOut) -> bool:
    """In the middle of a run: one model call is saved, another is on its way."""
    return ended(job) or (job.state == "running" and any(item.get("kind") == "model" for item in job.trace))
