"""Every way a job, a candidate or a delivery may change: one method per row of the table in docs/TRANSITIONS.md.

Each is one transaction. It locks the conversation first (`FOR NO KEY UPDATE`), then makes one guarded
`UPDATE … WHERE state = … AND fence = …`, then writes one `job_events` row. Lock order everywhere: conversation, job,
candidate, delivery. Times are the database's `clock_timestamp()`. Leaving a state clears `due_at`, `lease_until` and
`dispatched_at` and bumps the fence. No transition to a terminal state leaves the contact's newest message without a
live job or a reason on the conversation.

A database that is away, full or refuses connections raises `schemas.errors.Unavailable`.
"""
