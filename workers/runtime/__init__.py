"""What a process needs to run: broker, event loop, leases, logging, servers. Knows nothing of conversations."""
