"""How the reader's shell starts this command: an environment that is not activated is not on its path."""

import shutil
import sys
from pathlib import Path


def command(*, anywhere: bool = False) -> str:
    """`replique` where that works, else its path: short from this folder, in full when it is to work `anywhere`."""
    if shutil.which("replique"):
        return "replique"
    own, here = Path(sys.executable).with_name("replique"), Path.cwd()
    return str(own.relative_to(here)) if own.is_relative_to(here) and not anywhere else str(own)
