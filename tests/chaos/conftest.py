"""What the long forms share: they tell how far they are, and end with a table of all runs."""

from collections.abc import Callable

import pytest

from tests.chaos.show import Result, table

RESULTS: list[Result] = []


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Past the capture: a run of minutes tells how far it is."""

    def aloud(words: str) -> None:
        with capsys.disabled():
            print(words, flush=True)

    return aloud


@pytest.fixture
def judged() -> Callable[[Result], None]:
    """Kept for the table; fails with every violation."""

    def judge(result: Result) -> None:
        RESULTS.append(result)
        print(f"the load: {dict(sorted(result.load.stats.items()))}")
        assert not result.violations, "\n".join([f"seed {result.load.seed}:", *result.violations])

    return judge


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if RESULTS:
        terminalreporter.section("chaos")
        terminalreporter.write_line(table(RESULTS))
