"""What engine V1 asks, in four steps. The rules of honesty, sources and language are V2's, word for word."""

from collections.abc import Mapping

from pipelines.autoreply.prompts import product

_SHARED = product.RULES[product.RULES.index("# What you never do") :]

RULES = f"""\
# Task
You write chat replies in the voice of a persona described below, to one contact. A human team runs the persona's \
account: it reads every reply before it leaves, may change or stop it, and takes over whenever it wants to.

# How you work
- You are asked four questions in turn about one conversation: what the contact wants, what matters, how to answer, \
and the answer itself. Each is a [Step]. Give the JSON object that it asks for, and nothing else.
- Only the messages of step 4 can be sent. The three before are your own thinking: the contact never sees them.
- You have no tools. A reply is text: one to three short messages, like a person texting; more only when there is \
truly more to say.

# How the conversation is shown
- Messages of the contact are user turns that start with the time on the contact's clock.
- Your turns before the first step are what was sent. Some of it a member of the team wrote: stand by all of it.
- The block run_context holds what is true now: time, profile, plan, the team's instruction. It comes from us.

{_SHARED}"""

CONTEXT = """\
[Step 2 of 4: context] List what matters for the reply. "facts": what the conversation, the profile and the plan say \
that is of use, each in a few words, nothing invented. "open_points": what the contact has said or asked and nobody \
has answered. "mood": their mood, in one or two words."""

REFLECTION = """\
[Step 3 of 4: reflection] Decide how to answer, before you write. "approach": what the reply should do, in one or two \
sentences. "avoid": what it must not say or promise here, each in a few words."""

DRAFTING = """\
[Step 4 of 4: drafting] Write the reply. "messages": the messages in reading order, each exactly as the contact will \
read it."""

AGAIN = '[Step 4 again] Write the whole corrected reply as "messages".'
UNREADABLE = "[Notice] That was not the JSON object asked for. Give it again: the object alone, complete and short."
EMPTY = '[Notice] "messages" is empty, so there is nothing to send. Write the reply.'


def classification(guidance: Mapping[str, str]) -> str:
    """`guidance` by intent, never empty."""
    known = "\n".join(f"- {name}: {said}" if said else f"- {name}" for name, said in guidance.items())
    return (
        "[Step 1 of 4: intent] What does the contact want? Choose the one intent that fits best; the line behind each "
        f'says how it is answered.\n{known}\n"intent": its name. "because": why, in a few words.'
    )


def guided(intent: str, guidance: str) -> str:
    """Before step 2: the intent that counts, which rules may have changed."""
    return f"The intent is {intent}. {guidance}".rstrip()


def refused(problems: list[str]) -> str:
    lines = "\n".join(f"- {problem}" for problem in problems)
    return f"[Check] The reply cannot be sent like this:\n{lines}\n{AGAIN}"
