"""Files of `replique apply`: YAML of several documents, or JSON."""

import json
import sys
from typing import Any

import yaml

from workers.cli.failures import CommandFailed
from workers.runtime.yaml12 import Loader, YamlRefused, reading


class FileRefused(CommandFailed):
    """The file is not what `apply` reads; the gateway was not asked."""


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
    except (ValueError, RecursionError):
        pass
    try:
        with reading():
            return [found for found in yaml.load_all(text, Loader) if found is not None]
    except YamlRefused as error:
        line = f", line {error.mark.line + 1}" if error.mark else ""
        raise FileRefused(f"{shown}{line}: {error.problem}") from error


def _parts(found: Any) -> list[Any]:
    """A list of documents, the body of `POST /v1/apply`, or one document."""
    if isinstance(found, dict) and set(found) == {"resources"} and isinstance(found["resources"], list):
        return found["resources"]
    return found if isinstance(found, list) else [found]
