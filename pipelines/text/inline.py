"""Markdown inside a line: emphasis, code, links, escapes and entities as a chat shows them. In doubt, left alone."""

import html
from dataclasses import dataclass

import regex

from pipelines.text.links import ADDRESS, trimmed

_TOKEN = regex.compile(
    r"""
      (?P<face>¯\\{0,3}_\(ツ\)\\{0,2}_/¯ | (?<![\w*_])[*^><oOTtuUxX°•;-](?:_+|\.)[*^><oOTtuUxX°•;-](?![\w*_]))
    | (?P<code>(?P<ticks>(?<!`)`+(?!`))(?P<inside>[^`]|[^`].{0,2000}?[^`])(?P=ticks)(?!`))
    | !?\[(?P<label>(?:[^\[\]\\]|\\.|\[[^\[\]\\]{0,200}\]){0,500})\]
      \(\s{0,3}(?:<(?P<angled>[^<>\n]{1,2000})>|(?P<target>(?:[^\s()<>]|\([^\s()<>]{0,500}\)){1,2000}))
      (?:\s{1,3}(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s{0,3}\)
    | <(?P<auto>(?:https?://|mailto:)[^\s<>]{1,2000}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})>
    | (?P<bare>ADDRESS)
    | \\(?P<escaped>[!-/:-@\[-`{-~])
    | (?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)
    | (?P<mark>(?<!\*)\*{1,3}(?!\*)|(?<!_)_{1,3}(?!_))
    """.replace("ADDRESS", ADDRESS),
    regex.VERBOSE | regex.DOTALL | regex.IGNORECASE,
)
_SUBSTANCE = regex.compile(r"[\p{L}\p{N}\p{Extended_Pictographic}\p{Emoji_Presentation}]")
_SENTENCE_START = regex.compile(r"(?:^|[\n.!?…؟]|[\p{Extended_Pictographic}\ufe0f])\s*$")
# Japanese, Chinese, Thai and the like run words together: emphasis there has letters on both sides.
_INSIDE_A_WORD = regex.compile(r"[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]]", regex.V1)

# First words of what a chatter does rather than says, in whatever place: "mdr *rire*".
_ACTIONS_FR = (
    *("rire", "rires", "rit", "rigole", "sourire", "sourit", "soupir", "soupire", "clin", "bisou", "bisous"),
    *("câlin", "rougit", "pleure", "hausse", "chuchote"),
)
_ACTIONS_EN = (
    *("laugh", "laughs", "laughing", "smile", "smiles", "sigh", "sighs", "wink", "winks", "hug", "hugs"),
    *("kiss", "kisses", "blush", "blushes", "giggle", "giggles", "shrugs", "gasps", "whispers"),
)
_ACTIONS = frozenset((*_ACTIONS_FR, *_ACTIONS_EN))


@dataclass(slots=True)
class _Piece:
    """A stretch of the answer. For a row of emphasis marks, `left` says how many of them still stand."""

    shown: str
    start: int
    end: int
    mark: str = ""
    left: int = 0


def inline(text: str, *, narrates: bool = True) -> str:
    """`text`, a paragraph or less, without its marks. Where it `narrates`, `*actions*` keep their stars."""
    pieces = _pieces(text)
    _pair(pieces, text, narrates)
    return "".join(piece.mark * piece.left if piece.mark else piece.shown for piece in pieces)


