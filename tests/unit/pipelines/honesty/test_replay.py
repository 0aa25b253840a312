"""The rules over 3868 lines that people wrote, in French: what fires is printed, and was read.

The dialogues are not part of the repository: `REPLIQUE_DIALOGUES` names the file.
"""

import json
import os
from pathlib import Path

import pytest

from pipelines.honesty import distress, identity, minors, self_harm, stop_words
from tests.unit.pipelines.honesty.test_detectors import draft

RULES = {
    "identity": identity.question,
    "minors": minors.signal,
    "self_harm": self_harm.signal,
    "stop_words": stop_words.asked,
    "distress": distress.money,
    "claims": draft("disclose"),
    "admissions": draft("handover"),
}


def test_what_fires_on_real_dialogues_is_what_a_reader_would_flag() -> None:
    where = os.environ.get("REPLIQUE_DIALOGUES")
    if where is None or not Path(where).is_file():
        pytest.skip("REPLIQUE_DIALOGUES names no file of XPersona dialogues")
    lines = [line for talk in json.loads(Path(where).read_text()) for pair in talk["dialogue"] for line in pair]
    fired = {name: [line for line in lines if rule(line) is not None] for name, rule in RULES.items()}
    for name, heard in fired.items():
        print(name, *heard, sep="\n  ")

    assert {name: len(heard) for name, heard in fired.items()} == {
        "identity": 0,
        "minors": 15,
        "self_harm": 0,
        "stop_words": 0,
        "distress": 2,
        "claims": 0,
        "admissions": 0,
    }
