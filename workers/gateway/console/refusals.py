"""What went wrong, in the visitor's language: what happened, and what to do about it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from schemas.errors import AppError, Code, TooLate
from workers.gateway.console.render import Clock, html, respond
from workers.gateway.console.visits import Visit, visit_of, words_of
from workers.gateway.console.words import Words

_KNOWN = {
    Code.FORBIDDEN: "forbidden",
    Code.GONE: "not_found",
    Code.RATE_LIMITED: "too_many",
    Code.UNAVAILABLE: "away",
    Code.TOO_LARGE: "too_large",
}


def sentence(error: AppError, words: Words, timezone: str) -> str:
    """Of a late call: who did what, when, and what state it left. Of the rest: what happened and what to do."""
    if isinstance(error, TooLate):
        return _late(error, words, Clock(words, timezone))
    if (known := _KNOWN.get(error.code)) is not None:
        return words(f"error.{known}")
    if error.code is Code.INVALID:
        return _invalid(error, words)
    return words("error.other", sentence=words.said(error.sentence))


def _late(error: TooLate, words: Words, clock: Clock) -> str:
    if error.never:
        return words("error.other", sentence=words.said(str(error.facts.get("reason", error.sentence))))
    state = words.or_token("state", error.state)
    if error.by is None:
        told = words("late.found", state=state)
    elif error.at is None:
        told = words("late.by", state=state, who=words.or_token("who", error.by))
    else:
        who = words.or_token("who", error.by)
        told = words("late.by_at", state=state, who=who, at=clock.time(error.at))
    more = [told]
    if (reason := error.facts.get("reason")) is not None:
        more.append(words("late.because", why=words.said(str(reason))))
    if (newer := error.facts.get("newer_job")) is not None:
        more.append(words("late.newer", job=newer))
    more.append(words("late.next"))
    return " ".join(more)


def _invalid(error: AppError, words: Words) -> str:
    errors: Any = error.facts.get("errors") or []
    told = "; ".join(f"{item['field']}: {words.said(item['message'])}" for item in errors)
    return words("error.invalid", told=told or words.said(error.sentence))


def refused(request: Request, error: AppError) -> Response:
    """As a toast where htmx asked, as a page where a browser did."""
    visit = visit_of(request)
    words = words_of(request)
    told = sentence(error, words, visit.session.timezone if visit else "UTC")
    if visit is not None and visit.by_htmx:
        content = visit.render("toast.html", told=told)
        return respond(content, error.http_status, {"HX-Retarget": "#toasts", "HX-Reswap": "beforeend"})
    if visit is not None:
        return visit.page("refused.html", error.http_status, page="error", told=told)
    return respond(html("plain_error.html", words, "UTC", key="error.forbidden"), error.http_status)


def told_in_place(visit: Visit, error: AppError) -> str:
    return sentence(error, visit.words, visit.session.timezone)
