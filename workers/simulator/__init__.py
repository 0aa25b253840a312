"""A model provider on this machine: speaks the Messages API, bills by the cache rules, fails on demand."""

from workers.simulator.app import create_app
from workers.simulator.serving import make_server, serve

__all__ = ["create_app", "make_server", "serve"]
