"""What the long forms share."""

from collections.abc import Callable

import pytest


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Past the capture: a run of minutes tells how far it is."""

    def aloud(words: str) -> None:
        with capsys.disabled():
            print(words, flush=True)

    return aloud
