"""Make what was posted storable, then judge it: clean text, a body within bounds, something to read."""

from typing import Any

from pipelines.text import clean, storable_deep
from schemas.errors import Invalid, TooLarge
from schemas.http import MAX_ATTACHMENTS, MAX_TEXT_BYTES, AttachmentIn, CandidatePatch, MessageIn, MessagePatch


def normalised(message: MessageIn) -> MessageIn:
    """The message as it is stored. Raises Invalid (nothing in it), TooLarge.

    Whitespace alone passes: the job that reads it finds that there is nothing to answer.
    """
    text = clean(message.text or "")
    attachments = _clean_attachments(message.attachments)
    must_hold_something(text, attachments)
    changes: dict[str, Any] = {"text": text, "attachments": attachments}
    if message.contact is not None:
        fields = storable_deep({"name": message.contact.name, "profile": message.contact.profile})
        changes["contact"] = message.contact.model_copy(update=fields)
    return message.model_copy(update=changes)


def normalised_patch(patch: MessagePatch) -> MessagePatch:
    """The edit as it is stored. Raises Invalid (it changes nothing), TooLarge."""
    if patch.text is None and patch.attachments is None:
        raise Invalid("nothing to change", [{"field": "text", "message": "give text, attachments or both"}])
    text = None if patch.text is None else clean(patch.text)
    attachments = None if patch.attachments is None else _clean_attachments(patch.attachments)
    _within_bounds(text or "", attachments or [])
    return patch.model_copy(update={"text": text, "attachments": attachments})


def normalised_candidate(patch: CandidatePatch) -> CandidatePatch:
    """A bubble's edit as it is stored. Raises Invalid (it changes nothing, or leaves no words), TooLarge."""
    if patch.text is None and patch.price is None and patch.ordinal is None:
        raise Invalid("nothing to change", [{"field": "text", "message": "give text, price or ordinal"}])
    if patch.text is None:
        return patch
    text = clean(patch.text)
    _within_bounds(text, [])
    if not text.strip():
        raise Invalid("an empty bubble", [{"field": "text", "message": "empty; drop the bubble instead"}])
    return patch.model_copy(update={"text": text})


def must_hold_something(text: str, attachments: list[AttachmentIn]) -> None:
    _within_bounds(text, attachments)
    if not text and not attachments:
        raise Invalid("an empty message", [{"field": "text", "message": "a message needs text or an attachment"}])


def _clean_attachments(attachments: list[AttachmentIn]) -> list[AttachmentIn]:
    return [item.model_copy(update=storable_deep(item.model_dump())) for item in attachments]


def _within_bounds(text: str, attachments: list[AttachmentIn]) -> None:
    if (size := len(text.encode())) > MAX_TEXT_BYTES:
        raise TooLarge(f"text of {size} bytes; at most {MAX_TEXT_BYTES}", limit=MAX_TEXT_BYTES)
    if len(attachments) > MAX_ATTACHMENTS:
        raise TooLarge(f"{len(attachments)} attachments; at most {MAX_ATTACHMENTS}", limit=MAX_ATTACHMENTS)
