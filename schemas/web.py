"""Addresses on the web that somebody else names: which of them anything of ours may be sent to."""

from urllib.parse import urlsplit

FORBIDDEN_PORTS = frozenset(
    {0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109}
    | {110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530}
    | {531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190}
    | {5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)
"""Of other protocols, whose servers might take a request for commands: the list of the Fetch standard, with 0."""


def fault_of(url: str) -> str | None:
    """What is wrong with an address that requests are to be made to, in a sentence that does not repeat it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "not an http or https address"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "not an http or https address"
    if parts.username is not None or parts.password is not None:
        return "an address may not hold a name or password"
    if port in FORBIDDEN_PORTS:
        return f"port {port} is that of another protocol than HTTP"
    return None
