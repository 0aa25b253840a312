"""Engine V1 at work: four questions to the auxiliary model, one after the other; the last answer is the reply."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pipelines.agent import guards
from pipelines.agent.calls import Calls, Timer
from pipelines.agent.guards import Counts, Halt
from pipelines.agent.loop import Finish, written
from pipelines.agent.trace import Trace
from pipelines.autoreply.chain_prompt import ChainPrompt
from pipelines.autoreply.chain_steps import CONTEXT, DRAFTING, REFLECTION, Answer, Step, intent_step
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.intents import Intents
from pipelines.autoreply.prompts import chain as words
from pipelines.llm.history import ASSISTANT, USER
from pipelines.llm.models import Route
from pipelines.text import rendered
from schemas.agent import AgentParameters
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from schemas.errors import Code
from schemas.ids import CallId
from schemas.llm import Block, Message, ModelAnswer, ModelRequest, Stop, Task, Text

A = TypeVar("A", bound=Answer)


class Chain:
    """Writes as the agent does, with its guards: each answer counts for MaxIterations, each message that a local check
    refuses for MaxRefusedToolCalls."""

    def __init__(
        self,
        prompt: ChainPrompt,
        intents: Intents,
        route: Route,
        draft: Draft,
        calls: Calls,
        timer: Timer,
        limits: AgentParameters,
        trace: Trace,
    ) -> None:
        self._prompt = prompt
        self._intents = intents
        self._route = route
        self._draft = draft
        self._calls = calls
        self._timer = timer
        self._limits = limits
        self._trace = trace
        self._counts = Counts()
        self._messages: list[Message] = []
        self._new: list[Block] = [Text(prompt.moment)]
        self._unread = False
        self._correcting = False

    @property
    def may_go_on(self) -> bool:
        """Another call of the model is allowed."""
        return guards.too_many_answers(self._counts, self._limits) is None

    @property
    def used(self) -> None:
        """It has no tools."""

    async def work(self) -> Finish | Halt:
        """The four steps. Raises CallFailed, RunTakenAway."""
        return await self._think() or await self._write(words.DRAFTING)

    async def correct(self, feedback: str) -> Finish | Halt:
        """The last step again, after a review that found errors. The caller has emptied the draft."""
        self._correcting = True
        return await self._write(f"{feedback}\n{words.AGAIN}")

    async def _think(self) -> Halt | None:
        guidance = self._intents.guidance
        found = await self._ask(intent_step(guidance), words.classification(guidance), self._another)
        if isinstance(found, Halt):
            return found
        intent = self._intents.settled(found.intent)
        self._trace.note("V1 intent", intent=intent, found=found.intent, because=found.because)
        self._new.append(Text(words.guided(intent, guidance.get(intent, ""))))
        context = await self._ask(CONTEXT, words.CONTEXT, self._another)
        if isinstance(context, Halt):
            return context
        self._trace.note("V1 context", **context.model_dump())
        reflection = await self._ask(REFLECTION, words.REFLECTION, self._another)
        if isinstance(reflection, Halt):
            return reflection
        self._trace.note("V1 reflection", **reflection.model_dump())
        return None

    async def _write(self, instruction: str) -> Finish | Halt:
        while True:
            drafted = await self._ask(DRAFTING, instruction, self._after_a_draft)
            if isinstance(drafted, Halt):
                return drafted
            bubbles, problems = self._judged(drafted.messages)
            if halt := self._refused(problems):
                return halt
            if bubbles and not problems:
                self._draft.bubbles.extend(bubbles)
                return Finish.SENDABLE
            if not problems and (halt := self._nothing_to_send()):
                return self._ended(halt)
            instruction = words.refused(problems) if problems else words.EMPTY

    async def _ask(self, step: Step[A], instruction: str, follows: Callable[[ModelAnswer], Task | None]) -> A | Halt:
        """One step; asked once more in a run when its answer cannot be read."""
        self._new.append(Text(instruction))
        while True:
            if halt := guards.before_a_call(self._counts, self._timer.remaining, self._limits):
                return halt
            answer = await self._call(step, follows)
            if answer.stop is Stop.REFUSED:
                return Halt(Code.MODEL_REFUSED, "the model refused to answer", "model_refused")
            if (read := step.read(answer)) is not None:
                return read
            if self._unread:
                sentence = f"no answer of V1 could be read, twice; the last at step {step.name}"
                return Halt(Code.MODEL_REFUSED, sentence, "answer_unreadable")
            self._unread = True
            self._new.append(Text(words.UNREADABLE))

    async def _call(self, step: Step[A], follows: Callable[[ModelAnswer], Task | None]) -> ModelAnswer:
        def request(call: CallId, sent: Sequence[Block]) -> ModelRequest:
            run = [*self._messages, Message(USER, tuple(sent))]
            return self._prompt.request(call, self._route[0], run, step.schema)

        exchange = await self._calls.ask(Task.AUXILIARY, self._route, self._new, request, follows)
        self._messages.append(Message(USER, exchange.sent))
        if exchange.answer.content:
            self._messages.append(Message(ASSISTANT, written(exchange.answer)))
        self._new = []
        self._counts.heard(exchange.answer)
        return exchange.answer

    def _judged(self, messages: Sequence[str]) -> tuple[list[Bubble], list[str]]:
        """The bubbles, and what is wrong with those that a local check refuses."""
        bubbles: list[Bubble] = []
        problems = []
        for number, message in enumerate(messages, 1):
            text = rendered(message).strip()
            if not text:
                continue
            if broken := self._draft.checks.first_broken(text, [bubble.text for bubble in bubbles]):
                problems.append(f"message {number}: {broken}")
            else:
                bubbles.append(Bubble(BubbleKind.TEXT, text))
        return bubbles, problems

    def _refused(self, problems: list[str]) -> Halt | None:
        for problem in problems:
            self._trace.note("V1 draft refused", reason=problem)
            self._counts.judged(DRAFTING.name, refused=True)
        return guards.too_many_refusals(self._counts, self._limits)

    def _nothing_to_send(self) -> Halt | None:
        if self._counts.nudged:
            return Halt(
                Code.NO_CANDIDATE, "the model stopped with nothing to send, also after a nudge", "nothing_to_send"
            )
        self._counts.nudged = True
        return None

    def _ended(self, halt: Halt) -> Finish | Halt:
        """A correction that found nothing better: the version before stands."""
        return Finish.NOTHING_NEW if self._correcting else halt

    def _another(self, answer: ModelAnswer) -> Task | None:
        if answer.stop is Stop.REFUSED or self._counts.answers + 1 >= self._limits.max_iterations:
            return None
        return Task.AUXILIARY

    def _after_a_draft(self, answer: ModelAnswer) -> Task | None:
        drafted = DRAFTING.read(answer)
        bubbles, problems = self._judged(drafted.messages) if drafted is not None else ([], [])
        if problems or not bubbles:
            return self._another(answer)
        return Task.REVIEW if self._limits.use_redaction_validation else None
