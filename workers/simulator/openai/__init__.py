"""The other provider's dialect: chat completions with tools and structured output, and embeddings."""

from workers.simulator.openai.api import openai_routes

__all__ = ["openai_routes"]
