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
        "Replique ", "1. Three ", "2. One mo", "3. Asked ", "4. Asked ", "5. He wan", "6. He pay", "7. The si",
        "8. An ope", "9. The co", "10. Kill ", "All of it",
    ]  # fmt: skip
    ends = re.findall(r"^job_(\d+) is (sent|superseded)", said, re.M)
    assert ends == [(str(n), "superseded" if n == 9 else "sent") for n in range(1, 12)]
    assert re.search(r"^Maya \(photo sommet\): .*\n  at https://cdn.example/sommet.jpg$", said, re.M)
    assert re.search(r"^    rule wants-to-buy applied\n    must use: send_payment$", said, re.M)
    assert re.search(r"^Maya \(offer of traversee for 12.50 EUR\): .*\n  pay at http://127\.0\.0\.1:\d+/", said, re.M)
    assert "“TEST: aucun argent ne circule ici · no money moves here”" in said
    assert said.count("Léo presses the button: HTTP 200") == 2
    assert re.findall(r"^Maya \(video (\w+)\)$", said, re.M) == ["traversee"]
    assert re.findall(r"^your app hears: (\S+) pay_1$", said, re.M) == ["payment.delivered"]
    assert re.findall(r"^  review: (\w+)$", said, re.M).count("errors") == 1
    assert re.search(r"^    error in bubble 0, invented_price: '389 €'", said, re.M)
    assert not re.search(r"^Maya.*389", said, re.M)
    assert re.search(r"^Maya: Un sac de 30 litres suffit", said, re.M)
    assert len(re.findall(r"^  → \d+\.\d s of speech, \d+ kB, removed .*: \S+\.ogg$", said, re.M)) == 1
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
