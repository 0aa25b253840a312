"""`/v1/embeddings`: vectors in which texts that share words lie close, always the same for the same text."""

import base64
import hashlib
import math
import re
import struct
from typing import Any

from workers.simulator.openai.models import EMBEDDING_MODELS
from workers.simulator.openai.refusals import ChatRefused
from workers.simulator.tokens import text_tokens

MOST_TEXTS, MOST_TOKENS = 2_048, 8_192
_FIELDS = frozenset({"model", "input", "dimensions", "encoding_format", "user"})
_WORD = re.compile(r"\w+")


def embedded(body: dict[str, Any]) -> dict[str, Any]:
    """The answer's body. Raises ChatRefused."""
    for name in body.keys() - _FIELDS:
        raise ChatRefused(f"Unrecognized request argument supplied: {name}")
    most = EMBEDDING_MODELS.get(str(body.get("model")))
    if most is None:
        raise ChatRefused(f"The model `{body.get('model')}` does not exist.", None, "model_not_found", 404)
    dims = body.get("dimensions", most)
    if not isinstance(dims, int) or not 1 <= dims <= most:
        raise ChatRefused(f"Invalid value for 'dimensions': must be at most {most}.", "dimensions")
    texts = _texts(body.get("input"))
    tokens = sum(text_tokens(text) for text in texts)
    as_text = body.get("encoding_format") == "base64"
    rows = [
        {"object": "embedding", "index": n, "embedding": _packed(vector) if as_text else vector}
        for n, vector in enumerate(_vector(text, dims) for text in texts)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": rows, "model": body["model"], "usage": usage}


def _texts(given: Any) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not 1 <= len(texts) <= MOST_TEXTS:
        raise ChatRefused("Invalid 'input': expected a string or an array of 1 to 2048 strings.", "input")
    for text in texts:
        if not isinstance(text, str) or not text:
            raise ChatRefused("'$.input' is invalid. Please check the API reference.", "input")
        if text_tokens(text) > MOST_TOKENS:
            raise ChatRefused(f"Invalid 'input': maximum context length is {MOST_TOKENS} tokens.", "input")
    return texts


def _vector(text: str, dims: int) -> list[float]:
    numbers = [0.0] * dims
    for word in _WORD.findall(text.lower()) or [text]:
        for piece in {word, *(word[n : n + 4] for n in range(max(len(word) - 3, 0)))}:
            seed = hashlib.sha256(piece.encode("utf-8", "surrogatepass")).digest()
            for n in range(0, 32, 4):
                at = int.from_bytes(seed[n : n + 3], "big") % dims
                numbers[at] += 1.0 if seed[n + 3] & 1 else -1.0
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return [number / length for number in numbers]


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
