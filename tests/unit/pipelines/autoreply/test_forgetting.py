"""What a run has read of a contact ends with it: no cache of the process holds a word of theirs."""

import functools
import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import a_case, dialogue
from tests.fakes import Line, calling, done, sending
from tests.replies import stage
from tests.unit.pipelines.autoreply.test_chain import THOUGHT, drafted

WORD = "zykanarqvist"
CACHE = type(functools.lru_cache(len))
CONTAINERS = (dict, list, tuple, set, frozenset, CACHE)


def remembered(word: str) -> set[str]:
    """Modules of ours in whose constants or caches the word is."""
    ours = {
        name: vars(module) for name, module in list(sys.modules.items()) if name.startswith(("pipelines", "schemas"))
    }
    return {name for name, held in ours.items() for text in texts_in(dict(held)) if word in text.casefold()}


def texts_in(root: Any) -> Iterator[str]:
    seen, left = set[int](), [root]
    while left:
        found = left.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, CONTAINERS) and id(found) not in seen:
            seen.add(id(found))
            left += gc.get_referents(found)


@pytest.mark.parametrize("engine", ["v1", "v2"])
async def test_no_cache_holds_what_was_said_in_a_run(engine: str) -> None:
    text = f"Raconte-moi encore ce que {WORD} a fait de ses vacances."
    v1: tuple[Line, ...] = (*THOUGHT, drafted(text, "et toi ?"))
    v2: tuple[Line, ...] = (calling(("set_plan", {"plan": WORD})), sending(text, "et toi ?"), done(WORD))
    on = stage(*(v1 if engine == "v1" else v2))
    turns = dialogue((f"je suis {WORD}", f"salut {WORD}"), newest=(f"j'ai {WORD} ans", f"t'aimes {WORD} ?"))
    case = a_case(
        turns=turns,
        persona={"engine": engine},
        contact={"display_name": WORD, "profile": {"ville": WORD}},
        sent_texts=(f"salut {WORD}", f"Hier soir encore, {WORD} dormait sous la pluie."),
        plan=WORD,
        summary=WORD,
    )

    await on.run(case)

    assert len(on.heard) > 2
    assert remembered(WORD) == set()
