"""Pages that are written from the source say what the source says."""

from pathlib import Path

from workers.gateway.errors_page import page

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_error_page_is_the_table_of_codes() -> None:
    assert (DOCS / "ERRORS.md").read_text() == page()
