"""The routes, one module per thing they are about."""

from workers.gateway.routes import (
    apply,
    attention,
    candidates,
    contacts,
    conversations,
    costs,
    dead_letters,
    doctor,
    documents,
    explain,
    files,
    health,
    jobs,
    keys,
    messages,
    payments,
    queues,
    rules,
    users,
)

ROUTERS = (
    messages.router,
    conversations.router,
    contacts.router,
    jobs.router,
    candidates.router,
    payments.router,
    attention.router,
    dead_letters.router,
    files.router,
    queues.router,
    costs.router,
    rules.router,
    explain.router,
    doctor.router,
    apply.router,
    documents.router,
    keys.router,
    users.router,
    health.router,
)

__all__ = ["ROUTERS"]
