"""Three tools without business: one looks, one notes, one ends."""

import asyncio
from dataclasses import dataclass, field

from pipelines.agent.tools import Args, Done, Effect, Outcome, Refused, Tool


@dataclass
class Desk:
    """A run's state that remembers who worked on it; `open` lets the lookups finish."""

    sendable: int = 0
    ended: bool = False
    log: list[str] = field(default_factory=list)
    under_way: int = 0
    most: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    found: list[str] = field(default_factory=list)

    def learnt(self, answer: str) -> None:
        self.found.append(answer)


class LookArgs(Args):
    """Look something up."""

    q: str


class Look(Tool[LookArgs, Desk]):
    name = "look"
    effect = Effect.READ
    args = LookArgs

    async def call(self, args: LookArgs, state: Desk) -> Outcome:
        state.under_way += 1
        state.most = max(state.most, state.under_way)
        if state.under_way == 2:
            state.open.set()
        await state.open.wait()
        state.under_way -= 1
        state.log.append(f"look {args.q}")
        return Refused("nothing there") if args.q == "void" else Done(f"found {args.q}")


class NoArgs(Args):
    """No arguments."""


class Note(Tool[NoArgs, Desk]):
    name = "note"
    effect = Effect.NOTE
    args = NoArgs

    async def call(self, args: NoArgs, state: Desk) -> Outcome:
        state.log.append("note")
        return Done("noted")


class Stop(Tool[NoArgs, Desk]):
    name = "stop"
    effect = Effect.END
    args = NoArgs

    async def call(self, args: NoArgs, state: Desk) -> Outcome:
        state.ended = True
        return Done("stopped")
