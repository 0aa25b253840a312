"""Reads a condition before it is stored: its grammar, the names in it, types where they can be known, and its cost.

What a condition may cost is in `bounds`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import available_timezones

from pipelines.autoreply.strategy import types
from pipelines.autoreply.strategy.bounds import COUNTED, Bounds, made
from pipelines.autoreply.strategy.tokens import Cursor, Token, tokens
from pipelines.autoreply.strategy.types import DYN

MAX_DEPTH = 24
_RESERVED = frozenset({"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"})
_LITERALS = {"true": "bool", "false": "bool", "null": "null"}


@dataclass(frozen=True, slots=True)
class Operand:
    """A part that was read: its type, where it begins; of a string literal its token, of a field that was selected
    from a map or a variable `selected`."""

    kind: str
    at: Token
    literal: bool = False
    selected: bool = False


def check(expression: str, variables: Mapping[str, Mapping[str, str] | str]) -> list[Token]:
    """`variables`: by name their type, or the types of their fields. Answers the patterns of `matches`, as written.
    Raises CelFault."""
    reader = _Reader(tokens(expression), variables=variables)
    found = reader.expression(0)
    if reader.next.kind != "end":
        raise reader.next.fault(f"{reader.next.text!r} cannot stand here: the expression was complete before it")
    if not types.fits(found.kind, "bool"):
        raise found.at.fault(f"a condition is true or false, and this is {types.a(found.kind)}")
    return reader.bounds.patterns


@dataclass(slots=True, kw_only=True)
class _Reader(Cursor):
    variables: Mapping[str, Mapping[str, str] | str]
    depth: int = 0
    bound: dict[str, str] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)

    # ------------------------------------------------------------ operators, the loosest first

    def expression(self, level: int) -> Operand:
        """Level 0 is `? :`, then ||, &&, comparisons, sums, products."""
        self.depth += 1
        if self.depth > MAX_DEPTH * 6:
            raise self.next.fault(f"the expression is nested too deeply: at most {MAX_DEPTH} levels")
        read = (self._choice, self._logic, self._logic, self._relation, self._sum, self._sum, self._unary)[level]
        found = read(level)
        self.depth -= 1
        return found

    def _choice(self, level: int) -> Operand:
        condition = self.expression(1)
        if (mark := self.found("?")) is None:
            return condition
        self._truth(condition, mark)
        first = self.expression(1)
        self.need(":")
        second = self.expression(0)
        return Operand(first.kind if first.kind == second.kind else DYN, condition.at)

    def _logic(self, level: int) -> Operand:
        left = self.expression(level + 1)
        while mark := self.found("||" if level == 1 else "&&"):
            right = self.expression(level + 1)
            for side in (left, right):
                self._truth(side, mark)
            left = Operand("bool", left.at)
        return left

    def _truth(self, side: Operand, mark: Token) -> None:
        if not types.fits(side.kind, "bool"):
            raise side.at.fault(f"{mark.text} takes true or false, and this is {types.a(side.kind)}")

    def _relation(self, level: int) -> Operand:
        left = self.expression(4)
        while mark := self._relational():
            right = self.expression(4)
            self._compare(left, mark, right)
            left = Operand("bool", left.at)
        return left

    def _relational(self) -> Token | None:
        if self.next.kind == "name" and self.next.text == "in":
            return self.take()
        return self.found("==", "!=", "<", "<=", ">", ">=")

    def _compare(self, left: Operand, mark: Token, right: Operand) -> None:
        if mark.text == "in":
            if not types.fits(right.kind, "list|map"):
                hint = "; for a part of a text: text.contains(part)" if right.kind == "string" else ""
                raise mark.fault(f"`in` looks into a list or a map, and this is {types.a(right.kind)}{hint}")
            return
        well = types.may_be_equal if mark.text in ("==", "!=") else types.comparable
        if not well(left.kind, right.kind):
            raise mark.fault(f"{types.a(left.kind)} and {types.a(right.kind)} cannot be compared with {mark.text}")

    def _sum(self, level: int) -> Operand:
        left = self.expression(level + 1)
        while mark := self.found(*(("+", "-") if level == 4 else ("*", "/", "%"))):
            right = self.expression(level + 1)
            kind = types.sum_of(left.kind, mark.text, right.kind)
            if kind is None:
                hint = "; convert one: double(x), int(x), string(x)"
                raise mark.fault(f"{mark.text} does not join {types.a(left.kind)} and {types.a(right.kind)}{hint}")
            if mark.text == "+" and not {left.kind, right.kind} & COUNTED:
                self.bounds.join(mark, inside=bool(self.bound))
            left = Operand(kind, left.at)
        return left

    def _unary(self, level: int) -> Operand:
        if mark := self.found("!"):
            side = self.expression(6)
            self._truth(side, mark)
            return Operand("bool", mark)
        if mark := self.found("-"):
            side = self.expression(6)
            if not types.fits(side.kind, "int|double"):
                raise mark.fault(f"- takes a number, and this is {types.a(side.kind)}")
            return Operand(side.kind, mark)
        return self._member()

    # ------------------------------------------------------------ what a value is reached by

    def _member(self) -> Operand:
        before = self.bounds.so_far
        value = self._primary()
        while mark := self.found(".", "["):
            value = self._index(value, mark) if mark.text == "[" else self._dotted(value, before)
        return value

    def _dotted(self, value: Operand, before: tuple[int, int]) -> Operand:
        name = self.take()
        if name.kind != "name" or name.text == "in":
            raise name.fault(f"a name is missing before {name.shown}")
        if self.found("("):
            if name.text not in types.MACROS:
                return self._call(name, value)
            self.bounds.comprehension(name, before, inside=bool(self.bound))
            return self._macro(value, name)
        return self._select(value, name)

    def _select(self, value: Operand, name: Token) -> Operand:
        if types.base(value.kind) not in ("map", DYN):
            raise name.fault(f"{types.a(value.kind)} has no field {name.text!r}")
        return Operand(DYN, value.at, selected=True)

    def _index(self, value: Operand, mark: Token) -> Operand:
        if not types.fits(value.kind, "list|map"):
            raise mark.fault(f"[ ] looks into a list or a map, and this is {types.a(value.kind)}")
        index = self.expression(0)
        if types.base(value.kind) == "list" and not types.fits(index.kind, "int|uint"):
            raise index.at.fault(f"a place in a list is a number, and this is {types.a(index.kind)}")
        self.need("]")
        kind = types.element(value.kind) if types.base(value.kind) == "list" else DYN
        return Operand(kind, value.at)

    def _macro(self, value: Operand, name: Token) -> Operand:
        if not types.fits(value.kind, "list|map"):
            raise name.fault(f"{name.text} goes through a list or a map, and this is {types.a(value.kind)}")
        item = self.take()
        if item.kind != "name":
            raise item.fault(f"{name.text} begins with a name for the item, as in {name.text}(x, x == 1)")
        self.need(",")
        self.bound = {item.text: types.element(value.kind)}
        body = self.expression(0)
        if name.text != "map" and not types.fits(body.kind, "bool"):
            raise body.at.fault(f"{name.text} asks a question about each item, and this is {types.a(body.kind)}")
        if name.text == "map":
            made(body.at, types.base(body.kind))
        self.bound = {}
        self.need(")")
        results = {"list": f"list({body.kind})", "same": value.kind if value.kind.startswith("list") else "list"}
        result = types.MACROS[name.text]
        return Operand(results.get(result, result), value.at)

    def _call(self, name: Token, receiver: Operand | None) -> Operand:
        given = [] if receiver is None else [receiver]
        while not self.found(")"):
            if len(given) > (receiver is not None):
                self.need(",")
            given.append(self.expression(0))
        if name.text == "has" and receiver is None:
            return self._has(name, given)
        table = types.FUNCTIONS if receiver is None else types.METHODS
        if name.text not in table:
            known = ", ".join(sorted({*table, *([] if receiver is None else types.MACROS), "has"}))
            raise name.fault(f"there is no function {name.text!r} here; there are: {known}")
        result = types.called(table[name.text], tuple(operand.kind for operand in given))
        if result is None:
            kinds = ", ".join(operand.kind for operand in given) or "nothing"
            raise name.fault(f"{name.text} does not take {kinds}")
        if name.text == "matches":
            self.bounds.pattern(name, given[1].at, literal=given[1].literal, inside=bool(self.bound))
        elif result == "int" and len(given) == 2 and given[1].literal:
            self._zone(given[1].at)
        return Operand(result, given[0].at if receiver else name)

    def _has(self, name: Token, given: Sequence[Operand]) -> Operand:
        if len(given) != 1 or not given[0].selected:
            raise name.fault("has takes one field, as in has(contact.profile.total_spent)")
        return Operand("bool", name)

    def _zone(self, name: Token) -> None:
        if name.text.strip("rR\"'") not in available_timezones():
            raise name.fault(f"{name.text} is no IANA time zone, e.g. 'Europe/Paris'")

    # ------------------------------------------------------------ values

    def _primary(self) -> Operand:
        token = self.take()
        if token.kind == "number":
            return Operand(types.number(token.text), token)
        if token.kind == "string":
            quoted = token.text.lower().lstrip("r")
            return Operand("bytes" if quoted.startswith("b") else "string", token, literal=True)
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            inner = self.expression(0)
            self.need(")")
            return inner
        if token.text in ("[", "{"):
            return self._list(token) if token.text == "[" else self._map(token)
        raise token.fault(f"a value is missing before {token.shown}")

    def _list(self, opening: Token) -> Operand:
        kinds = set()
        while not self.found("]"):
            kinds.add(self.expression(0).kind)
            if not self.found(","):
                self.need("]")
                break
        return Operand(f"list({kinds.pop()})" if len(kinds) == 1 else "list", opening)

    def _map(self, opening: Token) -> Operand:
        while not self.found("}"):
            self.expression(0)
            self.need(":")
            self.expression(0)
            if not self.found(","):
                self.need("}")
                break
        return Operand("map", opening)

    def _named(self, token: Token) -> Operand:
        name = token.text
        if name in _LITERALS:
            return Operand(_LITERALS[name], token)
        if name in _RESERVED or name == "in":
            raise token.fault(f"{name!r} is a word of the language and cannot be a name")
        if self.found("("):
            return self._call(token, None)
        if name in self.bound:
            return Operand(self.bound[name], token)
        variable = self.variables.get(name)
        if variable is None:
            raise token.fault(f"there is no {name!r}; there are: {', '.join(sorted(self.variables))}")
        return Operand(variable, token) if isinstance(variable, str) else self._field(token, variable)

    def _field(self, variable: Token, fields: Mapping[str, str]) -> Operand:
        known = ", ".join(sorted(fields))
        if not self.found("."):
            raise variable.fault(f"{variable.text} is used by its fields: {known}")
        name = self.take()
        if name.text not in fields:
            raise name.fault(f"{variable.text} has no field {name.text!r}; it has: {known}")
        if self.bound and types.base(fields[name.text]) in ("list", "map"):
            self.bounds.look(variable)
        return Operand(fields[name.text], variable, selected=True)
