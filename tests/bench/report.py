"""What a benchmark found: tables and sentences, as JSON or as text, and bars as SVG."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

BAR, GAP, LEFT, WIDTH, RIGHT = 22, 8, 250, 420, 110
"""Sizes of a plot, in pixels."""
OURS, THEIRS = "#2a6f97", "#a9b4bd"


@dataclass
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)


@dataclass
class Report:
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    """The same as numbers, for programs."""

    def show(self, *, as_json: bool) -> None:
        if as_json:
            sys.stdout.write(json.dumps(asdict(self)) + "\n")
            return
        for table in self.tables:
            sys.stdout.write(f"\n**{table.title}**\n\n" + "\n".join(_markdown(table)) + "\n")
        for note in self.notes:
            sys.stdout.write(f"\n{note}\n")


def machine() -> str:
    """What every figure must be read with."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end; processor time is user and system"


def _markdown(table: Table) -> list[str]:
    return [_line(table.columns), "|---" * len(table.columns) + "|", *map(_line, table.rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def bars(title: str, values: Sequence[tuple[str, float, bool]], unit: str) -> str:
    """Horizontal bars as an SVG document: a name, a value, and whether it is ours."""
    top, longest = 34, max(value for _, value, _ in values)
    height = top + len(values) * (BAR + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        f'font-family="sans-serif" font-size="13" role="img"><title>{escape(title)}</title>',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="12" y="22" font-weight="bold">{escape(title)}</text>',
    ]
    for n, (name, value, is_ours) in enumerate(values):
        y, length = top + n * (BAR + GAP), WIDTH * value / longest
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{OURS if is_ours else THEIRS}"/>',
            f'<text x="{LEFT + length + 6:.1f}" y="{y + 16}">{value:.2f} {escape(unit)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def save(path: str, document: str) -> None:
    Path(path).write_text(document, encoding="utf-8")
