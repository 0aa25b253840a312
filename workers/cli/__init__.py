"""The command line. Everything it needs is imported when a command runs, so that help is quick."""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 failed, 2 the command line or the settings were wrong."""
    from workers.cli.app import app
    from workers.cli.failures import as_failure
    from workers.cli.terminal import Terminal

    try:
        app(args=list(sys.argv[1:] if arguments is None else arguments), prog_name="replique")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # who read our pipe has seen enough
    except Exception as error:
        if (failure := as_failure(error)) is None:
            raise
        Terminal().complain(str(failure))
        sys.exit(failure.exit_code)
