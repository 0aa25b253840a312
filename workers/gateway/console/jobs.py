"""A job on one page: its bubbles, what its runs did call by call, who moved it, what it cost."""

from starlette.responses import Response
from starlette.routing import Route

from schemas.ids import JobId
from workers.gateway.console.visits import READS, Visit, open_to
from workers.gateway.explaining import explained


@open_to(*READS, scoped=False)
async def job(visit: Visit) -> Response:
    shown = await visit.parts.jobs.one(visit.session.org, JobId(visit.number("job")))
    why = await explained(visit.parts, visit.session.org, shown.id)
    return visit.page("job.html", page="job", shown=shown, why=why)


ROUTES = [Route("/jobs/{id}", job, methods=["GET"])]
