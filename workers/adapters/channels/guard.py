"""Where a webhook may go: never into the networks behind us.

A name is resolved once and the connection made to the address that was checked, so that a name server cannot answer
one thing to the check and another to the connection. The pool still keys connections by name, and TLS verifies it.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpcore2

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


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to public addresses only, or to any when `private` are allowed."""

    def __init__(self, private: bool) -> None:
        self._private = private
        self._network = httpcore2.AnyIOBackend()
        # The loop's own resolver has four threads: one receiver's slow name server would hold up all webhooks.
        self._resolvers = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="resolver")

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (the library's signature)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._checked(host, port)
        failure: Exception = httpcore2.ConnectError("no address")
        for address in addresses:
            try:
                return await self._network.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise AddressRefused("a webhook does not go to a socket file")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _checked(self, host: str, port: int) -> list[Address]:
        try:
            addresses = await asyncio.get_running_loop().run_in_executor(self._resolvers, _resolve, host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError("the name does not resolve") from error
        # One private address among public ones is a trap, not an accident.
        if not self._private and not all(map(is_public, addresses)):
            raise AddressRefused("the address is not public")
        return addresses
