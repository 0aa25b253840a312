"""What is said in English elsewhere and shown in the console is there in every other language."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import schemas
from schemas.conversation import Flag
from schemas.decisions import SilenceReason
from schemas.errors import FailureKind
from workers.gateway.console.words import LANGUAGES, Words, catalogue
from workers.gateway.console.words.sentences import said, sentences

ROOT = Path(schemas.__file__).parents[1]
OTHERS = [language for language in LANGUAGES if language != "en"]
WHOLE = ("pipelines/autoreply/strategy/bounds.py", "pipelines/autoreply/strategy/check.py", "pipelines/ops/health.py")
"""Every sentence in them is shown."""
CALLED = {"_best", "Conflict", "TooLate", "too_late", "_invalid", "CelFault", "RuleOutcome"}
"""By these a sentence of ours is shown, in the modules below."""
CALLERS = (
    *sorted((ROOT / "workers/adapters/postgres").glob("*.py")),
    ROOT / "pipelines/autoreply/strategy/conditions.py",
    ROOT / "pipelines/autoreply/strategy/resolve.py",
    ROOT / "pipelines/autoreply/strategy/tokens.py",
    ROOT / "pipelines/autoreply/composition.py",
    ROOT / "pipelines/delivery/edited.py",
    ROOT / "workers/adapters/postgres/acceptable.py",
)
ELSEWHERE = {"ingest", "keys", "openings", "payments", "provision", "provision_users", "showcase", "users", "documents"}
"""Modules whose refusals no page of the console asks for."""


def template(node: ast.expr) -> str | None:
    """A sentence, `{}` where it names something."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def spoken(tree: ast.AST) -> Iterator[str]:
    """Sentences that are no part of another one, and no documentation."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.FormattedValue):
            inside |= {id(part) for part in ast.walk(node) if part is not node}
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in inside and (found := template(node)):
            yield found


def refused(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in CALLED:
            values = [*node.args, *(word.value for word in node.keywords if word.arg in (None, "reason"))]
            yield from filter(None, map(template, values))
        if isinstance(node, ast.Dict):
            named = zip(node.keys, node.values, strict=True)
            yield from filter(None, (template(value) for key, value in named if _is_message(key)))


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_message(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == "message"


def shown() -> set[str]:
    found: set[str] = set()
    for path in WHOLE:
        found |= set(spoken(ast.parse((ROOT / path).read_text(encoding="utf-8"))))
    for path in CALLERS:
        if path.stem not in ELSEWHERE:
            found |= set(refused(ast.parse(path.read_text(encoding="utf-8"))))
    found = {sentence.replace("{}{}", "{}") for sentence in found if "\n" not in sentence}
    return {sentence for sentence in found if re.search(r"[a-z] [a-z]", sentence)}


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_is_there_in_every_language(language: str) -> None:
    wanted = shown()
    known = [re.sub(r"\s+", " ", key) for key in sentences(language)]

    assert len(wanted) > 120
    assert {sentence for sentence in wanted if not any(sentence in key for key in known)} == set()


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_names_what_the_sentence_names(language: str) -> None:
    for key, there in sentences(language).items():
        if "{}" not in key:
            continue
        named = {field for _, field, _, _ in string.Formatter().parse(there) if field is not None}
        assert named <= {str(n) for n in range(key.count("{}"))}, key


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("a bubble has left", "une bulle est déjà partie"),
        ("between 1 and 3; a notice stays in front", "entre 1 et 3 ; un avis reste devant"),
        ("line 1, column 3: + does not join a whole number and a string; convert one: double(x), int(x), string(x)",
         "ligne 1, colonne 3 : + ne réunit pas un nombre entier et un texte ;"
         " convertissez : double(x), int(x), string(x)"),
        ("Value error, Mars/Base is not an IANA time zone, e.g. Europe/Paris",
         "Mars/Base n'est pas un fuseau IANA, par exemple Europe/Paris"),
        ("PostgreSQL 15.4 answers", "PostgreSQL 15.4 répond"),
        ("nobody has put this into French", "nobody has put this into French"),
    ],
)  # fmt: skip
def test_a_sentence_in_french(english: str, french: str) -> None:
    assert (said("fr", english), said("en", english)) == (french, english)


def test_what_a_contact_is_called_is_no_template() -> None:
    assert (
        said("fr", "it requires '{0.__class__}', which does not apply")
        == "elle exige '{0.__class__}', qui ne s'applique pas"
    )


def test_reasons_flags_and_what_moved_a_job_have_words() -> None:
    known = set(catalogue("en"))
    moved = set()
    for path in sorted((ROOT / "workers/adapters/postgres").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        moved |= set(re.findall(r"\bwhy=\"([a-z_, ]+)\"", text))
        moved |= set(re.findall(r"\b(?:send_away|tell|sent|pin|put_back)\(tx, [^\n\"]*\"([a-z_]+)\"", text))
    halts = set()
    for path in sorted((ROOT / "pipelines").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) == "Halt" and isinstance(node.args[-1], ast.Constant):
                halts.add(str(node.args[-1].value))

    moved -= {"system", "payment", "contact", "worker", "operator", "clock"}  # these say who

    assert len(moved) > 25
    assert {
        token for token in moved if not known & {f"{group}.{token}" for group in ("event", "reason", "cause")}
    } == set()
    assert {f"reason.{reason.value}" for reason in SilenceReason} - known == set()
    assert {f"reason.{kind.value}" for kind in FailureKind} - known == set()
    assert {f"flag.{flag.value}" for flag in Flag} - known == set()
    assert {f"reason.{halt}" for halt in halts} - known == set()


def test_a_note_is_tokens_and_sentences() -> None:
    english = "links_per_day; the best of 2 versions was kept, with 1 open issues: the reason; as it was"

    assert Words("fr").note(english) == (
        "plus de liens de paiement aujourd'hui; la meilleure des versions (sur 2) a été gardée,"
        " points en suspens : 1 ; the reason; as it was"
    )
