"""The loop of thinking and acting: a model, its tools, and the guards around them. No business in here."""
