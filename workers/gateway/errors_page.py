"""Writes docs/ERRORS.md from the table of codes: `python -m workers.gateway.errors_page > docs/ERRORS.md`."""

import sys

from schemas.errors import CODES

_HEAD = """# Error codes

Written by `python -m workers.gateway.errors_page`; a test keeps this page equal to `schemas/errors.py`.

Codes up to AR-503 answer HTTP calls, as [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problems
(`application/problem+json`) with the members `type`, `title`, `status`, `detail`, `code` and `request_id`, and the
facts of the case beside them. AR-404 and the codes from AR-510 up stand on jobs. "Attention" means that a person is
told; a dead letter waits until somebody retries or purges it.

| code | meaning | retried by itself | attention | dead letter |
|---|---|---|---|---|
"""


def page() -> str:
    rows = [
        f"| {code.value} | {facts.meaning} | {facts.retried} | {_yes(facts.attention)} | {_yes(facts.dead_letter)} |\n"
        for code, facts in CODES.items()
    ]
    return _HEAD + "".join(rows)


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


if __name__ == "__main__":
    sys.stdout.write(page())
