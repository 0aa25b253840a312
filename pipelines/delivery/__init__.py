"""What goes out, and when: the bodies of webhooks, the notice, pacing between bubbles, pauses between attempts."""
