"""The words of a CEL expression, with their places, and faults that name a place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_TOKENS = 400

_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\r\n\f]+|//[^\n]*)
  | (?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+[uU]?)
  | (?P<string>[rRbB]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
      |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'))
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<mark>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)


class CelFault(Exception):
    """An expression that cannot be a rule's condition. `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, sentence: str) -> None:
        super().__init__(f"line {line}, column {column}: {sentence}")
        self.line, self.column, self.sentence = line, column, sentence


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    line: int
    column: int
    start: int
    """Where it begins in the whole text."""

    @property
    def shown(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)

    def fault(self, sentence: str) -> CelFault:
        return CelFault(self.line, self.column, sentence)


@dataclass(slots=True)
class Cursor:
    """Reads the words of an expression, one after the other."""

    words: Sequence[Token]
    at: int = 0

    @property
    def next(self) -> Token:
        return self.words[self.at]

    def take(self) -> Token:
        token = self.next
        self.at += token.kind != "end"
        return token

    def found(self, *marks: str) -> Token | None:
        return self.take() if self.next.kind == "mark" and self.next.text in marks else None

    def need(self, mark: str) -> Token:
        if (token := self.found(mark)) is None:
            raise self.next.fault(f"{mark!r} is missing before {self.next.shown}")
        return token


def tokens(expression: str) -> list[Token]:
    """Ends with a token of kind `end`. Raises CelFault."""
    found: list[Token] = []
    at = 0
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        token = _placed(expression, at, str(match.lastgroup) if match else "", match[0] if match else expression[at])
        if match is None:
            hint = ": this string has no end" if token.text in "\"'" else ""
            raise token.fault(f"{token.text!r} cannot stand here{hint}")
        if token.kind != "blank":
            found.append(token)
        at = match.end()
    found.append(_placed(expression, at, "end", ""))
    if len(found) > MAX_TOKENS:
        raise found[MAX_TOKENS].fault(f"the expression is too long: at most {MAX_TOKENS} words and signs")
    return found


def _placed(expression: str, at: int, kind: str, text: str) -> Token:
    line = expression.count("\n", 0, at) + 1
    return Token(kind, text, line, at - (expression.rfind("\n", 0, at) + 1) + 1, at)
