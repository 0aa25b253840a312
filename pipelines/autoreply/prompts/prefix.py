"""The part of the prompt that every reply of a persona shares: tools and system texts, as the provider reads them."""

import json

from pipelines.autoreply.prompts import product
from pipelines.autoreply.prompts.persona import organisation_block, persona_block
from pipelines.autoreply.tools import palette
from pipelines.llm.layout import sorted_tools
from schemas.conversation import Organization, Persona


def shared_prefix(organization: Organization, persona: Persona, *, recalls: bool = True) -> dict[str, str]:
    """By segment, in the order of the prompt. For measuring lengths; what is sent is built by the agent. `recalls`: see
    `palette`."""
    specs = sorted_tools(tool.spec() for tool in palette(recalls=recalls))
    return {
        "tools": json.dumps([[tool.name, tool.description, tool.schema] for tool in specs]),
        "product": product.RULES,
        "organisation": organisation_block(organization),
        "persona": persona_block(persona),
    }
