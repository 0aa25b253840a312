"""Identifiers, typed so that one cannot be passed where another is meant.

Inside, a row is a database integer. Outside it is a string that says what it is: `job_42`. What an upstream app
named (conversations, contacts, personas, messages) keeps that name outside.
"""

import re
from typing import NewType

OrgId = NewType("OrgId", int)
PersonaId = NewType("PersonaId", int)
ContactId = NewType("ContactId", int)
ConversationId = NewType("ConversationId", int)
MessageId = NewType("MessageId", int)
JobId = NewType("JobId", int)
RunId = NewType("RunId", int)
CandidateId = NewType("CandidateId", int)
DeliveryId = NewType("DeliveryId", int)
DeadLetterId = NewType("DeadLetterId", int)
KeyId = NewType("KeyId", int)
PaymentId = NewType("PaymentId", int)
ErasureId = NewType("ErasureId", int)
UserId = NewType("UserId", int)
SessionId = NewType("SessionId", int)

CallId = NewType("CallId", str)
"""One HTTP attempt at a model: `run.call.fence`. A claim tries each call once, so the three are unique."""

NAME_PATTERN = r"^\.*[A-Za-z0-9_:@+~-][A-Za-z0-9._:@+~-]*$"
"""What an upstream id or name may look like, up to `NAME_LENGTH` characters. Not dots alone: in a path `..` is the
folder above, which clients and proxies resolve before anybody here sees it."""
NAME_LENGTH = 128
_NAME = re.compile(NAME_PATTERN)

_REFERENCE = re.compile(r"(job|bub|msg|dlv|dead|key|run|pay|era|user)_([1-9][0-9]{0,18})")


def reference(kind: str, number: int) -> str:
    """The public form of a row's id: `reference("job", 42)` is `job_42`."""
    return f"{kind}_{number}"


def number_of(kind: str, text: str) -> int | None:
    """The row's id behind a public reference of that kind, or None when it is not one."""
    match = _REFERENCE.fullmatch(text)
    if match is None or match[1] != kind or int(match[2]) >= 2**63:
        return None
    return int(match[2])


def is_name(text: str) -> bool:
    return len(text) <= NAME_LENGTH and _NAME.fullmatch(text) is not None


def cursor_pattern(kind: str) -> str:
    """What a cursor of a list of that kind looks like: the reference of the last row that was shown."""
    return rf"^{kind}_[1-9][0-9]{{0,17}}$"


def call_id(run: RunId, call: int, fence: int) -> CallId:
    return CallId(f"{run}.{call}.{fence}")
