"""What an operator does in the browser, by what they see: labels, buttons, keys."""

from dataclasses import dataclass, field
from typing import Any

SECONDS = 1000
PATIENCE = 30 * SECONDS


@dataclass
class Operator:
    """`faults`: what the browser complained of, but for refusals and losses that a test asks for."""

    page: Any
    url: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda line: self._note(line.text) if line.type == "error" else None)

    def _note(self, text: str) -> None:
        if not text.startswith("Failed to load resource"):
            self.faults.append(text)

    async def go(self, path: str = "/") -> None:
        await self.page.goto(f"{self.url}/console{path}")

    async def enter_with_key(self, key: str) -> None:
        await self.go("/sign-in")
        await self.page.get_by_text("Sign in with a key").click()
        await self.page.get_by_label("Key", exact=True).fill(key)
        await self.page.locator("details").get_by_role("button", name="Sign in").click()
        await self.page.wait_for_url(f"{self.url}/console/")

    async def choose(self, organization: str) -> None:
        await self.go("/organizations")
        await self.page.get_by_role("button", name=organization, exact=True).click()
        await self.page.locator(".where", has_text=organization).wait_for()

    def row(self, job: str) -> Any:
        return self.page.locator(f"#{job}")

    async def sees(self, job: str) -> Any:
        """The row of a job, once it is there: nothing is reloaded."""
        await self.row(job).wait_for()
        return self.row(job)

    async def press(self, job: str, button: str) -> None:
        await self.row(job).get_by_role("button", name=button, exact=True).click()

    async def told(self, job: str) -> str:
        """What the row says happened."""
        said = self.row(job).locator(".told")
        await said.wait_for()
        return str(await said.inner_text())

    async def key(self, job: str, key: str) -> None:
        """With the row in focus."""
        await self.row(job).focus()
        await self.page.keyboard.press(key)
