"""Markdown as a chat without markup shows it: read line by line, so that what is no Markdown keeps its shape."""

from collections.abc import Iterator

import regex

from pipelines.text.clean import clean
from pipelines.text.inline import inline

_FENCE = regex.compile(r"[ ]{0,3}(`{3,}|~{3,})[ ]*[\w+#.-]*[ ]*")
_HEADING = regex.compile(r"[ ]{0,3}#{1,6}[ \t]+(?P<title>.*)")
_RULE = regex.compile(r"[ ]{0,3}(?:(?:-[ ]*){3,}|(?:\*[ ]*){3,}|(?:_[ ]*){3,}|={3,})")
_STAR = regex.compile(r"(?P<indent>[ \t]*)[*•][ \t]++(?P<item>[^*].*|\*.*[^*\s].*)")
_ITEM = regex.compile(r"(?P<lead>[ \t]*(?:-|\+|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)(?P<item>.*)")
_TABLE_RULE = regex.compile(r"[ ]{0,3}\|?(?:[ \t]*:?-{1,}:?[ \t]*\|)+(?:[ \t]*:?-{1,}:?[ \t]*)?")
_BAR = regex.compile(r"(?<!\\)\|")
_MOST_NAMED = 16_384
"""Characters that headings may add to a table: each row repeats them."""


def rendered(text: str) -> str:
    """`text`, cleaned, as its reader sees it, without blanks at its ends; a text of marks only keeps them.

    Render once, when the text is decided: what an escape protected would be taken for a mark the next time.
    """
    whole = clean(text)
    return clean("\n".join(_blocks(whole.split("\n")))).strip() or whole


def _blocks(lines: list[str]) -> Iterator[str]:
    stars = sum(_is_star(line) for line in lines) > 1
    fences = _closing_fences(lines)
    paragraph: list[str] = []
    at = 0
    while at < len(lines):
        block, after = _block(lines, at, fences, stars)
        if block is None:
            paragraph.append(_without_break(lines[at]))
        else:
            yield from _flushed(paragraph)
            yield from block
        at = after
    yield from _flushed(paragraph)


def _block(lines: list[str], at: int, fences: dict[int, int], stars: bool) -> tuple[list[str] | None, int]:
    """The lines shown for the block that begins at `at`, None where a paragraph goes on; and where the next begins."""
    line = lines[at]
    if (end := fences.get(at)) is not None:
        return lines[at + 1 : end], end + 1
    if "|" in line and at + 1 < len(lines) and (table := _table(lines, at)) is not None:
        return table
    if not line.strip():
        # A rule between two blank lines leaves one of them.
        return [] if at and _is_rule(lines[at - 1]) and not "".join(lines[max(0, at - 2) : at - 1]).strip() else [
            ""
        ], at + 1
    return _single(line, stars), at + 1


def _single(line: str, stars: bool) -> list[str] | None:
    """A block of one line: heading, rule or list item."""
    if _is_rule(line):
        return []
    if heading := _HEADING.fullmatch(line):
        return [inline(_without_hashes(heading["title"].strip()), narrates=False)]
    if stars and _is_star(line) and (star := _STAR.fullmatch(line)):
        return [f"{star['indent']}- {inline(_without_break(star['item']), narrates=False)}"]
    if item := _ITEM.fullmatch(line):
        return [item["lead"] + inline(_without_break(item["item"]), narrates=False)]
    return None


def _flushed(paragraph: list[str]) -> list[str]:
    """What the gathered lines show: emphasis may span them. Empties `paragraph`."""
    shown = inline("\n".join(paragraph)).split("\n") if paragraph else []
    paragraph.clear()
    return shown


def _without_break(line: str) -> str:
    """Without the blanks or the backslash by which Markdown marks a line break; the break is there anyway."""
    bare = line.rstrip(" \t")
    odd = (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
    return bare[:-1] if odd and len(bare) > 1 else bare


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line) is not None


def _without_hashes(title: str) -> str:
    """A heading may be closed by hashes as well."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else title


def _is_star(line: str) -> bool:
    """Whether `line` may be an item of a starred list. "* rire *" is something else."""
    return _STAR.fullmatch(line) is not None and not line.rstrip().endswith(" *")


def _closing_fences(lines: list[str]) -> dict[int, int]:
    """The first and last line of each fenced block. A fence that is never closed is none: its text stays text."""
    closed: dict[int, int] = {}
    opened: tuple[int, str] | None = None
    for at, line in enumerate(lines):
        if not (fence := _FENCE.fullmatch(line)):
            continue
        if opened is None:
            opened = at, fence[1]
        elif line.strip() == fence[1] and fence[1].startswith(opened[1]):
            closed[opened[0]] = at
            opened = None
    return closed


def _table(lines: list[str], at: int) -> tuple[list[str], int] | None:
    """A table as a list, every cell with its heading: a grid breaks on a phone."""
    if not _TABLE_RULE.fullmatch(lines[at + 1].rstrip()):
        return None
    heads = _cells(lines[at])
    if len(heads) != len(_cells(lines[at + 1])):
        return None
    end = at + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    if sum(map(len, heads)) * (end - at - 2) > _MOST_NAMED:
        return None
    rows = [_row(heads, _cells(line)) for line in lines[at + 2 : end]]
    return rows or [", ".join(head for head in heads if head)], end


def _row(heads: list[str], cells: list[str]) -> str:
    named = heads + [""] * (len(cells) - len(heads))
    pairs = zip(named, cells, strict=False)
    return "- " + ", ".join(f"{head}: {cell}" if head else cell for head, cell in pairs if cell)


def _cells(line: str) -> list[str]:
    cells = _BAR.split(line.strip().removeprefix("|"))
    inner = cells[:-1] if len(cells) > 1 and not cells[-1] else cells
    return [inline(cell.strip(), narrates=False) for cell in inner]
