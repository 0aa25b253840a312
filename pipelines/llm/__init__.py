"""Which model answers, what it costs, and how a conversation becomes a request."""
