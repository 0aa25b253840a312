"""`python -m workers.adapters.pdf_program CHARACTERS MEGABYTES SECONDS`: a PDF on standard input, its text as JSON on
standard output. A process of its own: PDFium is a large C++ library, and what it reads was written by strangers.

`{"text": …}`, or `{"error": a sentence}`.
"""

import json
import resource
import sys
from typing import Any

MOST_PAGES = 500


class Unreadable(Exception):
    """The sentence is for whoever uploaded it."""


def main() -> None:
    characters, megabytes, seconds = map(int, sys.argv[1:4])
    confine(megabytes * 1024 * 1024, seconds)
    try:
        answer = {"text": text_of(sys.stdin.buffer.read(), characters)}
    except Unreadable as error:
        answer = {"error": str(error)}
    sys.stdout.write(json.dumps(answer))


def confine(memory: int, seconds: int) -> None:
    """No more memory or processor time than that, no file to write to, no core dump with the document in it."""
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def text_of(content: bytes, most_characters: int) -> str:
    """Its pages, a blank line between them; stops soon after `most_characters`. Raises Unreadable."""
    # Under the limits already: the library is part of what they are for.
    import pypdfium2  # noqa: PLC0415

    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError:
        raise Unreadable("the PDF cannot be read: it is damaged, or protected by a password") from None
    try:
        return _pages(document, most_characters)
    except pypdfium2.PdfiumError:
        raise Unreadable("a page of the PDF cannot be read") from None


def _pages(document: Any, most_characters: int) -> str:
    if len(document) > MOST_PAGES:
        raise Unreadable(f"the PDF has {len(document)} pages, at most {MOST_PAGES}: cut it into documents")
    texts: list[str] = []
    for page in document:
        reader = page.get_textpage()
        texts.append(reader.get_text_range().replace("\r\n", "\n").strip())
        reader.close()
        page.close()
        if sum(map(len, texts)) > most_characters:
            break
    return "\n\n".join(texts)


if __name__ == "__main__":
    main()
