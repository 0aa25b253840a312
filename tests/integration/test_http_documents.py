"""`Document` over HTTP: in a manifest, and as a file."""

import json
from typing import Any

import pytest

from tests.builders_face import ADMIN, Gateway, a_gateway

FORM = {"name": "faq", "scope": "organization"}
BOUNDARY = "----bound"


def form(fields: dict[str, str], file: bytes | None) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if file is not None:
        head = 'Content-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: application/octet-stream'
        parts.append(f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + file + b"\r\n")
    return b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])


async def upload(gateway: Gateway, file: bytes | None, key: str = ADMIN, **fields: str) -> tuple[int, Any]:
    answer = await gateway.call(
        "POST",
        "/v1/documents",
        content=form(FORM | fields, file),
        headers={"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"},
        key=key,
        org="acme" if key == ADMIN else None,
    )
    return answer.status_code, answer.json()


def a_pdf(*lines: str) -> bytes:
    """One page with these lines, or none: a scan, as far as text goes. Written by hand, as PDF 1.4 says."""
    shown = "".join(f"({line}) Tj 0 -20 Td " for line in lines)
    stream = f"BT /F1 12 Tf 50 700 Td {shown}ET".encode("cp1252")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length " + str(len(stream)).encode() + b" >>\nstream\n" + stream + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for n, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{n} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        out
        + (
            f"xref\n0 6\n0000000000 65535 f \n{table}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
        ).encode()
    )


async def texts(gateway: Gateway) -> list[str]:
    found = await gateway.run("SELECT json_agg(text ORDER BY id) FROM chunks")
    return list(found or [])


async def test_a_text_and_a_pdf_are_kept_as_documents(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        plain = await upload(gateway, b"# Livraison\n\nLes colis partent le vendredi.", title="Aide")
        again = await upload(gateway, b"# Livraison\n\nLes colis partent le vendredi.", title="Aide")
        pdf = await upload(gateway, a_pdf("Remboursé sous 14 jours, œuvres comprises."), name="cgv", language="fr")
        kept = await texts(gateway)
    assert plain == (
        200,
        {
            "name": "faq",
            "result": "created",
            "scope": "organization",
            "persona": None,
            "contact": None,
            "title": "Aide",
            "passages": 1,
        },
    )
    assert (again[1]["result"], pdf[0], pdf[1]["result"]) == ("unchanged", 200, "created")
    assert kept == ["# Livraison\nLes colis partent le vendredi.", "Remboursé sous 14 jours, œuvres comprises."]


@pytest.mark.parametrize(
    ("file", "fields", "status", "field", "sentence"),
    [
        (a_pdf(), {}, 422, "file", "a scanned PDF must be read by a text recognition first"),
        (b"%PDF-1.7 nothing of the kind", {}, 422, "file", "damaged, or protected by a password"),
        (b"\xff\xfe\x00", {}, 422, "file", "neither a PDF nor text in UTF-8"),
        (b"a\x00b", {}, 422, "file", "neither a PDF nor text in UTF-8"),
        (b"  \n", {}, 422, "file", "there is no text in the file"),
        (b"x", {"scope": "persona"}, 422, "scope", "needs persona"),
        (b"x", {"persona": "maya"}, 422, "scope", "has no persona"),
        (b"x", {"scope": "persona", "persona": "nobody"}, 422, "persona", "there is no persona 'nobody'"),
        (b"x", {"scope": "everyone"}, 422, "scope", ""),
        (b"x", {"name": "a b"}, 422, "name", ""),
        (b"x", {"color": "red"}, 422, "color", "unknown field"),
        (None, {}, 422, "file", ""),
        (b"x" * 200_001, {}, 413, None, "at most 200000 characters"),
    ],
)
async def test_what_cannot_be_kept_is_told_clearly(
    database_url: str, file: bytes | None, fields: dict[str, str], status: int, field: str | None, sentence: str
) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        answer = await upload(gateway, file, **fields)
        kept = await texts(gateway)
    assert (answer[0], kept) == (status, [])
    assert field is None or [item["field"].removeprefix("body.") for item in answer[1]["errors"]] == [field]
    assert sentence in json.dumps(answer[1])


async def test_only_forms_are_taken_and_only_from_an_administrator(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        not_a_form = await gateway.call("POST", "/v1/documents", {"name": "a"}, org="acme")
        app = await gateway.key("app", "acme")
        refused = await upload(gateway, b"x", key=app)
        elsewhere = await gateway.call("POST", "/v1/documents", content=form(FORM, b"x"), org="nowhere")
    assert (not_a_form.status_code, refused[0], elsewhere.status_code) == (415, 403, 404)


async def test_a_file_may_be_longer_than_other_bodies_but_not_endless(database_url: str) -> None:
    async with a_gateway(database_url, REPLIQUE_GATEWAY__DOCUMENT_BYTES="1200000") as gateway:
        await gateway.organization("acme")
        long = await upload(gateway, a_pdf("Bonjour.") + b"%" * 1_100_000)
        longer = await upload(gateway, a_pdf("Bonjour.") + b"%" * 1_200_000, name="b")
    assert (long[0], longer[0]) == (200, 413)


async def test_a_document_in_a_manifest_needs_whom_it_is_for(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        documents = [
            {"kind": "Document", "name": "a", "scope": "contact", "text": "x"},
            {"kind": "Document", "name": "b", "scope": "organization", "text": " "},
            {"kind": "Document", "name": "c", "scope": "organization", "text": "x", "colour": 1},
        ]
        answers = [
            await gateway.call("POST", "/v1/apply", {"resources": [document]}, org="acme") for document in documents
        ]
    assert [answer.status_code for answer in answers] == [422] * 3
    told = [answer.text for answer in answers]
    assert all(word in text for word, text in zip(("needs contact", "text", "colour"), told, strict=True))


async def test_persona_and_document_may_have_one_name(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        document = {
            "kind": "Document",
            "name": "maya",
            "scope": "persona",
            "persona": "maya",
            "text": "Elle aime la mer.",
        }
        answer = await gateway.call(
            "POST", "/v1/apply", {"resources": [{"kind": "Persona", "name": "maya"}, document]}, org="acme"
        )
    assert [item["result"] for item in answer.json()["resources"]] == ["unchanged", "created"]
