"""`replique users` against a gateway that runs: from the link to the page behind it, and out for good."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.builders_face import ADMIN
from tests.integration.test_cli import Shell
from tests.integration.test_gateway_process import a_process

CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
PASSWORD = "une phrase assez courte"
ACME = {"resources": [{"kind": "Organization", "name": "acme"}, {"kind": "Organization", "name": "globex"}]}


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    with a_process(database_url) as (_, url):
        for document in ACME["resources"]:
            answer = httpx2.post(
                f"{url}/v1/apply", json={"resources": [document]}, headers={"Authorization": f"Bearer {ADMIN}"}
            )
            assert answer.status_code == 200, answer.text
        yield url


@pytest.fixture
def shell(tmp_path: Path, url: str) -> Shell:
    return Shell(tmp_path, {"REPLIQUE_URL": url, "REPLIQUE_KEY": ADMIN})


def opened(url: str, link: str) -> int:
    """What the page behind a link answers. The link names where this gateway is reached by others."""
    return httpx2.get(url + urlsplit(link.strip()).path).status_code


def set_password(url: str, link: str) -> None:
    page = url + urlsplit(link.strip()).path
    with httpx2.Client() as browser:
        (csrf,) = CSRF.findall(browser.get(page).text)
        fields = {"csrf": csrf, "password": PASSWORD, "again": PASSWORD}
        assert browser.post(page, data=fields).status_code == 303


def sign_in(url: str, email: str) -> int:
    with httpx2.Client() as browser:
        (csrf, *_) = CSRF.findall(browser.get(f"{url}/console/sign-in").text)
        fields = {"csrf": csrf, "email": email, "password": PASSWORD}
        return browser.post(f"{url}/console/sign-in", data=fields).status_code


def test_somebody_is_let_in_under_a_link_and_shut_out(shell: Shell, url: str) -> None:
    code, link, told = shell("users", "add", "Anna@acme.example", "--name", "anna", "--locale", "fr", "--org", "acme")
    assert (code, told, opened(url, link)) == (0, "", 200)
    set_password(url, link)
    code, listed, _ = shell("users", "list", "--org", "acme", "--json")
    (anna,) = json.loads(listed)["items"]
    came_in = sign_in(url, "anna@acme.example")
    shut = shell("users", "disable", anna["id"])

    assert (anna["email"], anna["role"], anna["locale"], anna["organization"], anna["has_password"]) == (
        "anna@acme.example", "operator", "fr", "acme", True,
    )  # fmt: skip
    assert (came_in, shut) == (303, (0, f"{anna['id']}: disabled\n", ""))
    assert sign_in(url, "anna@acme.example") == 401


def test_a_new_link_voids_the_one_before(shell: Shell, url: str) -> None:
    made = json.loads(shell("users", "add", "ops@x.example", "--name", "ops", "--role", "ops", "--json")[1])
    code, second, _ = shell("users", "link", made["id"])

    assert (code, made["role"], made["organization"]) == (0, "ops", None)
    assert (opened(url, made["link"]["url"]), opened(url, second)) == (404, 200)


@pytest.mark.parametrize("word", ["ops", "Ops@x.example"])
def test_a_new_link_is_asked_for_by_what_an_administrator_knows(shell: Shell, url: str, word: str) -> None:
    made = json.loads(shell("users", "add", "ops@x.example", "--name", "ops", "--role", "ops", "--json")[1])
    code, second, _ = shell("users", "link", word)
    shut = shell("users", "disable", word)

    assert (code, shut[0]) == (0, 0)
    assert (opened(url, made["link"]["url"]), opened(url, second)) == (404, 404)


def test_a_name_that_two_organisations_have_is_told_apart(shell: Shell) -> None:
    for org in ("acme", "globex"):
        shell("users", "add", f"anna@{org}.example", "--name", "anna", "--org", org)
    either, hers = shell("users", "link", "anna"), shell("users", "link", "anna", "--org", "globex")

    assert (either[0], "AR-409 several users are called that" in either[2], hers[0]) == (1, True, 0)


def test_the_list_is_lines_in_a_pipe_and_goes_on(shell: Shell) -> None:
    for name in ("anna", "bob"):
        shell("users", "add", f"{name}@acme.example", "--name", name, "--org", "acme")
    code, first, _ = shell("users", "list", "--limit", "1")
    following = json.loads(shell("users", "list", "--limit", "1", "--json")[1])["next"]
    second = shell("users", "list", "--limit", "1", "--cursor", following)[1]

    assert (code, [line.split("\t")[1:5] for line in (first + second).splitlines()]) == (
        0,
        [["bob", "bob@acme.example", "operator", "acme"], ["anna", "anna@acme.example", "operator", "acme"]],
    )


REFUSED = [
    (["add", "anna@acme.example", "--name", "anna", "--org", "nobody"], 1, "AR-404"),
    (["add", "no-address", "--name", "anna", "--org", "acme"], 1, "email"),
    (["add", "anna@acme.example", "--name", "anna", "--role", "app", "--org", "acme"], 1, "role"),
    (["link", "user_99"], 1, "AR-404"),
    (["disable", "nonsense"], 1, "AR-404"),
    (["add", "anna@acme.example"], 2, "--name"),
]


def test_what_is_refused_is_one_clear_line(shell: Shell) -> None:
    for typed, code, sentence in REFUSED:
        found = shell("users", *typed)
        assert (found[0], found[1], sentence in found[2]) == (code, "", True), typed


def test_an_address_stands_for_one_person(shell: Shell) -> None:
    add = ("users", "add", "anna@acme.example", "--name", "anna", "--org", "acme")
    first, second = shell(*add), shell(*add)

    assert (first[0], second[0], "AR-409" in second[2]) == (0, 1, True)
