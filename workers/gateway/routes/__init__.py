"""The routes, one module per thing they are about."""

from workers.gateway.routes import (
    apply,
    conversations,
    dead_letters,
    doctor,
    explain,
    health,
    jobs,
    keys,
    messages,
    queues,
)

ROUTERS = (
    messages.router,
    conversations.router,
    jobs.router,
    dead_letters.router,
    queues.router,
    explain.router,
    doctor.router,
    apply.router,
    keys.router,
    health.router,
)

__all__ = ["ROUTERS"]
