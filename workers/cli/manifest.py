"""Files of `replique apply`: YAML of several documents, or JSON.

YAML is read by its 1.2 rules. By the older ones, which the library follows, `country: NO` is false, `21:00` is 1260
and a date is no text.
"""

import json
import re
import sys
from typing import Any

import yaml

from workers.cli.failures import CommandFailed


class FileRefused(CommandFailed):
    """The file is not what `apply` reads; the gateway was not asked."""


class Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  (the library's own name)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A key given twice is a mistake, not an override."""
        names = [key.value for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{name} is given twice", node.start_mark)
        return super().construct_mapping(node, deep)


for tag, pattern, first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), first)


def read(path: str) -> list[dict[str, Any]]:
    """The documents of a file, or of stdin for `-`. Raises FileRefused."""
    shown = "stdin" if path == "-" else path
    try:
        if path == "-":
            text = sys.stdin.read()
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise FileRefused(f"{shown} cannot be read: {error}") from error
    return parse(text, shown)


def parse(text: str, shown: str) -> list[dict[str, Any]]:
    documents = [part for found in _loaded(text, shown) for part in _parts(found)]
    for number, document in enumerate(documents, start=1):
        if not isinstance(document, dict):
            raise FileRefused(f"{shown}: document {number} is not a mapping with kind and name")
    if not documents:
        raise FileRefused(f"{shown} holds no document")
    return documents


def _loaded(text: str, shown: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    try:
        return [found for found in yaml.load_all(text, Loader) if found is not None]
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or error
        raise FileRefused(f"{shown}{line}: {problem}") from error


def _parts(found: Any) -> list[Any]:
    """A list of documents, the body of `POST /v1/apply`, or one document."""
    if isinstance(found, dict) and set(found) == {"resources"} and isinstance(found["resources"], list):
        return found["resources"]
    return found if isinstance(found, list) else [found]
