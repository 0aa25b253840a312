"""How every route begins: who calls, is the query known, is the body JSON. Only then FastAPI validates."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.params import Form
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator

from schemas.access import Caller
from schemas.errors import NotFound, Unavailable
from schemas.ids import OrgId, is_name, number_of
from workers.gateway.auth import ORGANIZATION, Need, need_of
from workers.gateway.parts import Parts
from workers.gateway.reading import check_form, check_shape, read_json, unknown

T = TypeVar("T")

DONE = "done, but what it has made could not be read again: look at it instead of asking for it once more"

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ReadRequest(Request):
    """A request whose body was read and parsed by us; FastAPI asks it for both."""

    parsed: Any = None

    async def json(self) -> Any:
        return self.parsed


class GuardedRoute(APIRoute):
    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        need = need_of(self.endpoint)
        queries = _queries(self.dependant)
        takes_body = self.body_field is not None
        needs_body = self.body_field is not None and self.body_field.field_info.is_required()
        fields = {field.alias for field in self.dependant.body_params} if _is_form(self) else None

        async def guarded(request: Request) -> Response:
            if need is not None:
                request.state.caller = await _admit(request, need)
            _refuse_unknown_query(request, queries)
            read = ReadRequest(request.scope, request.receive)
            if fields is not None:
                await check_form(read, fields)
            else:
                read.parsed = await read_json(read)
                check_shape(read.parsed, takes_body, needs_body)
            return await handle(read)

        return guarded


def _queries(dependant: Dependant) -> set[str]:
    """Also those of what the endpoint depends on."""
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*map(_queries, dependant.dependencies))


def _is_form(route: APIRoute) -> bool:
    return route.body_field is not None and isinstance(route.body_field.field_info, Form)


async def _admit(request: Request, need: Need) -> Caller:
    headers = request.headers
    address = request.client.host if request.client else "unknown"
    return await parts_of(request).guard.admit(need, headers.get("authorization"), headers.get(ORGANIZATION), address)


def _refuse_unknown_query(request: Request, known: set[str]) -> None:
    if not request.scope["query_string"]:
        return
    strange = [name for name in request.query_params if name not in known]
    if strange:
        raise unknown("parameter", strange)


def parts_of(request: Request) -> Parts:
    return cast(Parts, request.app.state.parts)


async def _parts(request: Request) -> Parts:
    # A dependency that is no coroutine would cost a thread each time.
    return parts_of(request)


async def _caller(request: Request) -> Caller:
    return cast(Caller, request.state.caller)


def org_of(caller: Caller) -> OrgId:
    """The organisation of a scoped route."""
    if caller.org is None:
        raise RuntimeError("the guard let a caller without an organisation into a scoped route")
    return caller.org


def _true_or_false(value: Any) -> Any:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("true or false")
    return value


Truth = Annotated[bool, BeforeValidator(_true_or_false)]
"""For query parameters: as JSON writes it, not `yes` or `1`."""
The = Annotated[Parts, Depends(_parts)]
By = Annotated[Caller, Depends(_caller)]


def answer(model: BaseModel, status: int = 200) -> Response:
    """The model as it is: it was built here, so nothing validates it again."""
    return Response(model.model_dump_json(), status, media_type="application/json")


async def as_made(reading: Awaitable[T]) -> T:
    """What an action has made, read after its commit. Where that fails the action is done all the same: who is told so
    (`done`) does not ask again, to be refused by what they did themselves."""
    try:
        return await reading
    except Unavailable as error:
        raise Unavailable(DONE, **error.facts | {"done": True}) from error


def known_name(name: str) -> str:
    """A path's upstream id. What cannot be one does not exist."""
    if not is_name(name):
        raise NotFound("nothing can be called that: no id looks like it")
    return name


_KINDS = {"bub": "bubble", "pay": "payment", "dead": "dead letter"}


def known_number(kind: str, reference: str) -> int:
    number = number_of(kind, reference)
    if number is None:
        raise NotFound(f"no such {_KINDS.get(kind, kind)}: ids of that kind look like {kind}_42")
    return number
