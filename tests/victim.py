"""An organisation whose every text holds a rare word, with something of every kind in it."""

from typing import Any

from schemas.claims import Accepted
from schemas.ids import number_of
from schemas.jobs import AutoReply, DelayedSend
from schemas.payments import Link, Offering
from tests.builders_face import Gateway
from tests.builders_shop import a_selling_reply, an_offer
from tests.builders_storage import QUICK, WEBHOOK, a_reply

WORD = "zqcanary"
ORG = "acme"
URL = f"https://{WORD}.example/x"

RESOURCES: list[dict[str, Any]] = [
    {
        "kind": "Organization",
        "name": ORG,
        "ai_context": WORD,
        "featured_menu": WORD,
        "webhook": {**WEBHOOK, "url": URL},
    },
    {
        "kind": "Persona",
        **QUICK,
        "name": "maya",
        "control_window_seconds": 600,
        "display_name": WORD,
        "instructions": WORD,
        "tone": WORD,
        "limits": {"banned_words": [WORD]},
        "disclosure": {"notice": False, "accept": "2026-08"},
    },
    {"kind": "Album", "name": "summit", "persona": "maya", "title": WORD},
    {
        "kind": "MediaItem",
        "name": "v-1",
        "persona": "maya",
        "album": "summit",
        "type": "video",
        "url": URL,
        "description": WORD,
        "tags": [WORD],
        "price": {"amount": "10.00", "currency": "EUR"},
        "consent_record": {"owner": WORD, "given_at": "2026-01-05T10:00:00+01:00", "proof": WORD},
    },
    {"kind": "Rule", "name": "calm", "when": f"message.text.contains('{WORD}')", "then": {"inject": WORD}},
    {"kind": "Intent", "name": "sell", "guidance": WORD},
    {"kind": "Document", "name": "ship", "scope": "organization", "title": WORD, "text": WORD},
    {"kind": "Document", "name": "about", "scope": "contact", "contact": "fan-7", "text": WORD},
]
# What only a worker, a model or a receiver would have written.
WRITTEN = (
    "UPDATE conversations SET plan = '{w}'",
    "UPDATE jobs SET reason = '{w}', note = '{w}', instruction = '{w}'",
    "UPDATE jobs SET attention = 'open' WHERE id = 3",
    "UPDATE candidates SET reason = '{w}'",
    "UPDATE deliveries SET error = '{w}'",
    "UPDATE payments SET paid_reference = '{w}', reference = '{w}'",
    "UPDATE consent_records SET reason = '{w}'",
    "UPDATE users SET email = '{w}@acme.example'",
    "INSERT INTO dead_letters (org_id, source, code, error, attempts, payload) "
    "SELECT id, 'queue', 'AR-570', '{w}', 1, '{{\"{w}\": \"{w}\"}}' FROM organizations WHERE name = 'acme'",
    "INSERT INTO summaries (conversation_id, until, usable_from, text) SELECT id, 1, 1, '{w}' "
    "FROM conversations WHERE name = 'c-1'",
)


async def furnish(gateway: Gateway) -> str:
    """Answers the id of a file of theirs."""
    applied = await gateway.call("POST", "/v1/apply", {"resources": RESOURCES})
    assert applied.status_code == 200, applied.text
    await asked(gateway, "POST", "/v1/users", {"name": "zoe", "email": "zoe@acme.example"})
    await asked(gateway, "POST", "/v1/keys", {"role": "operator", "name": f"{WORD} key"})
    await sold(gateway)
    await held(gateway)
    await said(gateway, "m-3", "c-3", contact="fan-8")
    await asked(gateway, "DELETE", "/v1/contacts/fan-8")
    await said(gateway, "m-4", "c-4", text="STOP", contact="fan-9")
    for statement in WRITTEN:
        await gateway.run(statement.format(w=WORD))
    await gateway.parts.files._files.put(f"speech/{WORD}.ogg", WORD.encode(), "audio/ogg")
    return f"speech~{WORD}.ogg"


async def asked(gateway: Gateway, method: str, path: str, body: Any = None) -> Any:
    answer = await gateway.call(method, path, body, org=ORG)
    assert answer.status_code < 300, answer.text
    return answer.json()


async def said(
    gateway: Gateway, message: str, conversation: str, text: str = WORD, contact: str = "fan-7"
) -> AutoReply:
    body = {
        "id": message,
        "conversation": conversation,
        "persona": "maya",
        "author": "contact",
        "contact": {"id": contact, "name": WORD, "profile": {WORD: WORD}},
        "text": text,
        "attachments": [{"type": "image", "url": URL}],
    }
    job = (await asked(gateway, "POST", "/v1/messages", body))["job"]
    number = await gateway.run("SELECT id FROM conversations WHERE name = :name", name=conversation)
    return AutoReply(conversation=number, job=number_of("job", job) or 0)


async def held(gateway: Gateway, message: str = "m-1", conversation: str = "c-1") -> None:
    hint = await said(gateway, message, conversation)
    claim = await gateway.parts.transitions.claim_run(hint)
    assert claim is not None
    await gateway.parts.transitions.record(claim, a_reply(WORD, f"et {WORD}"))


async def sold(gateway: Gateway) -> None:
    transitions = gateway.parts.transitions
    hint = await said(gateway, "m-2", "c-2")
    claim = await transitions.claim_run(hint)
    assert claim is not None
    await transitions.record(claim, a_selling_reply(an_offer("v-1", text=WORD)))
    await gateway.run("UPDATE jobs SET due_at = clock_timestamp() WHERE due_at IS NOT NULL")
    taken = await transitions.claim_send(DelayedSend(conversation=hint.conversation, job=hint.job))
    assert isinstance(taken, Offering)
    posting = await transitions.leave_linked(taken, Link(URL))
    assert posting is not None
    await transitions.settle(posting, Accepted())
