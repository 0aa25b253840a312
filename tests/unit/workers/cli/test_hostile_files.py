"""Files that were made to break a reader are refused with a line of words."""

import contextlib

import pytest

from tests.fuzz.hostile import TEXTS
from workers.cli import manifest, scenario_file
from workers.cli.failures import CommandFailed


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:20]))
def test_a_file_is_read_or_refused(text: str) -> None:
    for read in (manifest.parse, scenario_file.parse):
        for shape in (text, f"kind: {text}", f"kind: Persona\nname: [{text}]", f'{{"kind": {text}}}'):
            with contextlib.suppress(CommandFailed):
                assert read(shape, "it.yaml")
