"""The command line. Everything it needs is imported when a command runs, so that help is quick."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 failed, 2 the command line or the settings were wrong."""
    from workers.cli.app import app
    from workers.cli.failures import CommandFailed, as_failure

    try:
        app(args=list(sys.argv[1:] if arguments is None else arguments), prog_name="replique")
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our pipe has seen enough
        sys.exit(0)
    except CommandFailed as failure:
        _leave(failure)
    except Exception as error:
        if (failure_known := as_failure(error)) is None:
            raise
        _leave(failure_known)


def _leave(failure: "Exception") -> None:
    from workers.cli.failures import CommandFailed
    from workers.cli.terminal import Terminal

    Terminal().complain(str(failure))
    sys.exit(failure.exit_code if isinstance(failure, CommandFailed) else 1)
