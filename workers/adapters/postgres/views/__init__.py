"""What people and upstream apps read. Reads only; every query is scoped to an organisation or, on purpose, to none."""
