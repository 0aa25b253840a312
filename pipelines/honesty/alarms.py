"""What a message asks for at once, whoever handles the conversation: silence, or a safety stop."""

from pipelines.honesty import minors, self_harm, stop_words
from pipelines.honesty.reading import forgetting
from schemas.honesty import Alarm


@forgetting
def heard(text: str, year: int | None = None, asked: str = "") -> Alarm | None:
    """None, nearly always. `year` and `asked` as `minors.signal` takes them; a danger comes before a wish."""
    danger = self_harm.signal(text) or minors.signal(text, year, asked)
    stop = stop_words.asked(text)
    return Alarm(stop, danger) if stop or danger else None
