"""An installation with something on every page, for whatever looks at all of them."""

from dataclasses import dataclass
from typing import Any

from tests.scripts import bubbles, call, done
from tests.stack import Stack, Talk
from workers.simulator.control import SimulatorControl

PERSONA = {
    "control_window_seconds": 900,  # pictures of all pages take minutes
    "tone": "chaleureuse, spontanée, tutoie",
    "instructions": "Maya fait des vidéos de randonnée et de voyage. Elle répond à ses fans en phrases courtes.",
}
RESOURCES: list[dict[str, Any]] = [
    {"kind": "Album", "name": "summit", "persona": "maya", "title": "Sommet"},
    {
        "kind": "MediaItem",
        "name": "summit-1",
        "persona": "maya",
        "album": "summit",
        "type": "video",
        "url": "https://cdn.example/summit-1.mp4",
        "description": "Maya au sommet, au lever du soleil",
        "price": {"amount": "12.50", "currency": "EUR"},
        "consent_record": {"owner": "Maya", "given_at": "2026-01-05T10:00:00+01:00", "proof": "contract 12"},
    },
    {
        "kind": "MediaItem",
        "name": "hut-1",
        "persona": "maya",
        "type": "video",
        "url": "https://cdn.example/hut-1.mp4",
        "description": "Le refuge sous la neige",
    },
    {
        "kind": "Rule",
        "name": "calm",
        "when": 'message.text.contains("remboursé")',
        "then": {"inject": "Answer calmly, promise nothing.", "control_window_seconds": 120},
        "priority": 10,
    },
    {
        "kind": "Rule",
        "name": "weekend",
        "when": 'message.text.contains("week-end")',
        "then": {"inject": "Talk about the next hike.", "disable_tools": ["send_payment"]},
        "priority": 20,
        "excludes": ["offer"],
    },
    {
        "kind": "Rule",
        "name": "offer",
        "when": 'message.text.contains("week-end")',
        "then": {"require_tools": ["get_media"]},
        "priority": 5,
    },
]
TALKS = (
    (
        "Léo",
        "coucou Maya ! tu fais quoi ce week-end ?",
        ("Coucou Léo ! Je prépare une rando dans le Vercors.", "Tu connais le coin ?"),
    ),
    (
        "Inès",
        "ta dernière vidéo m'a donné envie de partir, tu as quoi comme sac ?",
        ("Merci Inès, ça me touche !", "Un petit sac tout simple, et surtout bien réglé."),
    ),
    ("Tom", "t'es où là ?", ("Au refuge, et il neige déjà.",)),
)


@dataclass
class Scenes:
    org: str
    pages: dict[str, str]
    """By name, the path below /console."""


async def set_up(stack: Stack, model: SimulatorControl) -> Scenes:
    first = stack.organization(**PERSONA)
    stack.call("POST", "/v1/apply", json={"resources": RESOURCES}, headers={"x-organization": first.org}, status=200)
    held = [await _held(talk, model, *told) for talk, told in zip(_talks(first, 3), TALKS, strict=True)]
    first.call("POST", f"/v1/jobs/{held[1]}/hold", status=200)
    spoken = await _spoken(first.another(), model)
    asked, empty, refused = first.another(), first.another(), first.another()
    asked.ended(_say(asked, "Nora", "attends… t'es un bot ?"), "failed")
    await model.script(done(""), done(""), match="tu m'envoies une photo", task="reply")
    empty.ended(_say(empty, "Sam", "tu m'envoies une photo ?"), "failed")
    stack.receiver.answers[refused.name] = [400]
    await model.script(bubbles("Bien sûr, à demain !"), done(), match="on se capte demain", task="reply")
    given_up = _say(refused, "Zoé", "on se capte demain ?")
    refused.call("POST", f"/v1/jobs/{refused.reaches(given_up, 'held')['id']}/approve", status=200)
    refused.ended(given_up, "failed")
    letters = stack.call("GET", "/v1/dead-letters", headers={"x-organization": first.org}, status=200)["items"]
    return Scenes(first.org, _pages(spoken, held[0], letters[0]["id"]))


def _pages(talk: Talk, job: str, letter: str) -> dict[str, str]:
    return {
        "window": "/",
        "attention": "/attention",
        "conversation": f"/conversations/{talk.name}",
        "trace": f"/jobs/{job}",
        "dead-letters": "/dead-letters",
        "dead-letter": f"/dead-letters/{letter}",
        "queues": "/queues",
        "costs": "/costs",
        "rules": "/rules",
        "agents": "/agents?persona=maya",
        "chatting": "/chatting?persona=maya",
        "personas": "/personas",
        "persona": "/personas/maya",
        "playground": "/playground",
        "organizations": "/organizations",
        "not-found": "/find?q=nobody",
    }


def _talks(first: Talk, n: int) -> list[Talk]:
    return [first, *(first.another() for _ in range(n - 1))]


def _say(talk: Talk, name: str, text: str, message: str = "m") -> str:
    contact = {"id": f"fan-{talk.name}", "name": name, "locale": "fr", "timezone": "Europe/Paris"}
    body = {
        "id": f"{talk.name}-{message}",
        "conversation": talk.name,
        "persona": "maya",
        "author": "contact",
        "text": text,
    }
    return str(talk.call("POST", "/v1/messages", json={**body, "contact": contact}, status=202)["job"])


async def _held(talk: Talk, model: SimulatorControl, name: str, text: str, answers: tuple[str, ...]) -> str:
    await model.script(bubbles(*answers), done(), match=text, task="reply")
    job = _say(talk, name, text)
    talk.reaches(job, "held")
    return job


async def _spoken(talk: Talk, model: SimulatorControl) -> Talk:
    """A conversation with a voice bubble that has left, and drafts that have not."""
    await model.script(bubbles("Dimanche soir, et je te raconterai tout !"), done(), match="tu rentres", task="reply")
    first = talk.reaches(_say(talk, "Mia", "tu rentres quand ?", "m0"), "held")["id"]
    await model.script(bubbles("Dimanche soir."), done(), match="plus court", task="reply")
    talk.call("POST", f"/v1/jobs/{first}/regenerate", json={"instruction": "plus court"}, status=200)
    talk.call("POST", f"/v1/jobs/{talk.reaches(first, 'held')['id']}/cancel", status=200)
    turn = {"calls": [call("send_message", text="Écoute :"), call("send_vocal", text="Coucou Mia, bonne nuit !")]}
    await model.script(turn, done(), match="tu m'envoies un vocal", task="reply")
    job = _say(talk, "Mia", "tu m'envoies un vocal ?")
    talk.call("POST", f"/v1/jobs/{talk.reaches(job, 'held')['id']}/approve", status=200)
    talk.ended(job, seconds=60)
    return talk
