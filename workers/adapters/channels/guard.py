"""Where a webhook may go: never into the networks behind us.

A name is resolved once and the connection made to the address that was checked, so that a name server cannot answer
one thing to the check and another to the connection. The pool still keys connections by name, and TLS verifies it.
"""

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor

from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_ALSO_CLOSED = tuple(
    ipaddress.ip_network(block)
    for block in (
        "100.64.0.0/10",  # carrier-grade NAT; cloud providers keep metadata services there
        "192.0.0.0/24",
        "198.18.0.0/15",
        "64:ff9b:1::/48",
        "fec0::/10",
    )
)
RESOLVERS = 32
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressRefused(Exception):
    """The name leads to an address that is not public."""


def is_public(address: Address) -> bool:
    """Reachable by anyone, as the IANA registries have it; an IPv4 address inside IPv6 counts as itself."""
    inner = _embedded(address)
    if inner is not None:
        return is_public(inner)
    if any(address.version == block.version and address in block for block in _ALSO_CLOSED):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def _resolve(host: str, port: int) -> list[Address]:
    """Every address of a name. Blocks. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # a scoped literal (fe80::1%eth0) keeps its zone in the text
    return list(dict.fromkeys(ipaddress.ip_address(str(info[4][0]).partition("%")[0]) for info in found))


class Guard(AbstractResolver):
    """Lets connections go to public addresses only, or to any when `private` are allowed.

    Asked twice: for the addresses of a name, and, by `socket`, for each address a connection is about to be made to,
    which an address in the URL comes to without being looked up.
    """

    def __init__(self, private: bool) -> None:
        self._private = private
        # The loop's own resolver has four threads: one receiver's slow name server would hold up all webhooks.
        self._threads = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="resolver")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises AddressRefused, OSError."""
        try:
            addresses = await asyncio.get_running_loop().run_in_executor(self._threads, _resolve, host, port)
        except UnicodeError as error:
            raise OSError("the name cannot be looked up") from error
        # One private address among public ones is a trap, not an accident.
        if not self._private and not all(map(is_public, addresses)):
            raise AddressRefused("the address is not public")
        return [_result(host, port, address) for address in addresses]

    def socket(self, info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _name, address = info
        if not self._private and not is_public(ipaddress.ip_address(str(address[0]).partition("%")[0])):
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
