"""Does the text keep its shape: small modules that say what they are for, small functions, no strangers?"""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "pipelines", "workers")
MODULE_LINES, FUNCTION_LINES = 300, 40
# Written in two halves, so that this file does not hold what it looks for.
FOREIGN = ("/wo" "rk/", "shared" "/spec", "shared" "/facts", "/tmp" "/briefs", "sub" "agent")  # fmt: skip
SKIPPED_FOLDERS = {".git", ".venv", "build", "dist", "__pycache__"}

MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def faults(source: str) -> list[str]:
    """What a module does that it should not, a line each."""
    found = []
    if (lines := len(source.splitlines())) > MODULE_LINES:
        found.append(f"{lines} lines, at most {MODULE_LINES}")
    tree = ast.parse(source)
    if source.strip() and not ast.get_docstring(tree):
        found.append("no docstring says what it is for")
    return found + [f"{name} has {length} lines, at most {FUNCTION_LINES}" for name, length in _long(tree)]


def _long(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield node.name, length


def project_files() -> list[Path]:
    """What version control knows; without it (a source archive), all but what tools make."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        named = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return [path for path in ROOT.rglob("*") if path.is_file() and not SKIPPED_FOLDERS & set(path.parts)]
    return [path for name in named.split("\0") if name and (path := ROOT / name).is_file()]


def foreign_words(text: str) -> list[str]:
    return [word for word in FOREIGN if word in text.lower()]


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_a_module_is_small_and_says_what_it_is_for(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


def test_the_rules_see_what_they_forbid() -> None:
    long_function = "def f():\n" + "    x = 1\n" * 40
    source = long_function + "y = 2\n" * 260

    assert faults(source) == [
        "301 lines, at most 300",
        "no docstring says what it is for",
        "f has 41 lines, at most 40",
    ]


def test_the_project_speaks_of_itself_alone() -> None:
    texts = {shown(path): path.read_bytes().decode("utf-8", "ignore") for path in project_files()}

    assert {name: words for name, text in texts.items() if (words := foreign_words(text))} == {}


def test_foreign_words_are_seen() -> None:
    assert foreign_words("see " + "/WO" + "RK/x and the Sub" + "Agent") == ["/wo" + "rk/", "sub" + "agent"]
