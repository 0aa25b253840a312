"""What the dialects must know of the tasks."""

from schemas.llm import WRITES, Task

PLAIN_TASKS = WRITES | frozenset({Task.REVIEW, Task.CONCIERGE, Task.AUXILIARY, Task.PARSE, Task.BULK})
"""Short work under a time limit: the model would think at the price of output, which a chat line does not repay."""
