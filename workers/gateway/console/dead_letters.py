"""Work that was given up: why, and again or away, one by one or all that a filter finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from schemas.access import Role
from schemas.errors import CODES, AppError, Code, NotFound
from schemas.ids import DeadLetterId, OrgId
from workers.adapters.postgres.views.dead_letters import LetterFilter
from workers.gateway.console.refusals import told_in_place
from workers.gateway.console.visits import HOME, Visit, open_to

_STATES = ("open", "retried", "purged")
_SOURCES = ("job", "delivery", "queue")
_CODES = tuple(code.value for code, facts in CODES.items() if facts.dead_letter)
_VERBS = ("retry", "purge")
_LIMIT = 50
_BATCH = 100
_MOST = 1000
"""What one press does. Whoever has more presses again: a browser does not wait for minutes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the page is narrowed to, and where it goes on. `fields`: as the address says it."""

    org: OrgId | None
    wanted: LetterFilter
    fields: Mapping[str, str]

    @property
    def query(self) -> str:
        return urlencode(self.fields)


@open_to(Role.OPS, scoped=False)
async def dead_letters(visit: Visit) -> Response:
    return await _list(visit, await _asked(visit, visit.request.query_params), visit.request.query_params.get("cursor"))


@open_to(Role.OPS, scoped=False)
async def dead_letter(visit: Visit) -> Response:
    letter = await visit.parts.dead_letters.one(visit.session.org, DeadLetterId(visit.number("dead")))
    return visit.page("dead_letter.html", page="letters", letter=letter)


@open_to(Role.OPS, scoped=False)
async def settle(visit: Visit) -> Response:
    """One is tried again, or thrown away. The list that it stood on is shown next."""
    verb, letter = visit.request.path_params["verb"], DeadLetterId(visit.number("dead"))
    asked = await _asked(visit, visit.request.query_params)
    try:
        if verb == "retry":
            await visit.parts.second_chance.retry(visit.session.org, letter, visit.who)
        elif verb == "purge":
            await visit.parts.transitions.purge_letter(visit.session.org, letter, visit.who)
        else:
            raise NotFound("no such action")
    except AppError as error:
        return await _list(visit, asked, None, told_in_place(visit, error), error.http_status)
    return visit.back(f"{HOME}/dead-letters?{asked.query}")


@open_to(Role.OPS, scoped=False)
async def settle_all(visit: Visit) -> Response:
    """All that the filter finds. Asked for once, it is said what that would be; done when it comes with `sure`."""
    verb, asked = visit.form.get("verb", ""), await _asked(visit, visit.form)
    if verb not in _VERBS:
        raise NotFound("no such action")
    if visit.form.get("sure") != "yes":
        count = await visit.parts.dead_letters.count(asked.org, asked.wanted, _MOST + 1)
        facts: dict[str, Any] = {"verb": verb, "asked": asked, "count": count, "most": _MOST}
        return visit.page("dead_letters_sure.html", page="letters", now=visit.session.now, **facts)
    # Only those that were there when it was asked: what was given up since, nobody has agreed to.
    narrowed = asked.wanted.seen_before(_moment(visit.form.get("until", "")) or visit.session.now)
    done, late = await (_retry_all if verb == "retry" else _purge_all)(visit, asked.org, narrowed)
    told = visit.words.count(f"letters.{verb}_done", done)
    if late:
        told += " " + visit.words.count("letters.late", late)
    return await _list(visit, asked, None, told, good=not late)


async def _retry_all(visit: Visit, org: OrgId | None, wanted: LetterFilter) -> tuple[int, int]:
    """How many were tried again, and how many could not be."""
    done, late, cursor = 0, 0, None
    while done + late < _MOST:
        page = await visit.parts.second_chance.retry_all(org, wanted, cursor, _BATCH, visit.who)
        done, late, cursor = done + len(page.retried), late + len(page.refused), page.next
        if cursor is None:
            break
    return done, late


async def _purge_all(visit: Visit, org: OrgId | None, wanted: LetterFilter) -> tuple[int, int]:
    done, cursor = 0, None
    while done < _MOST:
        page = await visit.parts.second_chance.purge_all(org, wanted, cursor, _BATCH, visit.who)
        done, cursor = done + len(page.purged), page.next
        if cursor is None:
            break
    return done, 0


async def _asked(visit: Visit, given: Mapping[str, str]) -> Asked:
    """A word that is none of ours narrows nothing. Raises NotFound for an organisation that is not there."""
    chosen = {"state": _STATES, "code": _CODES, "source": _SOURCES}
    fields = {name: given[name] for name, known in chosen.items() if given.get(name) in known}
    org = visit.session.org
    if org is None and (name := given.get("organization")):
        org = await visit.parts.keys.organization(name)
        if org is None:
            raise NotFound("no such organisation")
        fields["organization"] = name
    code = Code(fields["code"]) if "code" in fields else None
    return Asked(org, LetterFilter(fields.get("state", "open"), fields.get("source"), code), fields)


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


async def _list(
    visit: Visit, asked: Asked, cursor: str | None, told: str | None = None, status: int = 200, good: bool = False
) -> Response:
    found = await visit.parts.dead_letters.page(asked.org, asked.wanted, cursor, _LIMIT)
    several = visit.session.org is None
    facts = {
        "letters": found.items,
        "next": found.next,
        "asked": asked,
        "state": asked.wanted.state,
        "states": _STATES,
        "codes": _CODES,
        "sources": _SOURCES,
        "organizations": await visit.parts.keys.organizations(200) if several else [],
        "told": told,
        "good": good,
    }
    return visit.page("dead_letters.html", status, page="letters", **facts)


ROUTES = [
    Route("/dead-letters", dead_letters, methods=["GET"]),
    Route("/dead-letters", settle_all, methods=["POST"]),
    Route("/dead-letters/{id}", dead_letter, methods=["GET"]),
    Route("/dead-letters/{id}/{verb}", settle, methods=["POST"]),
]
