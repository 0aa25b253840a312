"""The demo in a pipe: the smoke test of the whole, with nothing faked but the model provider."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installations import bare_environment, replique, until


@pytest.mark.timeout(300)
def test_the_demo_shows_what_it_promises(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workers.cli", "demo"], cwd=tmp_path, env=bare_environment(),
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    said = done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"^== (.{9})", said, re.M) == [
        "Replique ", "1. Three ", "2. One mo", "3. Asked ", "4. An ope", "5. The co", "6. Kill t", "All of it",
    ]  # fmt: skip
    assert re.findall(r"^job_(\d) is (sent|superseded)", said, re.M) == [
        ("1", "sent"), ("2", "sent"), ("3", "sent"), ("4", "sent"), ("5", "superseded"), ("6", "sent"), ("7", "sent"),
    ]  # fmt: skip
    assert re.search(r"^Maya: Un sac de 30 litres suffit", said, re.M)
    assert len(re.findall(r"^  \d+\.\d s of speech, \d+ kB: \S+\.ogg$", said, re.M)) == 1
    assert len(re.findall(r"^notice: ", said, re.M)) == 1
    webhooks = re.findall(r"^  webhook (\S+) message.send, signature verified", said, re.M)
    assert len(webhooks) == len(set(webhooks)) >= 4
    assert re.search(r"^worker-reply was ended by SIGKILL; it is started again", said, re.M)
    assert "\x1b" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(120)
def test_ctrl_c_ends_the_demo_with_a_reason(tmp_path: Path) -> None:
    with replique("demo", folder=tmp_path) as process:
        until(process, "Léo: ")
        process.terminate()
        assert until(process, "replique: ")[-1] == "replique: interrupted"
        assert process.wait(40) == 1