def _pieces(text: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    position = 0
    while found := _TOKEN.search(text, position):
        if found.start() > position:
            pieces.append(_Piece(text[position : found.start()], position, found.start()))
        piece = _piece(found)
        pieces.append(piece)
        position = piece.end
    pieces.append(_Piece(text[position:], position, len(text)))
    return pieces


def _piece(found: "regex.Match[str]") -> _Piece:
    start, end = found.span()
    if mark := found["mark"]:
        return _Piece("", start, end, mark[0], len(mark))
    if bare := found["bare"]:
        address = trimmed(bare) or bare
        return _Piece(address, start, start + len(address))
    return _Piece(_literal(found), start, end)


def _literal(found: "regex.Match[str]") -> str:
    if found["code"]:
        return _code(found["inside"])
    if found["auto"]:
        return _address(found["auto"])
    if found["escaped"]:
        return found["escaped"]
    if found["entity"]:
        # A reference to a control character decodes to nothing; then it stays as it was written.
        return html.unescape(found["entity"]) or found["entity"]
    if found["face"]:
        return "¯\\_(ツ)_/¯" if "ツ" in found["face"] else found["face"]
    return _link(found["label"], found["angled"] or found["target"])


def _code(inside: str) -> str:
    padded = len(inside) > 2 and inside[0] == inside[-1] == " " and inside.strip()
    return inside[1:-1] if padded else inside


def _link(label: str, target: str) -> str:
    """`label (address)`; the address alone where the label says no more."""
    address = _address(html.unescape(target))
    shown = inline(label, narrates=False).strip()
    same = shown.removeprefix("https://").removeprefix("http://").rstrip("/")
    alike = same == address.removeprefix("https://").removeprefix("http://").rstrip("/")
    return address if not shown or alike else f"{shown} ({address})"


def _address(target: str) -> str:
    return target.removeprefix("mailto:").removeprefix("tel:")


def _pair(pieces: list[_Piece], text: str, narrates: bool) -> None:
    """Takes away the marks that enclose something. A row of marks pairs with one of its length, or three with 1 + 2."""
    open_rows: dict[tuple[str, int], list[int]] = {}
    substance = _substance(pieces)
    for at, piece in enumerate(pieces):
        if not piece.mark:
            continue
        if _closes(piece, text):
            while piece.left and (opener := _opener(open_rows, piece, substance[at], substance)) is not None:
                _close(pieces[opener], piece, text, narrates)
                if pieces[opener].left:
                    open_rows.setdefault((piece.mark, pieces[opener].left), []).append(opener)
        if piece.left and _opens(piece, text):
            open_rows.setdefault((piece.mark, piece.left), []).append(at)


def _substance(pieces: list[_Piece]) -> list[int]:
    """How many pieces before each one hold a letter, a digit or an emoji."""
    counts = [0]
    for piece in pieces:
        counts.append(counts[-1] + bool(_SUBSTANCE.search(piece.shown)))
    return counts


def _opener(
    open_rows: dict[tuple[str, int], list[int]], closer: _Piece, before: int, substance: list[int]
) -> int | None:
    """The nearest row that `closer` can close with something between, taken from the open ones."""
    lengths = (1, 2, 3) if closer.left == 3 else (closer.left, 3)
    rows = [row for size in lengths if (row := open_rows.get((closer.mark, size)))]
    nearest = max(rows, key=lambda row: row[-1], default=None)
    if nearest is None or substance[nearest[-1]] == before:
        return None
    return nearest.pop()


def _close(opener: _Piece, closer: _Piece, text: str, narrates: bool) -> None:
    used = min(opener.left, closer.left)
    if narrates and used == 1 and closer.mark == "*" and _is_action(text, opener.start, closer.end):
        # Shown with its stars: without them "*rire* t'es bête" would be a sentence that makes no sense.
        opener.shown = closer.shown = "*"
        opener.mark = closer.mark = ""
        opener.left = closer.left = 0
        return
    opener.left -= used
    closer.left -= used


def _is_action(text: str, start: int, end: int) -> bool:
    said = text[start + 1 : end - 1]
    if text[end:].lstrip().startswith(":"):
        return False
    first = regex.match(r"[\w]*", said)
    if first is not None and first[0].lower() in _ACTIONS:
        return True
    return said[:1].islower() and _SENTENCE_START.search(text[max(0, start - 8) : start]) is not None


def _opens(piece: _Piece, text: str) -> bool:
    after = text[piece.end : piece.end + 1]
    if not after or after.isspace() or _INSIDE_A_WORD.match(text[piece.start - 1 : piece.start]):
        return False
    return not (after.isdigit() and text[max(0, piece.start - 8) : piece.start].rstrip(" ")[-1:].isdigit())


def _closes(piece: _Piece, text: str) -> bool:
    before, after = text[piece.start - 1 : piece.start] if piece.start else "", text[piece.end : piece.end + 1]
    if not before or before.isspace():
        return False
    if (piece.mark == "_" or piece.left == 1) and _INSIDE_A_WORD.match(after):
        return False
    return not (before.isdigit() and text[piece.end : piece.end + 8].lstrip(" ")[:1].isdigit())
