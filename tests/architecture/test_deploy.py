"""What is deployed is this program: its commands, its settings, its queues, its locked libraries, its time to drain.

Nothing is started here: files are read, and held against the code.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from pydantic import BaseModel

from schemas.jobs import Queue
from schemas.settings import KEPT_NAMES, Settings, read_settings
from workers.cli.app import app
from workers.gateway.routes import health
from workers.main import END_SECONDS

DEPLOY = Path(__file__).parents[2] / "deploy"
ROOT = DEPLOY.parent
SERVICES: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("replique:")}
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
CHART = DEPLOY / "helm" / "replique"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
TEMPLATES = {path.name: path.read_text() for path in sorted((CHART / "templates").iterdir())}

DRAIN = read_settings({}).queue.drain_seconds + END_SECONDS
"""What a worker that is told to stop may take: its runs finish, and those that do not give their rows back."""
REQUESTS = read_settings({}).gateway.drain_seconds
PRE_STOP = 5
OF_COMPOSE = {"POSTGRES_PASSWORD", "REPLIQUE_LISTEN", "REPLIQUE_VERSION"}
"""Read by compose itself, and by no process of ours."""


def settings_names() -> Iterator[str]:
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from (f"REPLIQUE_{name}__{leaf}".upper() for leaf in field.annotation.model_fields)
        else:
            yield KEPT_NAMES.get(name, f"REPLIQUE_{name.upper()}")


def parsed(arguments: list[str]) -> dict[str, Any]:
    """The parameters of a command line of ours. Raises what click raises when there is no such command or option."""
    group: Any = typer.main.get_command(app)
    name, *rest = arguments
    found: dict[str, Any] = group.commands[name].make_context(name, list(rest)).params
    return found


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def kept(value: Any, path: str) -> Any:
    """The value at `a.b` of values.yaml; KeyError where there is none."""
    for part in path.split("."):
        value = value[part]
    return value


def rendered(text: str, worker: dict[str, Any] | None = None) -> str:
    """A line of a template with its values put in: what our templates use, not what Helm knows."""

    def put(match: re.Match[str]) -> str:
        value = kept(worker if match["of"] == "$worker" else VALUES, match["path"])
        return f'"{value}"' if match["quote"] else str(value)

    return re.sub(r"\{\{ (?P<of>\$?\.Values|\$worker)\.(?P<path>[\w.]+)(?P<quote> \| quote)? \}\}", put, text)


def chart_commands() -> dict[str, list[str]]:
    found = {}
    for name, template in TEMPLATES.items():
        for line in re.findall(r"^ +args: (\[.*\])$", template, re.M):
            for kind, worker in VALUES["workers"].items() if "$worker" in line else [("", None)]:
                found[f"{name} {kind}".strip()] = [str(word) for word in yaml.safe_load(rendered(line, worker))]
    return found


def locked(name: str) -> dict[str, set[str]]:
    """`package==version ; marker` to its hashes."""
    pins: dict[str, set[str]] = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / name).read_text().strip()):
        head, *hashes = [part.strip(" \\") for part in entry.split("\n")]
        pins[head] = set(hashes)
    return pins


@pytest.mark.parametrize("name", OURS)
def test_a_service_runs_a_command_that_exists(name: str) -> None:
    assert parsed(OURS[name]["command"]) is not None


def test_the_services_of_compose_take_all_queues_and_send_apart() -> None:
    queues = [parsed(service["command"]).get("queues", "") for service in OURS.values()]

    assert sorted(filter(None, queues)) == ["reply,background", "send"]
    assert {queue for text in queues if text for queue in text.split(",")} == set(Queue)


def test_every_process_of_the_readme_is_a_service() -> None:
    assert {service["command"][0] for service in OURS.values()} == {
        "gateway", "worker", "clock", "migrate", "simulator",
    }  # fmt: skip


@pytest.mark.parametrize("name", OURS)
def test_a_service_sets_what_is_a_setting(name: str) -> None:
    assert set(OURS[name]["environment"]) - set(settings_names()) == set()


def test_the_example_of_settings_names_what_is_passed_on() -> None:
    named = set(re.findall(r"^#?([A-Z][A-Z_0-9]+)=", (DEPLOY / "env.example").read_text(), re.M))

    assert named - set(OURS["gateway"]["environment"]) == OF_COMPOSE & named
    assert {"POSTGRES_PASSWORD", "ANTHROPIC_API_KEY", "REPLIQUE_BOOTSTRAP_KEY"} <= named


def test_services_have_the_time_that_they_take_to_stop() -> None:
    grace = {name: seconds(service.get("stop_grace_period", "0s")) for name, service in OURS.items()}

    assert min(grace["worker"], grace["sender"]) > DRAIN
    assert grace["gateway"] > REQUESTS
    assert grace["clock"] >= 10


def test_nothing_of_ours_writes_or_rises() -> None:
    hard = {
        name: (service["read_only"], service["tmpfs"], service["cap_drop"], service["security_opt"])
        for name, service in OURS.items()
    }

    assert set(map(str, hard.values())) == {str((True, ["/tmp"], ["ALL"], ["no-new-privileges:true"]))}
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.M) == ["10001:10001"]


def test_the_schema_is_there_before_anybody_asks_it() -> None:
    waits = {name: service["depends_on"] for name, service in OURS.items() if name not in ("migrate", "simulator")}

    assert {name for name, on in waits.items() if on["migrate"] != {"condition": "service_completed_successfully"}} == (
        set()
    )
    assert OURS["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert OURS["migrate"]["restart"] == "no"


def test_only_the_gateway_is_asked_whether_it_is_healthy() -> None:
    asked = {name for name, service in OURS.items() if not service.get("healthcheck", {}).get("disable")}
    (address,) = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", DOCKERFILE)
    port, path = address

    assert asked == {"gateway"}
    assert path in {getattr(route, "path", "") for route in health.router.routes}
    assert str(parsed(OURS["gateway"]["command"])["port"]) == port


def test_the_image_starts_a_command_that_exists() -> None:
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.M)

    assert parsed(yaml.safe_load(command)) == {"host": "0.0.0.0", "port": 8080}


def test_the_image_installs_what_is_locked_and_checks_it() -> None:
    installs = [
        shlex.split(line.split("pip install ")[1].rstrip(" \\"))
        for line in DOCKERFILE.splitlines()
        if "pip install" in line
    ]

    assert [words for words in installs if "--require-hashes" not in words] == [
        ["--no-deps", "--no-index", "/dist/*.whl"]
    ]
    assert [word for words in installs for word in words if word.endswith(".lock")] == [
        "deploy/build.lock", "deploy/image.lock",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["deploy/image.lock", "deploy/build.lock"])
def test_the_image_holds_the_versions_that_are_tested(name: str) -> None:
    tested, image = locked("requirements.lock"), locked(name)

    assert {pin for pin, hashes in image.items() if tested.get(pin) != hashes} == set()
    assert all(image.values())


def test_the_image_holds_all_that_the_program_needs_and_no_tools() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = {re.split(r"[=\[ ]", pin)[0] for pin in locked("deploy/image.lock")}
    needed = [*project["dependencies"], *extras["voice"], *extras["stripe"]]
    needless = {_named(line) for line in [*extras["dev"], *extras["embedded"]]}

    assert {_named(line) for line in needed} - names == set()
    assert needless & names == set()


def _named(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0]


def test_the_image_holds_all_that_the_wheel_is_made_of() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = {
        word for line in re.findall(r"^COPY (?!--)(.+) \S+$", DOCKERFILE, re.M) for word in shlex.split(line)
    }  # fmt: skip
    let_in = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"}

    assert {*wheel["packages"], *wheel["force-include"], "pyproject.toml", "README.md", "LICENSE"} - copied == set()
    assert copied == let_in
    assert {path for path in copied if not (ROOT / path).exists()} == set()


def test_the_chart_runs_commands_that_exist_on_all_queues() -> None:
    found = {name: parsed(arguments) for name, arguments in chart_commands().items()}
    queues = [params["queues"] for params in found.values() if "queues" in params]

    assert set(found) == {"clock.yaml", "gateway.yaml", "migrate.yaml", "workers.yaml think", "workers.yaml send"}
    assert sorted(queues) == ["reply,background", "send"]


def test_the_chart_uses_every_value_that_it_has_and_no_other() -> None:
    text = "\n".join(TEMPLATES.values())
    used = set(re.findall(r"\.Values\.([\w.]+)", text)) | {
        f"workers.*.{leaf}" for leaf in re.findall(r"\$worker\.([\w.]+)", text)
    }
    there = set(_paths({**VALUES, "workers": {"*": VALUES["workers"]["think"]}}))

    assert {path for path in used if not any(f"{known}.".startswith(f"{path}.") for known in there)} == set()
    assert {path for path in there if not any(f"{path}.".startswith(f"{known}.") for known in used)} == set()


def _paths(values: dict[str, Any], before: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _paths(value, f"{before}{name}.")
        else:
            yield before + name


def test_the_chart_sets_what_is_a_setting() -> None:
    text = TEMPLATES["_helpers.tpl"] + (CHART / "values.yaml").read_text() + TEMPLATES["NOTES.txt"]
    named = set(re.findall(r"\b(?:REPLIQUE_[A-Z_]+|[A-Z]+_URL|(?:ANTHROPIC|OPENAI)_[A-Z_]+)\b", text))

    assert named - set(settings_names()) == set()
    assert len(named) >= 8


def test_pods_have_the_time_that_they_take_to_stop() -> None:
    (gateway,) = re.findall(r"terminationGracePeriodSeconds: \{\{ add \.Values\.(\S+) (\d+) \}\}", TEMPLATES["gateway.yaml"])  # fmt: skip  # noqa: E501
    (worker,) = re.findall(r"terminationGracePeriodSeconds: \{\{ add \$\.Values\.(\S+) (\d+) \}\}", TEMPLATES["workers.yaml"])  # fmt: skip  # noqa: E501

    assert (gateway[0], worker[0]) == ("gateway.drainSeconds", "workerDrainSeconds")
    assert (VALUES["gateway"]["drainSeconds"], VALUES["workerDrainSeconds"]) == (REQUESTS, DRAIN - END_SECONDS)
    assert int(gateway[1]) > PRE_STOP
    assert int(worker[1]) > END_SECONDS
    assert re.findall(r'command: \[sleep, "(\d+)"\]', TEMPLATES["gateway.yaml"]) == [str(PRE_STOP)]


def test_the_chart_asks_the_gateway_where_it_answers() -> None:
    asked = re.findall(r"httpGet: \{path: (\S+), port: http\}", TEMPLATES["gateway.yaml"])

    assert asked == ["/healthz", "/readyz"]
    assert set(asked) <= {getattr(route, "path", "") for route in health.router.routes}


def test_pods_are_not_told_of_services() -> None:
    """Of a release that is called `replique` they would hear `REPLIQUE_GATEWAY_SERVICE_HOST`: a setting misspelt."""
    assert "enableServiceLinks: false" in TEMPLATES["_helpers.tpl"]
    assert "readOnlyRootFilesystem: true" in TEMPLATES["_helpers.tpl"]
    pods = [name for name, text in TEMPLATES.items() if "containers:" in text]
    assert [name for name in pods if 'include "replique.pod"' not in TEMPLATES[name]] == []
