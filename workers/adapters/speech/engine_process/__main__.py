"""Serve one engine on the socket that stands in for stdin and stdout, until the other side is gone."""

import importlib
import os
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO

from workers.adapters.speech.engine_process import frames

ENGINES = ("espeak", "kokoro")
Request = tuple[dict[str, Any], bytes]


def main(engine: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the product, which then closes the socket
    channel = _take_channel()
    try:
        if engine not in ENGINES:
            raise ImportError(f"no engine {engine}")
        speaker = importlib.import_module(f"{__package__}.{engine}").load()
        sound = importlib.import_module(f"{__package__}.sound")
    except Exception as error:  # noqa: BLE001  (whatever a foreign library raises, the other side must hear of it)
        _answer(channel, frames.encoded({"error": _why(error)}))
        return
    _answer(channel, frames.encoded({"ready": True}))
    requests: queue.Queue[Request] = queue.Queue()
    threading.Thread(target=_listen, args=(channel, requests), daemon=True).start()
    while True:
        head, text = requests.get()
        _answer(channel, _spoken(speaker, sound, head, text))


def _take_channel() -> BinaryIO:
    """Take descriptor 0 for ourselves: what a library prints must not end up between frames."""
    channel = os.fdopen(os.dup(0), "r+b", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return channel


def _listen(channel: BinaryIO, requests: "queue.Queue[Request]") -> None:
    """A thread of its own, so that the end of the product ends us even in the middle of a long text."""
    try:
        while True:
            head, body = frames.sizes(_exactly(channel, frames.SIZES.size))
            requests.put((frames.decoded_head(_exactly(channel, head)), _exactly(channel, body)))
    except (frames.BrokenFrame, OSError):
        os._exit(0)


def _exactly(channel: BinaryIO, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = channel.read(size - len(parts))
        if not part:
            raise frames.BrokenFrame("the other side is gone")
        parts += part
    return bytes(parts)


def _answer(channel: BinaryIO, frame: bytes) -> None:
    rest = memoryview(frame)
    while rest:
        try:
            rest = rest[channel.write(rest) or 0 :]
        except OSError:
            os._exit(0)


def _spoken(speaker: Any, sound: Any, head: dict[str, Any], text: bytes) -> bytes:
    try:
        heard = speaker.say(text.decode(), head["voices"], head["language"])
        file, duration = sound.encoded(heard)
    except (sound.UnknownVoice, sound.NothingHeard) as error:
        return frames.encoded({"error": str(error), "retryable": False})
    except Exception as error:  # noqa: BLE001  (a text that an engine chokes on must not end the engine)
        return frames.encoded({"error": f"the engine failed ({type(error).__name__})", "retryable": True})
    return frames.encoded({"voice": heard.voice, "duration_ms": duration}, file)


def _why(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{error.name or 'a package'} is not installed"
    return f"it does not start ({type(error).__name__})"


if __name__ == "__main__":
    main(*sys.argv[1:])
