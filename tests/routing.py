"""Every route that a running gateway answers, as its own routing table has them: API, console, files, metrics."""

from collections.abc import Iterable, Iterator
from typing import Any

from fastapi import FastAPI


def table_of(app: FastAPI) -> set[str]:
    """`GET /v1/jobs/{id}`; of a folder of files `GET /console/static/…`."""
    return set(_walk(app.routes, ""))


def _walk(routes: Iterable[Any], prefix: str) -> Iterator[str]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        below = inner.routes if inner is not None else getattr(route, "routes", None)
        path = prefix + getattr(route, "path", "")
        if below:
            yield from _walk(below, path)
        elif getattr(route, "methods", None):
            yield from (f"{method} {path}" for method in route.methods - {"HEAD"})
        else:
            yield f"GET {path}/…"
