"""The built-in inbox: an organisation without a webhook reads its bubbles from the conversation itself."""

from pipelines.ports import Channel
from schemas.claims import Accepted, Endpoint, Posted


class WithInbox:
    """A channel that accepts what has no endpoint: the stored message is the delivery."""

    def __init__(self, webhooks: Channel) -> None:
        self._webhooks = webhooks

    async def post(self, endpoint: Endpoint | None, webhook_id: str, body: str) -> Posted:
        if endpoint is None:
            return Accepted()
        return await self._webhooks.post(endpoint, webhook_id, body)
