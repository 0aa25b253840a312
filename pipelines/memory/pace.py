"""How fast the contacts of a persona write: decides how long the provider should keep what prompts share."""

BRISK_SECONDS = 240.0
"""Between two turns of a contact. With the time that a reply takes, what was kept for five minutes is still there."""
HOUR = 3_600.0
"""What comes later reads nothing in either case."""
FEWEST = 40
"""Gaps; fewer say nothing."""
BECOMES = 0.97
STAYS = 0.95
"""Not the same, or a persona at the border would change its prompts' marks with every count."""


def brisk(quick: int, within_hour: int, *, before: bool) -> bool:
    """`quick` gaps of at most four minutes among those `within_hour`. docs/decisions/prompt-layout.md has the figures:
    one gap of five minutes to an hour costs what some twenty quick ones save."""
    if within_hour < FEWEST:
        return False
    return quick >= (STAYS if before else BECOMES) * within_hour
