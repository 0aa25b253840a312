"""Writes down what a release asks of the database, for the test that asks it of the next release's schema.

`python -m tests.record_statements tests/data/upgrade/REVISION.json`, in a checkout of that release, REVISION being its
newest migration. Every statement is kept once, with values it was sent with; those are the tests' own.
"""

import asyncio
import json
import sys
from pathlib import Path

from tests import servers
from tests.builders_storage import a_storage, open_hours
from tests.integration import test_plans
from tests.overheard import overheard

ROWS = 1_000
PARTS = (
    "everything_hot",
    "everything_remembered",
    "everything_that_is_tried",
    "writing_first",
    "everything_erased",
)


async def record(database_url: str) -> list[dict[str, object]]:
    test_plans.GROWN = ROWS
    kept: dict[str, object] = {}
    async with a_storage(database_url, {"proactive_hours": open_hours()}) as storage:
        await test_plans.grow(storage)
        with overheard(storage) as heard:
            for part in PARTS:
                if (act := getattr(test_plans, part, None)) is not None:
                    await act(storage)
        for statement, bound in heard:
            if "/* test */" not in statement and "SET TRANSACTION" not in statement:
                kept.setdefault(statement, bound)
    return [{"statement": statement, "values": bound} for statement, bound in kept.items()]


def main() -> None:
    with servers.postgres() as server:
        template = servers.make_template(server)
        with servers.database(server, template) as database_url:
            found = asyncio.run(record(database_url))
    Path(sys.argv[1]).write_text(json.dumps(found, indent=0, default=str, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{len(found)} statements\n")


if __name__ == "__main__":
    main()
