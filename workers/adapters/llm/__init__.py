"""Providers behind the `ChatModel` port. Their libraries and exceptions end here."""

from workers.adapters.llm.build import Llm, build

__all__ = ["Llm", "build"]
