"""A job told as it goes: what is new since it was last looked at, one line each."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pipelines.text.counting import counted
from schemas.http import CandidateOut, JobOut, UsageOut

STYLES = {
    "state": "bold",
    "model": "cyan",
    "tool": "green",
    "refused": "yellow",
    "review": "magenta",
    "guard": "red",
    "note": "dim",
    "strategy": "magenta",
    "bubble": "bold green",
    "cost": "dim",
}
SHOWN_BUBBLES = frozenset({"sent", "failed", "recalled", "dropped"})
"""What became of a bubble; before that the agent's own tool call tells of it."""


@dataclass(frozen=True)
class Line:
    kind: str
    text: str

    @property
    def style(self) -> str:
        return STYLES.get(self.kind, "")


@dataclass
class Story:
    """Remembers what was told. Feed it snapshots of one job, in order."""

    _told: set[str] = field(default_factory=set)
    _state: str = ""

    def news(self, job: JobOut) -> Iterator[Line]:
        yield from (line for item in job.trace if self._first(_mark(item)) for line in traced(item))
        yield from (_bubble(c) for c in job.candidates if c.state in SHOWN_BUBBLES and self._first(f"{c.id} {c.state}"))
        if job.state != self._state:
            self._state = job.state
            yield Line("state", _standing(job))
            if job.outcome and job.usage.calls:
                yield Line("cost", cost(job.usage))

    def _first(self, mark: str) -> bool:
        new = mark not in self._told
        self._told.add(mark)
        return new


def _mark(item: dict[str, Any]) -> str:
    return json.dumps(item, sort_keys=True, default=str)


def _standing(job: JobOut) -> str:
    because = " ".join(filter(None, [job.code, job.reason]))
    words = f"{job.id} is {job.state}" + (f" ({because})" if because else "")
    if job.state == "held" and job.on_hold:
        return f"{words}: waits for `replique jobs approve {job.id}`"
    if job.state == "held" and job.due_at:
        return f"{words}: leaves at {job.due_at:%H:%M:%S} UTC unless someone stops it"
    return words


def _bubble(candidate: CandidateOut) -> Line:
    return Line("bubble", f"{candidate.state}: [{candidate.kind}] {worded(candidate)}")


def worded(candidate: CandidateOut) -> str:
    """`[ph-1] for you`: what it shows, and its words."""
    shown = [f"[{item['id']}]" for item in candidate.media]
    return " ".join([*shown, candidate.text] if candidate.text else shown)


def cost(usage: UsageOut) -> str:
    read = usage.input + usage.cache_read + usage.cache_write
    share = (
        f"{100 * usage.cache_read // read} % of {counted(read, 'input token')} from the cache" if read else "no input"
    )
    lost = f", {dollars(usage.discarded_cost_usd)} of it thrown away" if Decimal(usage.discarded_cost_usd) else ""
    unpriced = f" ({usage.unpriced_calls} without a known price)" if usage.unpriced_calls else ""
    calls, out = counted(usage.calls, "model call"), counted(usage.output, "token")
    return f"{calls}{unpriced}, {dollars(usage.cost_usd)}{lost}; {share}, {out} out"


def dollars(amount: str) -> str:
    """To a millionth, for people; `--json` has all of it."""
    return f"${Decimal(amount):.6f}"


def told_by_runs(trace: list[dict[str, Any]]) -> Iterator[Line]:
    """A whole trace. Where there was more than one run, each is announced: a restart, a retry and a redraft think
    anew, and number their calls from 1."""
    runs = list(dict.fromkeys(item.get("run") for item in trace))
    for n, run in enumerate(runs, 1):
        items = [item for item in trace if item.get("run") == run]
        if len(runs) > 1:
            began = str(items[0].get("at") or "")[11:19]
            yield Line("state", " ".join(filter(None, [f"-- run {n} of {len(runs)}", began])))
        for item in items:
            yield from traced(item)


def traced(item: dict[str, Any]) -> Iterator[Line]:
    """One item of a trace, as lines. Unknown kinds are shown as they came."""
    kind = str(item.get("kind", "note"))
    teller = {"model": _model, "tool": _tool, "review": _review, "guard": _guard}.get(kind, _note)
    yield from teller(item)


def _model(item: dict[str, Any]) -> Iterator[Line]:
    read = int(item.get("cache_read") or 0)
    total = int(item.get("input") or 0) + read + int(item.get("cache_write") or 0)
    share = f" ({100 * read // total} % cached)" if total else ""
    name = str(item.get("model")).partition(":")[2] or item.get("model")
    price = "unpriced" if item.get("cost_usd") is None else dollars(item["cost_usd"])
    yield Line(
        "model",
        f"call {item.get('n')}: {name}, {item.get('stop')}; {counted(total, 'token')} in{share}, "
        f"{item.get('output') or 0} out, {price}, {item.get('ms') or 0} ms",
    )


def _tool(item: dict[str, Any]) -> Iterator[Line]:
    arguments = json.dumps(item.get("args") or {}, ensure_ascii=False)
    if item.get("refused"):
        yield Line("refused", f"  {item.get('tool')} {arguments} refused: {item.get('reason')}")
    else:
        yield Line("tool", f"  {item.get('tool')} {arguments}")


def _review(item: dict[str, Any]) -> Iterator[Line]:
    yield Line("review", f"  review: {item.get('verdict')}")
    for issue in item.get("issues") or []:
        where, rule, what = issue.get("candidate"), issue.get("rule"), issue.get("feedback")
        yield Line("review", f"    {issue.get('severity')} in bubble {where}, {rule}: {what}")


def _guard(item: dict[str, Any]) -> Iterator[Line]:
    yield Line("guard", f"  guard {item.get('code')}: {item.get('rule')}")


def _note(item: dict[str, Any]) -> Iterator[Line]:
    if "rules" in item:
        yield from _strategy(item)
        return
    if item.get("plan"):
        yield Line("note", f"  [PLAN] {' '.join(str(item['plan']).split())}")
        return
    rest = {name: value for name, value in item.items() if name not in {"run", "n", "kind", "at", "note"}}
    more = f" {json.dumps(rest, ensure_ascii=False, default=str)}" if rest else ""
    yield Line("note", f"  {item.get('note') or item.get('kind')}{more}")


def _strategy(item: dict[str, Any]) -> Iterator[Line]:
    """What the rules decided, one line each, and what the agent was told by them."""
    yield Line("strategy", f"  {item.get('note')}")
    for rule in item["rules"]:
        because = f": {rule['reason']}" if rule.get("reason") else ""
        yield Line("strategy", f"    rule {rule.get('rule')} {rule.get('outcome')}{because}")
    told = {"intent": item.get("intent"), "must use": ", ".join(item.get("required") or ())}
    told |= {"may not use": ", ".join(item.get("disabled") or ()), "autonomy": item.get("autonomy")}
    for name, value in told.items():
        if value:
            yield Line("strategy", f"    {name}: {value}")
    for text in item.get("inject") or ():
        yield Line("strategy", f"    told: {text}")
