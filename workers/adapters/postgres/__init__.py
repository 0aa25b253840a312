"""PostgreSQL, the truth: guarded transitions, reads, provisioning."""
