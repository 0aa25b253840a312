"""YAML by its 1.2 rules, and nothing that it can be broken with.

By the older rules, which the library follows, `country: NO` is false, `21:00` is 1260 and a date is no text. And it
reads nested text by recursion, so what is nested without end breaks it in ways of its own.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml


class YamlRefused(Exception):
    """`problem` is a sentence; `mark` the library's own: a line and a column, counted from 0; None: nowhere."""

    def __init__(self, problem: str, mark: Any = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.mark = mark


class Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  (the library's own name)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A key given twice is a mistake, not an override."""
        names = [key.value for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{name} is given twice", node.start_mark)
        return super().construct_mapping(node, deep)


class Plain(Loader):
    """Without aliases, by which a short text becomes an endless value."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not read here", event.start_mark)
        return super().compose_node(parent, index)


for tag, pattern, first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), first)


@contextmanager
def reading() -> Iterator[None]:
    """Around the library's calls. Raises YamlRefused for whatever they raise."""
    try:
        yield
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error)
        raise YamlRefused(problem, getattr(error, "problem_mark", None)) from error
    except RecursionError:
        raise YamlRefused("it is nested too deep") from None
    except ValueError:
        raise YamlRefused("a number in it has too many digits") from None
