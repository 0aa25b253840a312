"""Makes any text storable and speakable: no controls, no half characters, no hidden tags. A reader sees no change."""

import regex

_LINE_BREAKS = regex.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_CONTROLS = regex.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")

# Tag characters are invisible and spell ASCII: a way to smuggle instructions. They mean something only in flags.
_TAGS = regex.compile(r"(\U0001F3F4[\U000E0020-\U000E007E]{1,16}\U000E007F)|[\U000E0000-\U000E007F]")


def clean(text: str) -> str:
    """The same text as PostgreSQL, JSON and every receiver can take it. Idempotent.

    Line breaks of all kinds become `\\n`; other C0 and C1 controls but tab go; surrogate pairs become one character,
    lone surrogates U+FFFD (dropped, the loss would be invisible and its neighbours would join to a new word); tag
    characters outside a flag go. All else stays: emoji sequences, directional marks, joiners, noncharacters.
    """
    lines = _CONTROLS.sub("", _LINE_BREAKS.sub("\n", text))
    whole = lines.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _TAGS.sub(lambda found: found[1] or "", whole)
