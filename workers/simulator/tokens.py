"""One deterministic token estimate for input and output: four UTF-8 bytes of compact JSON are one token.

Real tokenizers differ per model; shares and ratios, which is what is measured here, hardly depend on that.
"""

import json
import math
from typing import Any

_NOT_RENDERED = frozenset({"type", "id", "tool_use_id", "cache_control"})


def text_tokens(text: str) -> int:
    return max(1, math.ceil(len(text.encode("utf-8", "surrogatepass")) / 4))


def block_tokens(block: dict[str, Any]) -> int:
    """Tokens of one content block or tool; ids and markers do not reach the model's text."""
    rendered = {name: value for name, value in block.items() if name not in _NOT_RENDERED}
    return text_tokens(json.dumps(rendered, separators=(",", ":"), ensure_ascii=False))


def output_tokens(content: list[dict[str, Any]]) -> int:
    return sum(block_tokens(block) for block in content)
