"""The rules over what people wrote: every second line of a dialogue as if it were our reply to the line before.

People invent their age, their dogs and their medals as they go; a persona may not. What fires was read: but for a
music chart and a verse it is all made up.

The dialogues are not part of the repository: `REPLIQUE_DIALOGUES` names the file.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from pipelines.autoreply import validation
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from tests.builders import a_case, dialogue


def test_what_the_rules_find_in_real_dialogues() -> None:
    where = os.environ.get("REPLIQUE_DIALOGUES")
    if where is None or not Path(where).is_file():
        pytest.skip("REPLIQUE_DIALOGUES names no file of XPersona dialogues")
    found: Counter[str] = Counter()
    drafts = 0
    for talk in json.loads(Path(where).read_text()):
        pairs = [tuple(pair) for pair in talk["dialogue"]]
        persona = {"instructions": "\n".join(talk["persona"]), "language": "fr"}
        for n, (theirs, ours) in enumerate(pairs):
            case = a_case(turns=dialogue(*pairs[:n], newest=(theirs,)), persona=persona)
            drafts += 1
            for issue in validation.by_rules([Bubble(BubbleKind.TEXT, ours)], case).issues:
                found[issue.rule] += 1
                print(f"{issue.rule}: {ours}")
    print(f"{sum(found.values())} issues in {drafts} drafts: {dict(found)}")

    assert found == {"invented_number": 20, "invented_price": 1}
