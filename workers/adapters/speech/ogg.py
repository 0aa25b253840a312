"""Ogg pages with one Opus stream: read them, time them, and say in the tags where the sound comes from.

RFC 3533 is the container, RFC 7845 Opus in it. Nothing is decoded and no sound is touched.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

HEADER = struct.Struct("<4sBBqIIIB")
CONTINUED, FIRST, LAST = 1, 2, 4
NO_PACKET_ENDS_HERE = -1
OPUS_RATE = 48_000
"""Granule positions count samples at this rate, whatever rate went in."""
MAX_SEGMENTS = 255
VENDOR = b"replique"

_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class NotOpus(Exception):
    """The bytes are not one whole Ogg/Opus file; the sentence says where they stop being one."""


@dataclass(frozen=True, slots=True)
class Page:
    flags: int
    granule: int
    serial: int
    number: int
    lacing: bytes
    body: bytes

    def encoded(self) -> bytes:
        head = (b"OggS", 0, self.flags, self.granule, self.serial, self.number)
        unsigned = HEADER.pack(*head, 0, len(self.lacing)) + self.lacing + self.body
        return HEADER.pack(*head, checksum(unsigned), len(self.lacing)) + self.lacing + self.body


def checksum(page: bytes) -> int:
    """Ogg's CRC-32 runs over the bits the other way round than zlib's; mirrored bytes let zlib do the work."""
    mirrored = zlib.crc32(page.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)


def read_pages(content: bytes) -> list[Page]:
    """All pages of the one stream, each checked against its checksum. Raises `NotOpus`."""
    pages = list(_pages(content))
    if not pages or not pages[0].flags & FIRST or not pages[0].body.startswith(b"OpusHead"):
        raise NotOpus("it does not start as Ogg/Opus")
    if len(pages[0].body) < 19 or len({page.serial for page in pages}) != 1:
        raise NotOpus("more than one stream, or a header too short")
    if [page.number for page in pages] != list(range(pages[0].number, pages[0].number + len(pages))):
        raise NotOpus("pages are missing")
    return pages


def _pages(content: bytes) -> Iterator[Page]:
    at = 0
    while at < len(content):
        page, size = _page_at(content, at)
        yield page
        at += size


def _page_at(content: bytes, at: int) -> tuple[Page, int]:
    if len(content) - at < HEADER.size:
        raise NotOpus("cut in a page header")
    magic, version, flags, granule, serial, number, crc, count = HEADER.unpack_from(content, at)
    if magic != b"OggS" or version != 0:
        raise NotOpus("a page does not start with OggS")
    start = at + HEADER.size
    lacing = content[start : start + count]
    end = start + count + sum(lacing)
    if len(lacing) < count or len(content) < end:
        raise NotOpus("cut in a page")
    # The checksum is taken with its own four bytes, 22 to 25, at zero.
    if checksum(content[at : at + 22] + bytes(4) + content[at + 26 : end]) != crc:
        raise NotOpus("a page does not match its checksum")
    return Page(flags, granule, serial, number, lacing, content[start + count : end]), end - at


def duration_ms(content: bytes) -> int:
    """What a player plays: the last position, less the samples that the decoder is told to skip. Raises `NotOpus`."""
    pages = read_pages(content)
    skipped = int.from_bytes(pages[0].body[10:12], "little")
    ends = [page.granule for page in pages if page.granule != NO_PACKET_ENDS_HERE]
    return max(0, round((ends[-1] - skipped) * 1000 / OPUS_RATE))


def read_tags(content: bytes) -> dict[str, str]:
    """Comment tags, names in lower case. Raises `NotOpus`."""
    packet, _ = _tags_packet(read_pages(content))
    return dict(_comments(packet))


def with_tags(content: bytes, tags: Mapping[str, str]) -> bytes:
    """The same sound with these tags added, or put in place of those of the same name. Raises `NotOpus`."""
    pages = read_pages(content)
    packet, used = _tags_packet(pages)
    kept = dict(_comments(packet)) | {name.lower(): value for name, value in tags.items()}
    comments = [f"{name}={value}".encode() for name, value in kept.items()]
    parts = [b"OpusTags", _sized(VENDOR), struct.pack("<I", len(comments)), *map(_sized, comments)]
    new = _paged(b"".join(parts), pages[1])
    shift = len(new) - used
    rest = [replace(page, number=page.number + shift) for page in pages[1 + used :]]
    return b"".join(page.encoded() for page in [pages[0], *new, *rest])


def _sized(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


def _tags_packet(pages: list[Page]) -> tuple[bytes, int]:
    """The comment packet and how many pages it takes: it starts the second page, and sound starts a page anew."""
    packet = b""
    for used, page in enumerate(pages[1:], start=1):
        packet += page.body
        if page.lacing and page.lacing[-1] < MAX_SEGMENTS:
            if packet.startswith(b"OpusTags") and sum(size < MAX_SEGMENTS for size in page.lacing) == 1:
                return packet, used
            break
    raise NotOpus("the comment header is not where it must be")


def _comments(packet: bytes) -> Iterator[tuple[str, str]]:
    try:
        at = 12 + struct.unpack_from("<I", packet, 8)[0]
        (count,) = struct.unpack_from("<I", packet, at)
        at += 4
        for _ in range(count):
            (size,) = struct.unpack_from("<I", packet, at)
            name, _, value = packet[at + 4 : at + 4 + size].decode("utf-8", "replace").partition("=")
            yield name.lower(), value
            at += 4 + size
    except struct.error:
        raise NotOpus("the comment header is cut") from None


def _paged(packet: bytes, like: Page) -> list[Page]:
    """Lay a header packet out on pages of its own, from the place of `like`."""
    lacing = bytes([MAX_SEGMENTS]) * (len(packet) // MAX_SEGMENTS) + bytes([len(packet) % MAX_SEGMENTS])
    pages = []
    for index, start in enumerate(range(0, len(lacing), MAX_SEGMENTS)):
        own = lacing[start : start + MAX_SEGMENTS]
        body = packet[start * MAX_SEGMENTS : start * MAX_SEGMENTS + sum(own)]
        ends = start + MAX_SEGMENTS >= len(lacing)
        flags = CONTINUED if index else 0
        pages.append(Page(flags, 0 if ends else NO_PACKET_ENDS_HERE, like.serial, like.number + index, own, body))
    return pages
