"""Values that somebody sends where something else was meant."""

from collections.abc import Iterator
from typing import Any

TEXTS = (
    "",
    " ",
    "x" * 70_000,
    "\x00",
    "a\x00b",
    "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    "\u202e\u2066\u200b",
    "🙂" * 300,
    "²",
    "١٢٣",
    "-1",
    "0",
    "1e999",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "9" * 30,
    "9" * 5_000,
    "1.5",
    "true",
    "null",
    "[]",
    "{}",
    '"\\ud800"',
    "[" * 20_000,
    "[[\"contact\", \"\\ud800\"]]",
    '[["contact", {"a": 1}], 5]',
    "'; DROP TABLE jobs; --",
    "%s%n{0}{{7*7}}${7*7}",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "job_99999999999999999999",
    "job_9223372036854775807",
    "job_1_",
    "dead_0",
    "msg_²",
    "a: &a [x]\nb: &b [*a, *a]\nwhen: [*b, *b]",
    "when: 2026-13-45",
    "when: 2026-02-30 10:00:00",
    "when: !!python/object/apply:os.system ['true']",
    "? [a]\n: b",
    "when: 0b2\nthen: 0o9",
    "when: 190:20:30:99999999999999999999",
    "- " * 5_000,
    "when: .inf",
    "when: 'x'\nthen: {control_window_seconds: .nan}",
    "\x85\u2028\ufeff",
    "=",
    "when: =",
    "<<: 1",
)  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in JSON something stands, by the names and numbers that lead to it."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*at, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*at, key))


def put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """A copy with something else at that place."""
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = put(value[at[0]], at[1:], new)
    return copy
