"""What goes out beside a request, whoever the provider is."""

CALL_HEADER = "x-replique-call"
"""Carries the call id, so that a bill can be matched with what was asked."""
