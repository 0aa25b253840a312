"""TCP ports of this machine: is one free, and which one is."""

import socket

from workers.cli.failures import PortTaken


def require_free(host: str, port: int) -> None:
    """Raises PortTaken before anything slow has begun."""
    try:
        with _bound(host, port):
            return
    except OSError as error:
        raise PortTaken(host, port) from error


def free_port(host: str = "127.0.0.1") -> int:
    with _bound(host, 0) as listener:
        return int(listener.getsockname()[1])


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A port that a connection of a minute ago still holds is free for a server.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener
