"""Templates to HTML: everything that is filled in is escaped, and every page forbids what it does not need."""

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from workers.gateway.console.words import Words

# Pictures lie on the platforms of the organisations; nothing else comes from outside, and nothing stands inline.
POLICY = (
    "default-src 'self'; img-src 'self' https: http: data:; media-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",  # `no-referrer` would also hide the origin of our own forms
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


@cache
def environment() -> Environment:
    loader = PackageLoader("workers.gateway.console", "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["segment"] = lambda name: quote(str(name), safe="")
    made.filters["milliseconds"] = milliseconds
    made.filters["own_path"] = own_path
    made.filters["initial"] = lambda name: (str(name).strip() or "?")[0].upper()
    made.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False, indent=1, default=str)
    made.globals["query_with"] = query_with
    made.globals["version"] = static_version()
    return made


def html(template: str, words: Words, timezone: str, /, **facts: Any) -> str:
    clock = Clock(words, timezone)
    return environment().get_template(template).render(t=words, clock=clock, **facts)


def respond(content: str, status: int = 200, headers: dict[str, str] | None = None) -> HTMLResponse:
    return HTMLResponse(content, status, headers={**HEADERS, **(headers or {})})


class Clock:
    """Times as they stand on a wall in the organisation's zone."""

    def __init__(self, words: Words, timezone: str) -> None:
        self._words = words
        self._zone = ZoneInfo(timezone)

    def time(self, at: datetime | str | None) -> str:
        return "" if at is None else self._local(at).strftime("%H:%M:%S")

    def moment(self, at: datetime | str | None) -> str:
        """`3 Dec, 14:02`."""
        if at is None:
            return ""
        local = self._local(at)
        month = self._words(f"month.{local.month}")
        return self._words("unit.moment", day=local.day, month=month, time=local.strftime("%H:%M"))

    def day(self, at: datetime) -> str:
        local = self._local(at)
        return f"{local.day} {self._words(f'month.{local.month}')}"

    def iso(self, at: datetime | str | None) -> str:
        return "" if at is None else self._local(at).isoformat(timespec="seconds")

    def _local(self, at: datetime | str) -> datetime:
        return (datetime.fromisoformat(at) if isinstance(at, str) else at).astimezone(self._zone)


def milliseconds(at: datetime | None) -> str:
    """Since 1970, as browsers count."""
    return "" if at is None else str(round(at.timestamp() * 1000))


def own_path(url: str) -> str:
    """A link to a file of ours, wherever this browser reached us: host and scheme are left out."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.path.startswith("/v1/files/") else url


def query_with(fields: Mapping[str, str], **more: str) -> str:
    """What an address says after its question mark, with some of it changed."""
    return urlencode({**fields, **more})


@cache
def static_version() -> str:
    """Changes with what is served: browsers may keep the files for as long as they like."""
    whole = sha256()
    for name in ("console.css", "console.js", "live.js", "htmx.min.js"):
        whole.update((files("workers.gateway.console") / "static" / name).read_bytes())
    return whole.hexdigest()[:12]
