"""What CEL's operators and functions take and give, as far as a condition may use them.

A type is its CEL name; a list says of what, as `list(string)`; `dyn` is known only when the rule runs.
"""

from collections.abc import Mapping

DYN = "dyn"
NUMBERS = frozenset({"int", "uint", "double"})
ORDERED = NUMBERS | {"string", "bytes", "bool", "timestamp", "duration"}

Signature = tuple[tuple[str, ...], str]
"""(the types of the arguments, the receiver first; what comes out). `|` separates types that fit alike."""

_ZONED = ("getFullYear", "getMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes")

METHODS: Mapping[str, tuple[Signature, ...]] = {
    "contains": ((("string", "string"), "bool"),),
    "startsWith": ((("string", "string"), "bool"),),
    "endsWith": ((("string", "string"), "bool"),),
    "matches": ((("string", "string"), "bool"),),
    "size": ((("string|bytes|list|map",), "int"),),
    **{name: ((("timestamp",), "int"), (("timestamp", "string"), "int")) for name in _ZONED},
}
"""Called on a value."""

FUNCTIONS: Mapping[str, tuple[Signature, ...]] = {
    "size": METHODS["size"],
    "matches": METHODS["matches"],
    "int": ((("int|uint|double|string",), "int"),),
    "uint": ((("int|uint|double|string",), "uint"),),
    "double": ((("int|uint|double|string",), "double"),),
    "string": ((("bool|int|uint|double|string|bytes|timestamp|duration",), "string"),),
    "timestamp": ((("string|timestamp",), "timestamp"),),
    "duration": ((("string|duration",), "duration"),),
    "dyn": (((DYN,), DYN),),
}
MACROS: Mapping[str, str] = {"all": "bool", "exists": "bool", "exists_one": "bool", "map": "list", "filter": "same"}

_TIMES = {
    ("timestamp", "+", "duration"): "timestamp",
    ("duration", "+", "timestamp"): "timestamp",
    ("duration", "+", "duration"): "duration",
    ("timestamp", "-", "timestamp"): "duration",
    ("timestamp", "-", "duration"): "timestamp",
    ("duration", "-", "duration"): "duration",
}


def base(kind: str) -> str:
    return kind.partition("(")[0]


def element(kind: str) -> str:
    """What a list holds. A map's keys are strings here, as JSON has them."""
    if base(kind) == "map":
        return "string"
    return kind[5:-1] if kind.startswith("list(") else DYN


def fits(kind: str, wanted: str) -> bool:
    return DYN in (kind, wanted) or base(kind) in wanted.split("|")


def called(signatures: tuple[Signature, ...], given: tuple[str, ...]) -> str | None:
    """What the call gives; None when nothing of that name takes these."""
    for wanted, result in signatures:
        if len(wanted) == len(given) and all(map(fits, given, wanted)):
            return result
    return None


def sum_of(left: str, operator: str, right: str) -> str | None:
    """The type of an arithmetic operation; None when there is none. Numbers of different kinds do not mix."""
    if DYN in (left, right):
        return DYN
    if found := _TIMES.get((left, operator, right)):
        return found
    if base(left) != base(right):
        return None
    joins = operator == "+" and base(left) in ("string", "bytes", "list")
    counts = left in NUMBERS and not (operator == "%" and left == "double")
    if not joins and not counts:
        return None
    return left if left == right else base(left)


def comparable(left: str, right: str) -> bool:
    """For < and its like: which is before which is known."""
    if DYN in (left, right) or {left, right} <= NUMBERS:
        return True
    return left == right and left in ORDERED


def may_be_equal(left: str, right: str) -> bool:
    """False: `==` would never hold, which nobody means."""
    if {DYN, "null"} & {left, right} or {left, right} <= NUMBERS:
        return True
    return base(left) == base(right)


def number(text: str) -> str:
    """The type of a number as it is written."""
    if text[-1] in "uU":
        return "uint"
    return "double" if not text.lower().startswith("0x") and set(text.lower()) & {".", "e"} else "int"


def a(kind: str) -> str:
    """The type in a sentence."""
    known = {"int": "a whole number", "double": "a number", "uint": "a whole number", "bool": "true or false"}
    name = base(kind)
    return known.get(name, "nothing (null)" if name == "null" else f"a {name}")
