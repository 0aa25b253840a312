"""Documents as files: text, Markdown or PDF. As text they come with `POST /v1/apply`."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, UploadFile
from fastapi.responses import Response
from pydantic import ValidationError

from pipelines.memory.documents import passages
from pipelines.text import is_blank, storable
from schemas.answers import DocumentOut
from schemas.documents import KnowledgeDocument
from schemas.errors import Invalid, TooLarge
from schemas.manifest import Manifest
from schemas.memory import Scope
from schemas.spec import MAX_TEXT
from workers.adapters.pdf import text_of_pdf
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer

UPLOADS = "/v1/documents"

_PDF = b"%PDF-"
_PDF_BEGINS_WITHIN = 1024

router = APIRouter(prefix=UPLOADS, tags=["provisioning"], route_class=GuardedRoute)


@router.post("", response_model=DocumentOut, responses=refusals(404, 409))
@allows(scoped=True)
async def upload_document(
    parts: The,
    caller: By,
    name: Annotated[str, Form()],
    scope: Annotated[Scope, Form()],
    file: Annotated[UploadFile, File(description="Text or Markdown in UTF-8, or a PDF that holds text.")],
    persona: Annotated[str | None, Form()] = None,
    contact: Annotated[str | None, Form()] = None,
    title: Annotated[str | None, Form()] = None,
    language: Annotated[str | None, Form()] = None,
) -> Response:
    """Keep a file as the Document of that name: what replies can look up when this answers. The same name again
    replaces it whole."""
    text = await asyncio.to_thread(_text_of, await file.read())
    given = {"persona": persona, "contact": contact, "title": title, "language": language}
    fields = {field: value for field, value in given.items() if value is not None}
    document = _checked({"kind": "Document", "name": name, "scope": scope, "text": text, **fields})
    try:
        applied = await parts.provision.apply(caller.named, Manifest(resources=[document]), caller.who)
    except Invalid as refused:
        raise _as_form(refused) from None
    return answer(
        DocumentOut(
            name=document.name,
            result=applied.resources[0].result,
            scope=document.scope,
            persona=document.persona,
            contact=document.contact,
            title=document.title,
            passages=len(await asyncio.to_thread(passages, document.text)),
        )
    )


def _text_of(content: bytes) -> str:
    """What is in it counts, not what the file is called. Raises Invalid, TooLarge."""
    text = text_of_pdf(content, MAX_TEXT) if _PDF in content[:_PDF_BEGINS_WITHIN] else _decoded(content)
    if len(text) > MAX_TEXT:
        raise TooLarge(f"a document holds at most {MAX_TEXT} characters: cut it into several", limit=MAX_TEXT)
    if is_blank(text):
        raise _invalid("there is no text in the file: a scanned PDF must be read by a text recognition first")
    return storable(text)


def _decoded(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _invalid("the file is neither a PDF nor text in UTF-8") from None
    if "\0" in text:
        raise _invalid("the file is neither a PDF nor text in UTF-8")
    return text


def _checked(fields: dict[str, Any]) -> KnowledgeDocument:
    try:
        return KnowledgeDocument.model_validate(fields)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        found = [{"field": ".".join(map(str, p["loc"])) or "scope", "message": p["msg"]} for p in problems]
        raise Invalid("; ".join(f"{item['field']}: {item['message']}" for item in found), found) from None


def _as_form(refused: Invalid) -> Invalid:
    """Fields by the names they have in this form."""
    errors: Any = refused.facts["errors"]
    prefix = "resources.0."
    return Invalid(refused.sentence, [{**item, "field": item["field"].removeprefix(prefix)} for item in errors])


def _invalid(sentence: str) -> Invalid:
    return Invalid(sentence, [{"field": "file", "message": sentence}])
