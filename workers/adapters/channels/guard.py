"""Where a webhook may go: never into the networks behind us.

Nothing else of ours asks an address that somebody outside has named: media and attachments are passed on as they are.

A name is resolved once and the connection made to the address that was checked, so that a name server cannot answer
one thing to the check and another to the connection. The pool still keys connections by name, and TLS verifies it.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_ALSO_CLOSED = tuple(
    ipaddress.ip_network(block)
    for block in (
        "100.64.0.0/10",  # carrier-grade NAT; cloud providers keep metadata services there
        "192.0.0.0/24",
        "192.88.99.0/24",  # relays of 6to4
        "198.18.0.0/15",
        "64:ff9b:1::/48",
        "3fff::/20",
        "fec0::/10",
    )
)
RESOLVERS = 32
LookUp = Callable[[str, int], list[Address]]
"""Every address of a name. May block. Raises OSError."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ISATAP = 0x00005EFE
"""The third quarter of such an address, apart from a bit that may be set: any prefix may stand before it."""


class AddressRefused(Exception):
    """The name leads to an address that is not public."""


def is_public(address: Address) -> bool:
    """Reachable by anyone, as the IANA registries have it; an IPv4 address inside IPv6 counts as itself."""
    inner = _embedded(address)
    if inner:
        return all(map(is_public, inner))
    if _is_isatap(address) and not is_public(_last(address)):
        return False
    if any(address.version == block.version and address in block for block in _ALSO_CLOSED):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _embedded(address: Address) -> list[ipaddress.IPv4Address]:
    """Those to which a gateway on the way, or the machine itself, would turn the packets."""
    if not isinstance(address, ipaddress.IPv6Address):
        return []
    if address in _NAT64:
        return [_last(address)]
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    return [inner for inner in found if inner is not None]


def _is_isatap(address: Address) -> bool:
    return address.version == 6 and (int(address) >> 32) & 0xFDFFFFFF == _ISATAP


def _last(address: Address) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def resolve(host: str, port: int) -> list[Address]:
    """By the machine's own resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # a scoped literal (fe80::1%eth0) keeps its zone in the text
    return list(dict.fromkeys(ipaddress.ip_address(str(info[4][0]).partition("%")[0]) for info in found))


class Guard(AbstractResolver):
    """Lets connections go to public addresses only, or to any when `private` are allowed.

    Asked twice: for the addresses of a name, and, by `socket`, for each address a connection is about to be made to,
    which an address in the URL comes to without being looked up.
    """

    def __init__(
        self, private: bool, look_up: LookUp = resolve, open_to: Callable[[Address], bool] = is_public
    ) -> None:
        self._private = private
        self._look_up = look_up
        self._open_to = open_to
        # The loop's own resolver has four threads: one receiver's slow name server would hold up all webhooks.
        self._threads = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="resolver")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises AddressRefused, OSError."""
        try:
            addresses = await asyncio.get_running_loop().run_in_executor(self._threads, self._look_up, host, port)
        except UnicodeError as error:
            raise OSError("the name cannot be looked up") from error
        # One private address among public ones is a trap, not an accident.
        if not self._private and not all(map(self._open_to, addresses)):
            raise AddressRefused("the address is not public")
        return [_result(host, port, address) for address in addresses]

    def socket(self, info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _name, address = info
        if not self._private and not self._open_to(ipaddress.ip_address(str(address[0]).partition("%")[0])):
            raise AddressRefused("the address is not public")
        return socket.socket(family, kind, protocol)

    async def close(self) -> None:
        self._threads.shutdown(wait=False)


def _result(host: str, port: int, address: Address) -> ResolveResult:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return {
        "hostname": host,
        "host": str(address),
        "port": port,
        "family": family,
        "proto": socket.IPPROTO_TCP,
        "flags": socket.AI_NUMERICHOST,
    }
