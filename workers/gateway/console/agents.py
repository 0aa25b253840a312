"""Agents and Chatting: the parameters of replies, of the organisation and of each persona. A change is audited, and
obeyed by the next run."""

from collections.abc import Sequence
from typing import Any, cast

from starlette.responses import Response
from starlette.routing import Route

from pipelines.agent import parameters as resolved
from schemas.errors import AppError, Conflict, Invalid, NotFound
from schemas.resources import AgentOverrides
from schemas.settings import Settings
from workers.adapters.postgres.views.provisioned import Kept
from workers.gateway.console.parameters import Parameter, sheet, value_at
from workers.gateway.console.refusals import told_in_place
from workers.gateway.console.render import Clock
from workers.gateway.console.visits import READS, Visit, open_to

SHEETS = ("agents", "chatting")


_DIGITS = 10
"""Of a version that a column can hold; what has more is none of ours."""


@open_to(*READS)
async def agents(visit: Visit) -> Response:
    return await shown(visit, "agents", visit.request.query_params.get("persona"))


@open_to(*READS)
async def chatting(visit: Visit) -> Response:
    return await shown(visit, "chatting", visit.request.query_params.get("persona"))


@open_to()
async def save(visit: Visit) -> Response:
    """The fields of one sheet. 409 when somebody else has changed the document since it was shown."""
    name, persona = visit.request.path_params["sheet"], visit.form.get("persona") or None
    if name not in SHEETS:
        raise NotFound("no such sheet")
    try:
        await keep(visit, sheet(name, persona), persona)
    except AppError as error:
        return await shown(visit, name, persona, told=told(visit, error), status=error.http_status)
    return await shown(visit, name, persona, saved=True)


async def keep(visit: Visit, fields: Sequence[Parameter], persona: str | None) -> list[str]:
    """Raises Invalid, NotFound, Conflict."""
    wanted, errors = {}, []
    for parameter in fields:
        try:
            wanted[parameter.path] = parameter.read(visit.form.get(parameter.path, ""), visit.words)
        except Invalid as refused:
            errors += cast("list[dict[str, str]]", refused.facts["errors"])
    if errors:
        raise Invalid("", errors)
    given = visit.form.get("version", "")
    version = int(given) if given.isascii() and given.isdigit() and len(given) < _DIGITS else -1
    return await visit.parts.console.parameters.change(visit.org, persona, version, wanted, visit.who)


def told(visit: Visit, error: AppError) -> str:
    """Of a clash: who was faster, when, and that nothing was lost."""
    if not isinstance(error, Conflict) or error.facts.get("state") != "changed":
        return told_in_place(visit, error)
    who, at = error.facts.get("by"), cast(Any, error.facts.get("at"))
    clock = Clock(visit.words, visit.session.timezone)
    return visit.words("late.changed", who=who or visit.words("who.somebody"), at=clock.time(at))


async def shown(
    visit: Visit, name: str, persona: str | None, told: str | None = None, status: int = 200, saved: bool = False
) -> Response:
    provisioned = visit.parts.console.provisioned
    organization, personas = await provisioned.organization(visit.org), await provisioned.personas(visit.org)
    chosen = next((one for one in personas if one.name == persona), None)
    if persona is not None and chosen is None:
        raise NotFound("no such persona")
    kept = chosen or organization
    facts = {
        "sheet": name,
        "personas": personas,
        "chosen": persona,
        "kept": kept,
        "fields": fields(visit, name, organization, chosen),
        "changes": await provisioned.changes(visit.org, kept.name),
        "told": told,
        "saved": saved,
    }
    return visit.page("agents.html", status, page=name, **facts)


def fields(visit: Visit, name: str, organization: Kept, persona: Kept | None) -> list[dict[str, Any]]:
    """Each parameter with its own value and the one it inherits. What the form said stands, when it was refused."""
    kept, above = persona or organization, _above(visit, organization, persona)
    return [
        {
            "is": parameter,
            "value": visit.form.get(parameter.path, value_at(kept.spec, parameter.path)),
            "inherited": above.get(parameter.name) if parameter.inherits else None,
        }
        for parameter in sheet(name, persona.name if persona else None)
    ]


def _above(visit: Visit, organization: Kept, persona: Kept | None) -> dict[str, Any]:
    """What holds where a field is left empty: the installation's, then the organisation's."""
    settings = cast(Settings, visit.request.app.state.settings)
    levels = [_agent(organization)] if persona is not None else []
    found = resolved.resolve(settings, *levels)
    return {name: getattr(found, ours) for name, ours in resolved.FIELDS.items()}


def _agent(kept: Kept) -> AgentOverrides:
    return AgentOverrides.model_validate(kept.spec.get("agent") or {}, strict=False)


ROUTES = [
    Route("/agents", agents, methods=["GET"]),
    Route("/chatting", chatting, methods=["GET"]),
    Route("/parameters/{sheet}", save, methods=["POST"]),
]
