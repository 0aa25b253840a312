"""Are Ogg/Opus files timed and marked without a change to their sound?"""

import io
import struct
from datetime import UTC, datetime

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.speech import Audio, Engine, SpeechFailed
from workers.adapters.speech import ogg
from workers.adapters.speech.engine_process import sound
from workers.adapters.speech.opus import finished

MADE_AT = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
RATE = 24_000


def tone(seconds: float, hertz: float = 440, rate: int = RATE) -> np.ndarray:
    return (0.3 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def opus_file(seconds: float) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, tone(seconds), RATE, format="OGG", subtype="OPUS")
    return file.getvalue()


def decoded(content: bytes) -> np.ndarray:
    samples: np.ndarray = soundfile.read(io.BytesIO(content))[0]
    return samples


FILE = opus_file(0.6)


@pytest.mark.parametrize("seconds", [0.02, 0.5, 1.2345, 7.0, 20.0])
def test_the_length_is_what_a_decoder_gives(seconds: float) -> None:
    content = opus_file(seconds)

    assert ogg.duration_ms(content) == pytest.approx(len(decoded(content)) / RATE * 1000, abs=1)


def test_the_encoder_of_the_test_files_agrees_with_our_checksum() -> None:
    assert b"".join(page.encoded() for page in ogg.read_pages(FILE)) == FILE


def test_a_known_checksum() -> None:
    # CRC-32 with the polynomial 04c11db7, nothing inverted and nothing mirrored, of the usual check string.
    assert ogg.checksum(b"123456789") == 0x89A1897F


def test_tags_are_added_and_the_sound_stays_as_it_was() -> None:
    marked = ogg.with_tags(FILE, {"ai_generated": "true", "Note": "é ⭐ = fine"})

    assert ogg.read_tags(marked) | {"ai_generated": "true", "note": "é ⭐ = fine"} == ogg.read_tags(marked)
    assert ogg.duration_ms(marked) == ogg.duration_ms(FILE)
    assert np.array_equal(decoded(marked), decoded(FILE))


def test_a_tag_of_the_same_name_is_replaced() -> None:
    twice = ogg.with_tags(ogg.with_tags(FILE, {"AI_GENERATED": "false", "artist": "x"}), {"ai_generated": "true"})

    assert ogg.read_tags(twice) == {"ai_generated": "true", "artist": "x"} | ogg.read_tags(FILE)


@pytest.mark.parametrize("size", [3, 255 * 254, 255 * 255 - 1, 255 * 255, 255 * 255 + 1, 300_000])
def test_long_tags_take_pages_of_their_own_and_short_ones_give_them_back(size: int) -> None:
    long = ogg.with_tags(FILE, {"comment": "x" * size})
    short = ogg.with_tags(long, {"comment": "y"})

    assert len(ogg.read_tags(long)["comment"]) == size
    assert np.array_equal(decoded(long), decoded(FILE))
    assert short == ogg.with_tags(FILE, {"comment": "y"})


def test_every_cut_is_seen() -> None:
    """But for a cut between two pages, which is a shorter file and a whole one."""
    whole, ends = [], 0
    for page in ogg.read_pages(FILE):
        ends += len(page.encoded())
        whole.append(ends)

    taken = [size for size in range(len(FILE) + 1) if size in whole or _is_opus(FILE[:size])]

    assert taken == whole


def _is_opus(content: bytes) -> bool:
    try:
        ogg.duration_ms(content)
    except ogg.NotOpus:
        return False
    return True


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, len(FILE) - 1), bit=st.integers(0, 7))
def test_every_flipped_bit_is_seen(at: int, bit: int) -> None:
    broken = bytearray(FILE)
    broken[at] ^= 1 << bit

    assert not _is_opus(bytes(broken))


@settings(max_examples=300, deadline=None)
@given(noise=st.binary(max_size=300))
def test_noise_is_refused_by_name(noise: bytes) -> None:
    assert not _is_opus(noise)
    assert not _is_opus(FILE + b"." + noise)


def test_a_comment_header_that_lies_about_its_size_is_refused() -> None:
    pages = ogg.read_pages(FILE)
    packet = b"OpusTags" + struct.pack("<I", 4_000_000_000) + b"x"
    liar = ogg.Page(0, 0, pages[1].serial, pages[1].number, bytes([len(packet)]), packet)
    content = b"".join(page.encoded() for page in [pages[0], liar, *pages[2:]])

    with pytest.raises(ogg.NotOpus, match="comment header is cut"):
        ogg.with_tags(content, {"a": "b"})


def test_a_finished_file_is_timed_and_marked() -> None:
    audio = finished(FILE, Engine.OPENAI, "alloy", MADE_AT)

    marks = {"ai_generated": "true", "ai_engine": "openai", "ai_voice": "alloy", "made_at": "2026-11-30T10:00:00+00:00"}
    assert audio == Audio(audio.content, 600, "audio/ogg; codecs=opus", Engine.OPENAI, "alloy")
    assert ogg.read_tags(audio.content).items() >= marks.items()


@pytest.mark.parametrize("content", [b"", b"ID3\x04 an mp3", FILE[:200], opus_file(0)])
def test_what_is_no_speech_is_refused_and_worth_another_try(content: bytes) -> None:
    with pytest.raises(SpeechFailed) as raised:
        finished(content, Engine.OPENAI, "alloy", MADE_AT)

    assert raised.value.retryable


@pytest.mark.parametrize("hertz", [220, 1000, 3000, 8000])
def test_another_rate_is_the_same_sound(hertz: float) -> None:
    slow, fast = tone(0.5, hertz, 22_050), tone(0.5, hertz, RATE)

    made = sound.resampled(slow, 22_050, RATE)

    assert len(made) == len(fast)
    assert float(np.abs(made - fast)[200:-200].max()) < 0.005


def test_silence_is_not_speech() -> None:
    quiet = sound.Sound(np.zeros(RATE, dtype=np.float32), RATE, "fr")

    with pytest.raises(sound.NothingHeard):
        sound.encoded(quiet)
