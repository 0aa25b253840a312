"""The part of the prompt that every reply of a persona shares: tools and system texts, as the provider reads them."""

import json

from pipelines.autoreply.prompts import product
from pipelines.autoreply.prompts.persona import organisation_block, persona_block
from pipelines.autoreply.tools import TOOLS
from pipelines.llm.layout import sorted_tools
from schemas.conversation import Organization, Persona


def shared_prefix(organization: Organization, persona: Persona) -> str:
    """For measuring its length; what is sent is built by the agent."""
    tools = [[tool.name, tool.description, tool.schema] for tool in sorted_tools(tool.spec() for tool in TOOLS)]
    return "\n".join([json.dumps(tools), product.RULES, organisation_block(organization), persona_block(persona)])
