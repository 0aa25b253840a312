"""Speech: a built-in voice in a process of its own, and the voices of two providers."""
