"""`python -m workers.cli`: how `replique up` starts its own processes."""

from workers.cli import main

main()
