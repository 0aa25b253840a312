"""What the pipelines ask of the world. Adapters in workers/ answer."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from schemas.agent import Kept, Step
from schemas.catalogue import Media, MediaSearch, Viewer
from schemas.claims import Endpoint, Posted
from schemas.ids import ContactId, OrgId, PersonaId
from schemas.jobs import Hint
from schemas.llm import Model, ModelAnswer, ModelRequest, Reservation, SettledCall, Usage
from schemas.media import FileStream, StoredFile
from schemas.memory import Asker, Found
from schemas.payments import Link, Order, Ware
from schemas.speech import Audio


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, aware, for what people read. Due times are the database's own."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back, for deadlines."""
        ...


class ChatModel(Protocol):
    """One provider. Raises `schemas.errors.ModelFailure`, nothing else."""

    async def ask(self, request: ModelRequest, deadline: float) -> ModelAnswer:
        """One HTTP attempt. `deadline` is on `Clock.monotonic`; past it the call is cancelled (kind DEADLINE)."""
        ...


class Gate(Protocol):
    """What a rate limit has closed, for everybody who asks that model. Never raises, and never makes anybody wait: it
    says how long to stay away."""

    async def wait(self, model: Model) -> float:
        """0: the call may go out, and is counted. Else seconds after which to ask again."""
        ...

    async def close(self, model: Model, seconds: float) -> None:
        """The provider has asked to come back after that."""
        ...


class Breaker(Protocol):
    """Which models keep failing, for everybody who asks them. Never raises."""

    async def admits(self, model: Model) -> bool:
        """It may be asked now. Where only one call may find out whether the model is back, this is that call."""
        ...

    async def failed(self, model: Model) -> None:
        """A call met an outage of the provider (`pipelines.llm.breaker.OUTAGES`)."""
        ...

    async def answered(self, model: Model) -> None: ...


class Keep(Protocol):
    """Where a run is saved as it goes: one statement that stores the step, settles its call, reserves the next one
    and renews the lease."""

    async def __call__(self, step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None) -> Kept:
        """`step` is None before the first call of a claim; `reserve` is None when no call follows. `failed` is a call
        that no model answered, when another one is asked in the same claim."""
        ...


class PriceTable(Protocol):
    def cost(self, model: Model, usage: Usage) -> Decimal | None:
        """US dollars, or None when the model has no known price."""
        ...


class Courier(Protocol):
    """Carries hints to workers, at once and without promise: what it loses, the clock sends again."""

    async def push(self, hints: Sequence[Hint]) -> None:
        """Never raises."""
        ...


class Channel(Protocol):
    """Hands one signed webhook to the receiver."""

    async def post(self, endpoint: Endpoint | None, webhook_id: str, body: str) -> Posted:
        """One attempt; never raises. The same `webhook_id` and body may come again. None: the built-in inbox."""
        ...


class Speech(Protocol):
    """Reads a text aloud. Raises `schemas.speech.SpeechFailed`, nothing else."""

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        """One attempt. `voice` as a persona names it (`schemas.speech.Voice`), `language` a tag such as `fr-FR`."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors whose closeness is closeness of meaning, across languages. Vectors of two models are
    never compared: whoever stores one stores `name` beside it."""

    @property
    def name(self) -> str:
        """Of the model, as it is stored beside each of its vectors."""
        ...

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        ...

    async def embed(self, texts: Sequence[str], org: OrgId | None = None) -> list[tuple[float, ...]]:
        """One unit vector for each text, in order. Meaning is averaged: a long text is to be cut first. `org` pays,
        should it cost anything. Raises `Unavailable` where a provider is asked and does not answer."""
        ...


class Memory(Protocol):
    """What is known of a creator and of a contact."""

    async def search(self, question: str, asker: Asker, limit: int) -> list[Found]:
        """At most `limit` passages, the best first; of what `asker` may see, nothing else. Raises `Unavailable`."""
        ...


class Catalogue(Protocol):
    """The photos and videos of a persona."""

    async def look(self, search: MediaSearch, viewer: Viewer) -> list[Media]:
        """At most `search.limit` that may be sent, the best first; none that the contact bought. What is answered may
        be sent in the viewer's conversation from then on, also when this run goes on elsewhere. Raises `Unavailable`.
        """
        ...


class Habits(Protocol):
    """When contacts write."""

    async def written(self, contact: ContactId) -> Sequence[datetime]:
        """When this contact wrote lately, in whichever conversation, in any order. Raises `Unavailable`."""
        ...


class Shop(Protocol):
    """What personas sell."""

    async def wares(
        self, org: OrgId, persona: PersonaId, contact: ContactId, names: Sequence[str]
    ) -> Mapping[str, Ware]:
        """The media of that persona by their upstream names, as the contact stands to them; others are left out.
        Raises `Unavailable`."""
        ...


class PaymentLinks(Protocol):
    """Makes the links under which a contact pays. Raises `schemas.payments.LinkFailed`, nothing else."""

    async def make(self, order: Order) -> Link:
        """One attempt. The same order again is the same link."""
        ...


class LinkExpiry(Protocol):
    """Closes links before their time. Raises `schemas.payments.LinkFailed`, nothing else."""

    async def expire(self, session: str) -> None:
        """From now on nobody can pay under it. Also fine when it is over, however it ended."""
        ...


class Links(Protocol):
    """Makes addresses under which a stored file can be read without a key, for a while."""

    async def url(self, key: str) -> str: ...


class Files(Protocol):
    """Keeps whole files by key. Raises the errors of `schemas.media`, nothing else; every call may be made again."""

    async def put(self, key: str, content: bytes, mime: str) -> None:
        """Store, or replace what was there. A reader sees the old or the new whole, never a part."""
        ...

    async def get(self, key: str) -> StoredFile:
        """Raises `FileMissing`."""
        ...

    async def stream(self, key: str) -> FileStream:
        """As `get`, in pieces, for what may be large. Raises `FileMissing`."""
        ...

    async def exists(self, key: str) -> bool: ...

    async def delete(self, key: str) -> None:
        """Also fine when it is not there."""
        ...
