"""`replique demo`: a conversation answered before your eyes, and a smoke test of the whole."""

import base64
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from pipelines.text.counting import counted
from schemas.settings import KEPT_NAMES
from workers.cli.client import Gateway
from workers.cli.demo import scenes, selling
from workers.cli.demo.receiver import Receiver, receiving
from workers.cli.demo.stage import Stage
from workers.cli.failures import CommandFailed, DidNotStart, Interrupted, StoryBroken
from workers.cli.invocation import command
from workers.cli.ports import free_port
from workers.cli.terminal import Terminal
from workers.cli.up.folder import Folder
from workers.cli.up.installation import Installation, await_ready, installation, watch
from workers.cli.up.programs import Address

HOST = "127.0.0.1"
WORKER = "worker-reply"
EPILOGUE = """
Now yours:
  {replique} up      keeps everything in ./.replique and prints an address and a key
  {replique} send "coucou, ça va ?" --persona maya --contact leo --follow
With a real model: ANTHROPIC_API_KEY=… {replique} up
With your app: POST /v1/messages, receive signed webhooks; README.md shows both in curl and Python."""


def demo(keep: bool) -> None:
    """Raises StoryBroken when something it promises did not happen."""
    terminal = Terminal()
    terminal.heading("Replique demo")
    terminal.say("No key, no network: A SIMULATOR PLAYS THE MODEL. Everything else is the real thing.", "bold yellow")
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    with _temporary_home() as home, Folder(home) as folder, receiving(secret) as receiver:
        address = Address(HOST, free_port(HOST))
        with installation(folder, address, _unconfigured(os.environ), terminal.say) as found:
            if not await_ready(found):
                raise Interrupted
            _play(found, receiver, secret, terminal)
            terminal.say(EPILOGUE.format(replique=command()))
            if keep:
                _keep(found, terminal)


def _play(found: Installation, receiver: Receiver, secret: str, terminal: Terminal) -> None:
    """The story runs beside the supervisor, which has the main thread."""
    began = time.monotonic()

    def story() -> None:
        with Gateway(found.connection, "demo") as gateway:
            stage = Stage(gateway, receiver, terminal, lambda: found.supervisor.asked_to_stop)
            scenes.provision(stage, secret)
            scenes.three_in_a_row(stage)
            scenes.one_more(stage)
            scenes.heard(stage, found.folder.files)
            selling.shown_a_photo(stage)
            selling.paid(stage, selling.offered(stage))
            scenes.corrected(stage, lambda said, turns: _script(found, said, turns))
            scenes.edited(stage)
            scenes.overtaken(stage)
            scenes.killed_while_thinking(stage, lambda: found.supervisor.child(WORKER).pid, lambda: _slow_model(found))

    telling = Telling(story)
    telling.start()
    found.supervisor.run(lambda: not telling.is_alive())
    telling.finish()
    terminal.heading("All of it happened")
    bubbles = [delivery.data["job"] for delivery in receiver.all if delivery.type == "message.send"]
    replies, sent = counted(len(set(bubbles)), "reply", "replies"), counted(len(bubbles), "bubble")
    seconds = f"{time.monotonic() - began:.0f} s"
    terminal.say(f"{replies}, {sent}, each delivered once, every signature verified, in {seconds}.")


def _script(found: Installation, said: str, turns: list[dict[str, Any]]) -> None:
    """What the simulator writes, turn by turn, when the contact says this."""
    if simulator := found.wiring.simulator:
        script = {"match": said, "task": "reply", "turns": turns}
        httpx2.post(f"{simulator.url}/_sim/scripts", json=script).raise_for_status()


def _slow_model(found: Installation) -> None:
    """Two calls take long enough for a person, or a busy machine, to kill their worker in between."""
    if simulator := found.wiring.simulator:
        slow = {"kind": "slow", "delay": 1.5, "next": 2, "time": "real"}
        httpx2.post(f"{simulator.url}/_sim/faults", json=slow).raise_for_status()


class Telling(threading.Thread):
    """A thread whose failure is raised by `finish`."""

    def __init__(self, story: Callable[[], None]) -> None:
        super().__init__(name="story", daemon=True)
        self._story = story
        self._failure: Exception | None = None

    def run(self) -> None:
        try:
            self._story()
        except Exception as error:  # noqa: BLE001  (raised again by the thread that waits)
            self._failure = error

    def finish(self) -> None:
        self.join()
        if self._failure is not None:
            raise self._failure


def _keep(found: Installation, terminal: Terminal) -> None:
    terminal.say("")
    terminal.say("It goes on until Ctrl-C. From another terminal:", "bold")
    terminal.say(f"  cd {found.folder.path.parent}")
    terminal.say(f'  {command(anywhere=True)} send "tu es là ?" --persona maya --contact leo --follow')
    watch(found)


@contextmanager
def _temporary_home() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="replique-demo-"))
    parent.chmod(0o711)  # a server that runs as another user finds its own, closed folder below
    try:
        yield parent / ".replique"
    except (StoryBroken, DidNotStart) as broken:
        raise CommandFailed(f"{broken}\nThe logs are kept in {parent}/.replique/logs") from broken
    except BaseException:
        shutil.rmtree(parent, ignore_errors=True)
        raise
    shutil.rmtree(parent, ignore_errors=True)


def _unconfigured(environ: Mapping[str, str]) -> dict[str, str]:
    """The shell's environment without any setting of ours: the demo is the same everywhere, and costs nothing."""
    kept = set(KEPT_NAMES.values())
    return {name: value for name, value in environ.items() if not (name in kept or name.startswith("REPLIQUE_"))}
