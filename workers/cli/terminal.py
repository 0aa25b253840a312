"""What people see: colours and tables on a terminal, plain lines in a pipe, JSON when asked.

What contacts and models wrote is data: control characters never reach the terminal.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


SIMULATED = "NO MODEL ANSWERS HERE: a simulator plays the provider with lines it was given."


class Terminal:
    def __init__(self) -> None:
        self._rich = _rich() if sys.stdout.isatty() else None

    @property
    def console(self) -> "Console | None":
        """Rich, on a terminal; None in a pipe."""
        return self._rich

    def say(self, text: str = "", style: str = "") -> None:
        """One line, at once: who follows a pipe sees it when it happens."""
        if self._rich is None:
            _write(clean(text))
            return
        from rich.text import Text

        self._rich.print(Text(clean(text), style=style))

    def heading(self, text: str) -> None:
        if self._rich is None:
            _write(f"== {clean(text)}")
            return
        from rich.rule import Rule
        from rich.text import Text

        self._rich.print(Rule(style="cyan"), Text(clean(text), style="bold cyan"), sep="\n")  # a title would be cut

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A table; in a pipe one row a line, cells separated by tabs, without a head: ready for `cut` and `awk`."""
        cells = [["" if cell is None else one_line(str(cell)) for cell in row] for row in rows]
        if self._rich is None:
            for row in cells:
                _write("\t".join(row))
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(*columns, header_style="bold", box=None, pad_edge=False)
        for row in cells:
            table.add_row(*map(Text, row))
        self._rich.print(table if cells else Text("nothing", style="dim"))

    def json(self, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False, indent=2)
        _write(text.encode("utf-8", "backslashreplace").decode())  # a lone surrogate stays JSON: \\ud83d

    def complain(self, sentence: str) -> None:
        """On stderr, so that a pipe gets nothing but answers."""
        self._aside(f"replique: {clean(sentence)}\n", "red")

    def warn(self, sentence: str) -> None:
        """On stderr too: what whoever reads the answer must know, and a pipe must not."""
        self._aside(f"{clean(sentence)}\n", "bold yellow")

    def _aside(self, line: str, style: str) -> None:
        if not sys.stderr.isatty():
            sys.stderr.write(line)
            return
        from rich.console import Console
        from rich.text import Text

        Console(stderr=True).print(Text(line.rstrip("\n"), style=style), soft_wrap=True)


def _rich() -> "Console":
    from rich.console import Console

    return Console(highlight=False)


def clean(text: str) -> str:
    """No escape sequence, no carriage return, no change of direction, no lone surrogate; joined emoji stay joined."""
    kept = "".join(c if c.isprintable() or c in "\n\u200c\u200d" else " " for c in text)
    return kept.encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    return " ".join(clean(text).split("\n"))


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
