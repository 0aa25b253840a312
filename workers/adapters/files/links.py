"""Links to stored files that work without a key until they expire."""

import hashlib
import hmac
from datetime import datetime, timedelta
from urllib.parse import urlencode

from schemas.media import file_id

LIFETIME = timedelta(days=7)
# A key of its own, so that no signature made elsewhere with the same secret ever opens a file.
PURPOSE = b"replique file link v1"


class FileLinks:
    """Signs and checks. Pure: the same secret on every gateway opens what any worker signed."""

    def __init__(self, public_url: str, secret: str) -> None:
        self._public_url = public_url.rstrip("/")
        self._key = hmac.digest(secret.encode(), PURPOSE, hashlib.sha256)

    def url(self, key: str, expires: datetime) -> str:
        """`PUBLIC_URL/v1/files/{id}?exp=&sig=`, good until `expires`, cut to whole seconds."""
        seconds = int(expires.timestamp())
        query = urlencode({"exp": seconds, "sig": self.sign(key, seconds)})
        return f"{self._public_url}/v1/files/{file_id(key)}?{query}"

    def sign(self, key: str, expires: int) -> str:
        """HMAC-SHA-256 in hex. `expires` in seconds since 1970."""
        return hmac.new(self._key, f"{expires}\n{file_id(key)}".encode(), hashlib.sha256).hexdigest()

    def signed(self, key: str, expires: str, signature: str) -> bool:
        """Whether it was made with this secret, expired or not."""
        if not (expires.isascii() and expires.isdecimal() and len(expires) <= 12 and signature.isascii()):
            return False
        return hmac.compare_digest(self.sign(key, int(expires)), signature)

    def verify(self, key: str, expires: str, signature: str, now: datetime) -> bool:
        """`expires` and `signature` as they stood in the URL."""
        return self.signed(key, expires, signature) and now.timestamp() < int(expires)
