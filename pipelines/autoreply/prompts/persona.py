"""Who speaks: the organisation, then the persona. The same for every contact."""

from schemas.conversation import Organization, Persona

LANGUAGES = {"fr": "French", "en": "English", "es": "Spanish", "de": "German", "it": "Italian", "pt": "Portuguese"}


def organisation_block(organization: Organization) -> str:
    """Empty when the organisation said nothing of itself."""
    said = organization.spec.ai_context.strip()
    return f"# Organisation\n{said}" if said else ""


def persona_block(persona: Persona) -> str:
    spec = persona.spec
    lines = ["# Persona", f"Name: {spec.display_name or persona.name}"]
    if spec.language:
        lines.append(f"Language: {language_name(spec.language)}")
    if spec.tone.strip():
        lines.append(f"Tone: {spec.tone.strip()}")
    if spec.instructions.strip():
        lines += ["", spec.instructions.strip()]
    lines += ["", "# Limits", *_limits(persona)]
    return "\n".join(lines)


def language_name(locale: str) -> str:
    """`"fr-CA"` is `"French (fr-CA)"`; a language without a name here is its code."""
    name = LANGUAGES.get(locale.split("-")[0])
    return f"{name} ({locale})" if name else locale


def _limits(persona: Persona) -> list[str]:
    limits = persona.spec.limits
    lines = [f"At most {limits.max_bubbles} bubbles in a reply, at most {limits.max_chars} characters in each."]
    if limits.banned_words:
        lines.append("Words never to be used: " + ", ".join(limits.banned_words) + ".")
    return lines
