"""Plots as numbers for SVG: where bars and lines stand. Words and markup are the templates'."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log10

WIDTH, HEIGHT = 720.0, 200.0
LEFT, BOTTOM, TOP = 64.0, 24.0, 8.0
SHADES = 6
"""How many models get a colour of their own; the others share the last."""


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    shade: int
    label: str


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Plot:
    bars: Sequence[Bar]
    rows: Sequence[Tick]
    columns: Sequence[Tick]
    line: str = ""


def stacked(days: Sequence[tuple[str, Sequence[tuple[int, float, str]]]], label: Callable[[float], str]) -> Plot:
    """A column a day: `(day, [(shade, amount, what a reader is told)])`, the amounts on top of each other.
    `label` says an amount beside its line."""
    top = nice(max((sum(amount for _, amount, _ in parts) for _, parts in days), default=0.0))
    step = (WIDTH - LEFT) / max(len(days), 1)
    bars: list[Bar] = []
    for n, (_, parts) in enumerate(days):
        base = HEIGHT - BOTTOM
        for shade, amount, told in parts:
            height = amount / top * (HEIGHT - BOTTOM - TOP)
            base -= height
            bars.append(
                Bar(
                    round(LEFT + n * step + step * 0.15, 1),
                    round(base, 1),
                    round(step * 0.7, 1),
                    round(height, 1),
                    min(shade, SHADES - 1),
                    told,
                )
            )
    return Plot(bars, _rows(top, label), _columns([day for day, _ in days], step))


def shares(days: Sequence[tuple[str, float | None]], label: Callable[[float], str]) -> Plot:
    """A line of shares from 0 to 1; a day without one is left out."""
    step = (WIDTH - LEFT) / max(len(days), 1)
    points = [
        f"{LEFT + (n + 0.5) * step:.1f},{HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP):.1f}"
        for n, (_, share) in enumerate(days)
        if share is not None
    ]
    return Plot((), _rows(1.0, label), _columns([day for day, _ in days], step), " ".join(points))


def sparkline(values: Sequence[float], width: float = 160, height: float = 32) -> str:
    """Points of a line through the last values, the newest at the right."""
    top = max(max(values, default=0), 1)
    step = width / max(len(values) - 1, 1)
    return " ".join(f"{n * step:.1f},{height - 2 - value / top * (height - 4):.1f}" for n, value in enumerate(values))


def nice(value: float) -> float:
    """The next of 1, 2, 5, 10, … times a power of ten."""
    if value <= 0:
        return 1.0
    power: float = 10.0 ** floor(log10(value))
    return next((step * power for step in (1, 2, 5, 10) if step * power >= value), 10 * power)


def _height(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)


def _rows(top: float, label: Callable[[float], str]) -> list[Tick]:
    return [Tick(_height(share), label(top * share)) for share in (0.0, 0.5, 1.0)]


def _columns(days: Sequence[str], step: float) -> list[Tick]:
    every = max(len(days) // 6, 1)
    return [Tick(round(LEFT + (n + 0.5) * step, 1), day) for n, day in enumerate(days) if n % every == 0]
