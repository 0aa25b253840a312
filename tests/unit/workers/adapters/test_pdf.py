"""PDFs that strangers wrote: read apart, within bounds, and refused in words."""

import threading
import time
import zlib
from collections.abc import Callable

import pytest

from schemas.errors import Invalid
from workers.adapters.pdf import Confined, text_of_pdf

HELLO = b"BT /F1 12 Tf 10 700 Td (Bonjour) Tj ET "


def a_pdf(stream: bytes, times: int = 1, pages: int = 1) -> bytes:
    """Pages that all show one stream, which stands in it so many times, packed."""
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(stream) for _ in range(times)) + packer.flush()
    kids = b" ".join(b"%d 0 R" % (5 + n) for n in range(pages))
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R/Resources<</Font<</F1 4 0 R>>>>>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, pages),
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        *[page] * pages,
    ]
    out, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, start = len(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    return out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, start)


def test_its_text_is_read() -> None:
    assert text_of_pdf(a_pdf(HELLO, pages=2), 1_000) == "Bonjour\n\nBonjour"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: b"%PDF-1.7 nothing of the kind", "damaged, or protected"),
        (lambda: b"", "damaged, or protected"),
        (lambda: a_pdf(HELLO)[:400], "damaged, or protected"),
        (lambda: a_pdf(HELLO, pages=501), "has 501 pages, at most 500"),
        (lambda: a_pdf(HELLO * 1_000, times=4_000), "too much memory or time"),
        (lambda: a_pdf(b" " * 1_000_000, times=600), "too much memory or time"),
    ],
    ids=["no PDF", "nothing", "cut", "pages", "time", "memory"],
)
def test_what_cannot_be_read_is_refused(make: Callable[[], bytes], sentence: str) -> None:
    content, began = make(), time.monotonic()

    with pytest.raises(Invalid, match=sentence):
        text_of_pdf(content, 200_000, Confined(megabytes=400, seconds=2))

    assert time.monotonic() - began < 30


def test_several_at_once() -> None:
    texts: list[str] = []
    asking = [
        threading.Thread(target=lambda: texts.append(text_of_pdf(a_pdf(HELLO), 1_000)), daemon=True) for _ in range(5)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(60)

    assert texts == ["Bonjour"] * 5
