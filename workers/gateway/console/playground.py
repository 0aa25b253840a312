"""Talk to a persona without sending anything. What was said lives in the page, and nowhere else."""

import json

from starlette.responses import Response
from starlette.routing import Route

from pipelines.text import is_blank, storable
from schemas.access import Role
from schemas.conversation import Author
from schemas.errors import AppError, Code
from workers.adapters.postgres.playing import Said
from workers.gateway.console.refusals import told_in_place
from workers.gateway.console.visits import Visit, open_to
from workers.gateway.playing import Played

_MOST_LINES = 60
_MOST_CHARACTERS = 4000


@open_to(Role.OPERATOR)
async def playground(visit: Visit) -> Response:
    return await _page(visit, visit.request.query_params.get("persona", ""), [], None, None, 200)


@open_to(Role.OPERATOR)
async def ask(visit: Visit) -> Response:
    """One turn: what was written, and what the persona would answer."""
    persona, text = visit.form.get("persona", ""), visit.form.get("text", "")[:_MOST_CHARACTERS]
    said = _read(visit.form.get("said", "[]"))
    if is_blank(text):
        return await _page(visit, persona, said, None, visit.words("playground.nothing"), 422)
    said = [*said, (Author.CONTACT, text)][-_MOST_LINES:]
    try:
        played = await visit.parts.console.playground.answer(visit.org, persona, said, visit.who)
    except AppError as error:
        told = visit.words("playground.no_model") if error.code is Code.UNAVAILABLE else told_in_place(visit, error)
        return await _page(visit, persona, said, None, told, error.http_status)
    answers = [(Author.AI, bubble.text) for bubble in getattr(played.decision, "bubbles", ()) if bubble.text]
    return await _page(visit, persona, [*said, *answers], played, None, 200)


def _read(text: str) -> list[Said]:
    """From the page's own hidden field; whatever else stands there is no talk."""
    try:
        found = json.loads(text)
        lines = [(Author(who), storable(str(line))[:_MOST_CHARACTERS]) for who, line in found][-_MOST_LINES:]
    except (ValueError, TypeError, RecursionError):
        return []
    return [line for line in lines if line[0] in (Author.CONTACT, Author.AI)]


async def _page(
    visit: Visit, persona: str, said: list[Said], played: Played | None, told: str | None, status: int
) -> Response:
    personas = await visit.parts.console.provisioned.personas(visit.org)
    facts = {
        "personas": personas,
        "persona": persona or (personas[0].name if personas else ""),
        "said": said,
        "kept": json.dumps([[who.value, text] for who, text in said]),
        "played": played,
        "outcome": type(played.decision).__name__.lower() if played else "",
        "told": told,
    }
    return visit.page("playground.html", status, page="playground", **facts)


ROUTES = [
    Route("/playground", playground, methods=["GET"]),
    Route("/playground", ask, methods=["POST"]),
]
