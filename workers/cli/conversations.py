"""`replique conversations`: who answers in one, and what its contact has agreed to."""

from typing import Annotated, Any

import typer

from workers.cli.options import Json, Org, gateway

app = typer.Typer(no_args_is_help=True, help="Take a conversation over, give it back, reopen it.")
Name = Annotated[str, typer.Argument(metavar="CONVERSATION", help="Your app's name of it, e.g. c-12")]


@app.command()
def takeover(conversation: Name, org: Org = None, as_json: Json = False) -> None:
    """A person answers from now on: what the AI had ready is recalled."""
    answer = _called(conversation, "takeover", None, org)
    _tell(answer, as_json, f"{conversation}: a person answers ({answer['by']}); what the AI had ready is recalled")


@app.command()
def resume(conversation: Name, org: Org = None, as_json: Json = False) -> None:
    """The AI may answer again; at once, when the contact still waits."""
    answer = _called(conversation, "resume", None, org)
    now = f"{answer['job']} answers what waits" if answer.get("job") else "nothing waits for an answer"
    _tell(answer, as_json, f"{conversation}: the AI answers again; {now}")


@app.command()
def consent(
    conversation: Name,
    how: Annotated[str | None, typer.Option(help="How the contact agreed: form, sms, phone, …")] = None,
    proof: Annotated[str | None, typer.Option(help="Where the proof lies.")] = None,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Record that a contact who wanted silence has agreed to be written to again."""
    given = {name: value for name, value in {"how": how, "proof": proof}.items() if value is not None}
    answer = _called(conversation, "consent", given or None, org)
    _tell(answer, as_json, f"{conversation}: {answer['contact']} may be written to again; kept on record")


@app.command()
def reopen(
    conversation: Name,
    reason: Annotated[str | None, typer.Option(help="Why; the first of the two people must say it.")] = None,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Open the safety lock of a contact. Two people must ask, each with a key of their own."""
    answer = _called(conversation, "reopen", {"reason": reason} if reason else None, org)
    asked = f"{conversation}: asked for by {answer['asked_by']}"
    pending = f"{asked}; it stays locked until a second person runs this command with another key"
    done = f"{asked}, confirmed by {answer.get('confirmed_by')}: open again"
    _tell(answer, as_json, done if answer["state"] == "open" else pending)


def _called(conversation: str, verb: str, body: Any, org: str | None) -> dict[str, Any]:
    with gateway(org) as at:
        return at.steer_conversation(conversation, verb, body)


def _tell(answer: dict[str, Any], as_json: bool, sentence: str) -> None:
    from workers.cli.terminal import Terminal

    if as_json:
        Terminal().json(answer)
    else:
        Terminal().say(sentence)
