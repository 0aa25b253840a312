"""What a reply may draw on: all that was given to this run in words."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from pipelines.autoreply import followup
from pipelines.autoreply.rules import dates, links, numbers
from pipelines.hours import zone_of
from pipelines.text import fold
from schemas.conversation import Author, BubbleKind, Case
from schemas.money import Price

HELP_LINES = frozenset({3114.0, 112.0, 114.0, 988.0, 911.0, 116123.0})
"""Numbers that help, which everybody may name."""


@dataclass(frozen=True)
class Sources:
    """`found`: what the lookups of this run answered, and what its offers cost."""

    case: Case
    found: Sequence[str] = ()

    @cached_property
    def persona_text(self) -> str:
        """Folded: what the organisation says of itself and of the persona."""
        persona, organization = self.case.persona, self.case.organization
        spec = persona.spec
        own = (persona.name, spec.display_name, spec.instructions, spec.tone, *spec.disclosure.texts.values())
        theirs = (organization.name, organization.spec.ai_context, organization.spec.featured_menu)
        return fold("\n".join((*own, *theirs)))

    @cached_property
    def text(self) -> str:
        """Folded: everything."""
        case = self.case
        said = [turn.text for turn in case.turns if turn.author is not Author.SYSTEM]
        contact = [case.contact.display_name or "", json.dumps(case.contact.profile, ensure_ascii=False)]
        team = [case.plan or "", case.instruction or ""]
        earlier = [case.summary or "", *map(str, self._asked)]
        # A sentence's end between any two: no number and no name is made of two texts.
        given = (*said, *case.sent_texts, *contact, *team, *earlier, *self.found)
        return " ;\n".join((self.persona_text, *map(fold, given)))

    @property
    def _asked(self) -> Iterator[Price]:
        """What was asked for media: in the window, and before it."""
        prices = (*(turn.price for turn in self.case.turns), *(fact.price for fact in self.case.media.facts))
        return (price for price in prices if price is not None)

    @cached_property
    def numbers(self) -> frozenset[float]:
        return numbers.values(self.text) | HELP_LINES | {float(self.today.year + ahead) for ahead in (-1, 0, 1)}

    @cached_property
    def links(self) -> frozenset[str]:
        return frozenset(link.address for link in links.links(self.text))

    @cached_property
    def hosts(self) -> frozenset[str]:
        return frozenset(address.split("/")[0] for address in self.links)

    @cached_property
    def days(self) -> frozenset[tuple[int, int]]:
        """(day, month)."""
        return frozenset((found.day, found.month) for found in dates.dates(self.text))

    @cached_property
    def digits(self) -> str:
        """The digits alone; a cross where anything but blanks and signs of a telephone number stands between two."""
        return numbers.digits_of(self.text)

    @property
    def today(self) -> date:
        """On the contact's calendar."""
        case = self.case
        zones = (case.contact.timezone, case.persona.spec.timezone, case.organization.spec.timezone)
        return case.now.astimezone(zone_of(zones)).date()

    @property
    def writes_again(self) -> bool:
        """This reply is a follow-up that plans another one."""
        return self.case.follow_up is not None and not followup.is_last(self.case)

    @property
    def a_person_spoke(self) -> bool:
        """What a member of the team did, the persona may speak of."""
        return any(turn.author is Author.OPERATOR for turn in self.case.turns)

    def may_have_sent(self, kinds: frozenset[BubbleKind], *, just_now: bool) -> bool:
        """Whether we sent something of these kinds; further back than the window, nobody knows."""
        turns = self.case.turns
        ours = [turn for turn in turns if turn.author in (Author.AI, Author.OPERATOR)]
        if any(turn.kind in kinds or turn.attachments for turn in ours):
            return True
        return not just_now and bool(turns) and turns[0].position > 1
