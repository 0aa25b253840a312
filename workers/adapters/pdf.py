"""The text of a PDF, read by a program of its own that has little memory, little time, and none of our secrets."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore, Timer

from schemas.errors import Invalid

PROGRAM = "workers.adapters.pdf_program"
ROOT = Path(__file__).parents[2]
KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
AT_ONCE = BoundedSemaphore(2)
BYTES_A_CHARACTER = 6
"""In JSON, escaped."""


@dataclass(frozen=True, slots=True)
class Confined:
    """`seconds` of processor time; twice as many by the clock."""

    megabytes: int = 1024
    seconds: int = 20


def text_of_pdf(content: bytes, most_characters: int, confined: Confined = Confined()) -> str:
    """Its pages, a blank line between them; stops soon after `most_characters`. Blocks, for about 0.2 s: call it beside
    the event loop. Raises Invalid for what cannot be read: no PDF, a password, too many pages, too much work."""
    with AT_ONCE:
        said = _asked(content, most_characters, confined)
    try:
        answer = json.loads(said)
    except ValueError:
        raise _unreadable("the PDF cannot be read: it takes too much memory or time, or is damaged") from None
    if "error" in answer:
        raise _unreadable(str(answer["error"]))
    return str(answer["text"])


def _asked(content: bytes, most_characters: int, confined: Confined) -> bytes:
    """What the program said before it ended or was ended. A page more than asked for is read to its end."""
    command = [sys.executable, "-P", "-m", PROGRAM]
    command += [str(number) for number in (most_characters, confined.megabytes, confined.seconds)]
    environ = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    # What we can import, the program can too, however it came to be on our path.
    environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    with tempfile.TemporaryFile() as document:
        document.write(content)
        document.seek(0)
        process = subprocess.Popen(  # noqa: S603
            command, cwd="/", env=environ, stdin=document, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        with process:
            clock = Timer(confined.seconds * 2, process.kill)
            clock.start()
            try:
                return process.stdout.read(2 * most_characters * BYTES_A_CHARACTER) if process.stdout else b""
            finally:
                clock.cancel()
                process.kill()


def _unreadable(sentence: str) -> Invalid:
    return Invalid(sentence, [{"field": "file", "message": sentence}])
