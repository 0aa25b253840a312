"""Rules of the strategy: what stands there, and what one would have done to replies of the past."""

import asyncio

import yaml
from pydantic import ValidationError
from starlette.responses import Response
from starlette.routing import Route

from pipelines.autoreply.strategy.dry_run import dry_run
from pipelines.autoreply.tools import TOOL_NAMES
from schemas.access import Role
from schemas.dry_run import DryRunIn
from schemas.errors import AppError, Invalid
from workers.gateway.console.refusals import told_in_place
from workers.gateway.console.visits import HOME, Visit, open_to
from workers.runtime.yaml12 import Plain, YamlRefused, reading

_DRAFT = 'when: message.text.contains("?")\nthen:\n  inject: …\n'


@open_to(Role.OPERATOR)
async def rules(visit: Visit) -> Response:
    return await _page(visit, {}, None, None, 200)


@open_to(Role.OPERATOR)
async def try_rule(visit: Visit) -> Response:
    """Nothing is changed by it."""
    form = dict(visit.form)
    try:
        wanted = _wanted(form)
        documents, tried, past = await visit.parts.dry_runs.load(visit.org, wanted)
        # Beside the event loop: hundreds of rules on hundreds of replies take a second of work.
        found = await asyncio.to_thread(dry_run, documents, tried, past, TOOL_NAMES)
    except AppError as error:
        return await _page(visit, form, None, told_in_place(visit, error), error.http_status)
    return await _page(visit, form, found, None, 200)


@open_to()
async def switch(visit: Visit) -> Response:
    """On or off, from the next run on. The rest of a rule is its file's."""
    try:
        await visit.parts.console.switches.rule(visit.org, visit.name("name"), visit.form.get("on") == "yes", visit.who)
    except AppError as error:
        return await _page(visit, {}, None, told_in_place(visit, error), error.http_status)
    return visit.back(f"{HOME}/rules")


def _wanted(form: dict[str, str]) -> DryRunIn:
    fields: dict[str, object] = {name: form[name] for name in ("persona", "conversation") if form.get(name)}
    if form.get("rule"):
        fields["rules"] = [form["rule"]]
    elif form.get("draft", "").strip():
        fields["rule"] = _draft(form["draft"])
    try:
        fields["limit"] = int(form.get("limit") or 50)
        return DryRunIn.model_validate(fields, strict=False)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        found = [{"field": ".".join(map(str, problem["loc"])), "message": problem["msg"]} for problem in problems]
        raise Invalid("", found) from None
    except ValueError as error:
        raise Invalid("", [{"field": "limit", "message": str(error)}]) from None


def _draft(text: str) -> object:
    try:
        with reading():
            return yaml.load(text, Plain)  # noqa: S506  (a SafeLoader)
    except YamlRefused as error:
        place = f"line {error.mark.line + 1}: " if error.mark else ""
        raise Invalid("", [{"field": "draft", "message": f"{place}{error.problem}"}]) from None


async def _page(visit: Visit, form: dict[str, str], found: object, told: str | None, status: int) -> Response:
    provisioned = visit.parts.console.provisioned
    facts = {
        "rules": await provisioned.rules(visit.org),
        "personas": [persona.name for persona in await provisioned.personas(visit.org)],
        "form": {"draft": _DRAFT, "rule": "", "persona": "", "conversation": "", "limit": "50", **form},
        "found": found,
        "told": told,
    }
    return visit.page("rules.html", status, page="rules", **facts)


ROUTES = [
    Route("/rules", rules, methods=["GET"]),
    Route("/rules/dry-run", try_rule, methods=["POST"]),
    Route("/rules/{name}/switch", switch, methods=["POST"]),
]
