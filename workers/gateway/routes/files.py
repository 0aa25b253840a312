"""Files by signed link: who was given one needs no key until it expires."""

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse

from workers.gateway.refusals import only
from workers.gateway.routing import GuardedRoute, The

router = APIRouter(prefix="/v1/files", tags=["files"], route_class=GuardedRoute)

_ANY = {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}, "description": "The whole file."}
# Nothing a browser opens here may run as a page of ours.
_HEADERS = {"Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}


@router.get(
    "/{id}",
    response_class=Response,
    responses={200: _ANY, **only(400, 403, 404, 410, 413, 415, 422, 500, 503)},
)
async def read_file(parts: The, id: str, exp: str = "", sig: str = "") -> Response:
    """A whole file, with its media type. 403: the link was changed; 410: it has expired."""
    found = await parts.files.open(id, exp, sig)
    headers = {**_HEADERS, "Content-Length": str(found.size)}
    return StreamingResponse(found.chunks, headers=headers, media_type=found.mime)
