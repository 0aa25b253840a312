"""One speech program from our side: started when first needed, started again when it has died, ended with us."""

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from schemas.speech import Engine, SpeechFailed
from workers.adapters.speech.engine_process import frames

PROGRAM = "workers.adapters.speech.engine_process"
ROOT = Path(__file__).parents[3]
# The program needs no setting of ours, least of all keys.
KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "HOME")
PATIENCE_SECONDS = 2.0
MISSING = "pip install 'replique[{extra}]'"
EXTRA = {Engine.ESPEAK: "voice", Engine.KOKORO: "kokoro"}

Answer = tuple[dict[str, Any], bytes]


class EngineDied(Exception):
    """The program ended, or broke the protocol, before it had answered."""


class EngineProcess:
    """Not for two calls at once: see `BuiltInSpeech`. Its end is seen on the socket, so no loop must watch it."""

    def __init__(self, engine: Engine, idle_seconds: float) -> None:
        self._engine = engine
        self._idle_seconds = idle_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._bedtime: asyncio.TimerHandle | None = None
        self._leaving: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def ask(self, head: dict[str, Any], body: bytes) -> Answer:
        """One question, one answer. Raises `EngineDied`, and `SpeechFailed` where the engine is not installed.

        After any other end than an answer, a cancelled wait included, the program is ended: what it would still
        say belongs to nobody.
        """
        self._stay()
        try:
            await self._be_ready()
            answer = await self._exchange(frames.encoded(head, body))
        except BaseException:
            await asyncio.shield(self.stop(patience=0))
            raise
        self._bedtime = asyncio.get_running_loop().call_later(self._idle_seconds, self._leave)
        return answer

    async def stop(self, patience: float = PATIENCE_SECONDS) -> None:
        """End the program, by force after `patience` seconds; nothing to do when there is none."""
        self._stay()
        process, writer = self._process, self._writer
        self._process = self._reader = self._writer = None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        if process is not None:
            await asyncio.to_thread(_end, process, patience)

    def _stay(self) -> None:
        if self._bedtime is not None:
            self._bedtime.cancel()
            self._bedtime = None

    def _leave(self) -> None:
        """Ours to decide, not the program's: it would leave just as the next text arrives."""
        self._leaving = asyncio.get_running_loop().create_task(self.stop())

    async def _be_ready(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        await self.stop()
        try:
            await self._start()
        except OSError as error:
            raise EngineDied(f"did not start: {error.strerror}") from error
        hello, _ = await self._exchange(b"")
        if "error" in hello:
            hint = MISSING.format(extra=EXTRA[self._engine])
            raise SpeechFailed(f"the voice {self._engine} cannot be used: {hello['error']}; {hint}", retryable=False)

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = self._program(theirs)
            self._reader, self._writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            raise

    def _program(self, channel: socket.socket) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", PROGRAM, self._engine]
        kept = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
        # What we can import, the program can too, however it came to be on our path.
        path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        return subprocess.Popen(  # noqa: S603
            command, cwd="/", env=kept | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdin=channel.fileno(), stdout=channel.fileno(), stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    async def _exchange(self, frame: bytes) -> Answer:
        if self._reader is None or self._writer is None:
            raise EngineDied("stopped meanwhile")
        try:
            if frame:
                self._writer.write(frame)
                await self._writer.drain()
            head, body = frames.sizes(await self._reader.readexactly(frames.SIZES.size))
            return frames.decoded_head(await self._reader.readexactly(head)), await self._reader.readexactly(body)
        except (asyncio.IncompleteReadError, frames.BrokenFrame, OSError) as error:
            raise EngineDied(type(error).__name__) from error


def _end(process: subprocess.Popen[bytes], patience: float) -> None:
    """The closed socket has asked it to leave; one that hangs does not hear that."""
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
