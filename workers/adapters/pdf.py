"""The text of a PDF, by PDFium. It must not be used by two threads at once, whatever the document."""

from threading import Lock

import pypdfium2

from schemas.errors import Invalid

MOST_PAGES = 500
_ONE_AT_A_TIME = Lock()


def text_of_pdf(content: bytes, most_characters: int) -> str:
    """Its pages, a blank line between them; stops soon after `most_characters`. Takes about 1 ms a page: call it
    beside the event loop. Raises Invalid for what cannot be read: not a PDF, a password, too many pages."""
    with _ONE_AT_A_TIME:
        try:
            document = pypdfium2.PdfDocument(content)
        except pypdfium2.PdfiumError:
            raise _unreadable("the PDF cannot be read: it is damaged, or protected by a password") from None
        try:
            return _pages(document, most_characters)
        except pypdfium2.PdfiumError:
            raise _unreadable("a page of the PDF cannot be read") from None
        finally:
            document.close()


def _pages(document: pypdfium2.PdfDocument, most_characters: int) -> str:
    if len(document) > MOST_PAGES:
        raise _unreadable(f"the PDF has {len(document)} pages, at most {MOST_PAGES}: cut it into documents")
    texts: list[str] = []
    for page in document:
        reader = page.get_textpage()
        texts.append(reader.get_text_range().replace("\r\n", "\n").strip())
        reader.close()
        page.close()
        if sum(map(len, texts)) > most_characters:
            break
    return "\n\n".join(texts)


def _unreadable(sentence: str) -> Invalid:
    return Invalid(sentence, [{"field": "file", "message": sentence}])
