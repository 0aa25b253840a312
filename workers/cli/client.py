"""The gateway's routes, as the command line calls them. What goes wrong comes out as a sentence."""

from types import TracebackType
from typing import Any, Self

import httpx2

from workers.cli.connection import Connection
from workers.cli.failures import GatewayAway, GatewayRefused

TIMEOUT = httpx2.Timeout(15.0, connect=5.0)
STANDARD_MEMBERS = frozenset({"type", "title", "status", "detail", "instance", "code", "errors"})


class Gateway:
    """One gateway, seen with one key. `org` names the organisation for keys that are not bound to one.

    Without it, an installation with exactly one organisation is asked for that one.
    """

    def __init__(self, connection: Connection, org: str | None = None, transport: httpx2.BaseTransport | None = None):
        self.org = org
        self.url = connection.url
        self._http = httpx2.Client(
            base_url=connection.url,
            timeout=TIMEOUT,
            transport=transport,
            headers={"Authorization": f"Bearer {connection.key}"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None) -> None:
        self._http.close()

    def apply(self, resources: list[dict[str, Any]]) -> dict[str, Any]:
        return self._call("POST", "/v1/apply", {"resources": resources})

    def post_message(self, message: dict[str, Any]) -> dict[str, Any]:
        return self._call("POST", "/v1/messages", message)

    def conversation(self, name: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/conversations/{_segment(name)}")

    def jobs(self, **filters: str | int | None) -> dict[str, Any]:
        """One page: `{"items": […], "next": cursor or null}`."""
        return self._call("GET", "/v1/jobs", query=_query(filters))

    def job(self, reference: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/jobs/{_segment(reference)}")

    def steer(self, reference: str, verb: str, body: Any = None) -> dict[str, Any]:
        """`verb`: approve, hold, release, cancel, retry, regenerate."""
        return self._call("POST", f"/v1/jobs/{_segment(reference)}/{verb}", body)

    def edit(self, bubble: str, changes: dict[str, Any]) -> dict[str, Any]:
        """`changes`: text, price, ordinal, version."""
        return self._call("PATCH", f"/v1/candidates/{_segment(bubble)}", changes)

    def drop(self, bubble: str) -> dict[str, Any]:
        return self._call("DELETE", f"/v1/candidates/{_segment(bubble)}")

    def steer_conversation(self, name: str, verb: str, body: Any = None) -> dict[str, Any]:
        """`verb`: takeover, resume, consent, reopen."""
        return self._call("POST", f"/v1/conversations/{_segment(name)}/{verb}", body)

    def dismiss(self, job: str, reason: str) -> dict[str, Any]:
        return self._call("POST", f"/v1/attention/{_segment(job)}/dismiss", {"reason": reason})

    def dead_letters(self, **filters: str | int | None) -> dict[str, Any]:
        """One page."""
        return self._call("GET", "/v1/dead-letters", query=_query(filters))

    def dead_letter(self, reference: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/dead-letters/{_segment(reference)}")

    def retry_dead(self, reference: str) -> dict[str, Any]:
        return self._call("POST", f"/v1/dead-letters/{_segment(reference)}/retry")

    def purge_dead(self, reference: str) -> dict[str, Any]:
        return self._call("DELETE", f"/v1/dead-letters/{_segment(reference)}")

    def retry_all_dead(self, **filters: str | int | None) -> dict[str, Any]:
        """Some of those that the filter finds; `next` is the cursor of the others."""
        return self._call("POST", "/v1/dead-letters/retry", query=_query(filters))

    def purge_all_dead(self, **filters: str | int | None) -> dict[str, Any]:
        """As `retry_all_dead`."""
        return self._call("DELETE", "/v1/dead-letters", query=_query(filters))

    def explain(self, subject: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/explain/{_segment(subject)}")

    def erase(self, contact: str) -> dict[str, Any]:
        return self._call("DELETE", f"/v1/contacts/{_segment(contact)}")

    def erasure(self, reference: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/erasures/{_segment(reference)}")

    def dry_run(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return self._call("POST", "/v1/rules/dry-run", wanted)

    def doctor(self) -> dict[str, Any]:
        return self._call("GET", "/v1/doctor")

    def queues(self) -> dict[str, Any]:
        return self._call("GET", "/v1/queues")

    def costs(self, **wanted: str | int | None) -> dict[str, Any]:
        """`wanted`: group, since, until, limit."""
        return self._call("GET", "/v1/costs", query={k: str(v) for k, v in wanted.items() if v is not None})

    def make_key(self, role: str, name: str | None) -> dict[str, Any]:
        return self._call("POST", "/v1/keys", {"role": role} | ({"name": name} if name else {}))

    def keys(self, **page: str | int | None) -> dict[str, Any]:
        return self._call("GET", "/v1/keys", query=_query(page))

    def revoke_key(self, reference: str) -> dict[str, Any]:
        return self._call("DELETE", f"/v1/keys/{_segment(reference)}")

    def add_user(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return self._call("POST", "/v1/users", wanted)

    def users(self, **page: str | int | None) -> dict[str, Any]:
        return self._call("GET", "/v1/users", query=_query(page))

    def link_user(self, reference: str) -> dict[str, Any]:
        return self._call("POST", f"/v1/users/{_segment(reference)}/link")

    def disable_user(self, reference: str) -> dict[str, Any]:
        return self._call("DELETE", f"/v1/users/{_segment(reference)}")

    def readiness(self) -> dict[str, Any]:
        return self._call("GET", "/readyz")

    def _call(self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None) -> dict[str, Any]:
        answer = self._send(method, path, body, query)
        if answer.is_error and self.org is None and (only := _only_organization(answer)):
            self.org = only
            answer = self._send(method, path, body, query)
        if answer.is_error or answer.is_redirect:
            raise _refused(answer)
        return _object(answer) if answer.content else {}

    def _send(self, method: str, path: str, body: Any, query: dict[str, str] | None) -> httpx2.Response:
        headers = {"X-Organization": self.org} if self.org else None
        try:
            return self._http.request(method, path, json=body, params=query, headers=headers)
        except httpx2.TimeoutException as error:
            raise GatewayAway(f"the gateway at {self.url} does not answer in time") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise GatewayAway(
                f"the gateway at {self.url} cannot be reached ({_why(error)}); is `replique up` running?"
            ) from error


def _why(error: Exception) -> str:
    """Without the number that the system calls it by: `[Errno 111] Connection refused`."""
    return str(error).partition("] ")[2] or str(error)


def _query(filters: dict[str, str | int | None]) -> dict[str, str]:
    """Only what is asked for."""
    return {name: str(value) for name, value in filters.items() if value is not None}


def _segment(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")


def _object(answer: httpx2.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise GatewayAway(f"what answers at {answer.url} is no Replique gateway")
    return found


def _only_organization(answer: httpx2.Response) -> str | None:
    """The gateway lists the organisations it could have meant; one of one needs no question."""
    known = _members(answer).get("organizations")
    return str(known[0]) if isinstance(known, list) and len(known) == 1 else None


def _members(answer: httpx2.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _refused(answer: httpx2.Response) -> GatewayRefused | GatewayAway:
    problem = _members(answer)
    if "code" not in problem:
        return GatewayAway(f"what answers at {answer.url} is no Replique gateway: HTTP {answer.status_code}")
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP {answer.status_code}")
    errors = [e for e in problem.get("errors") or [] if isinstance(e, dict)]
    fields = [str(e.get("field")) for e in errors]
    told = [f"{field}: {e.get('message')}" for field, e in zip(fields, errors, strict=True)]
    sentence = detail.removesuffix(f": {', '.join(fields)}")  # each field is named with what is wrong with it
    facts = {name: value for name, value in problem.items() if name not in STANDARD_MEMBERS}
    whole = "; ".join([sentence, *told, *_asked(facts)])
    return GatewayRefused(str(problem["code"]), _as_typed(whole), facts, fields)


def _as_typed(sentence: str) -> str:
    """The option instead of the header that it becomes."""
    return sentence.replace("the header X-Organization", "--org").replace("X-Organization", "--org")


def _asked(facts: dict[str, object]) -> list[str]:
    """What the gateway wants to hear before it does it."""
    asked = []
    if isinstance(known := facts.get("organizations"), list):
        asked.append(f"organisations: {', '.join(map(str, known)) or 'none'} (--org)")
    if "version" in facts and "text" in facts:
        asked.append(f"version {facts['version']} says: {facts['text']}")
    return asked
