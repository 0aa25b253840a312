"""Options that several commands share, and how a command gets its gateway."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from workers.cli.client import Gateway

Org = Annotated[
    str | None,
    typer.Option("--org", help="The organisation (REPLIQUE_ORG); default: the only one.", metavar="NAME"),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=200)]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Where the page before ended.")]
Json = Annotated[bool, typer.Option("--json", help="The gateway's answer as JSON.")]


def gateway(org: str | None) -> "Gateway":
    """The gateway of this environment or folder. Raises AskedWrongly for settings that do not make sense."""
    from schemas.settings import read_settings
    from workers.cli.client import Gateway
    from workers.cli.connection import find

    settings = read_settings()
    return Gateway(find(settings), org or settings.org)
