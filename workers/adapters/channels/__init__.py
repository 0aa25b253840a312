"""Where bubbles and webhooks go: the organisation's endpoint, or the built-in inbox."""
