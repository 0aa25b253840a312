"""Schemathesis goes through the whole API by its own document: nothing is a fault of ours, every refusal is typed, and
every answer is what the document promises."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import positive_data_acceptance

from tests import servers
from tests.builders_face import the_document
from tests.fuzz.gateway import HEADERS, ORG, Running, furnish, led_somewhere, running_gateway

EXAMPLES = 12
BOUNDED = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def without_our_headers(document: Any) -> Any:
    """Key and organisation are sent as they must be: what becomes of strange ones is the walk of the routes."""
    copy = json.loads(json.dumps(document))
    for path in copy["paths"].values():
        for operation in path.values():
            operation["parameters"] = [item for item in operation.get("parameters", []) if item["in"] != "header"]
    return copy


@pytest.fixture(scope="module")
def api() -> Any:
    """Made when it is needed: every run of any test reads this file."""
    made = schemathesis.openapi.from_dict(without_our_headers(the_document()))
    made.config.generation.with_security_parameters = False
    made.hook(map_path_parameters)
    return made


def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    return led_somewhere(context.operation.path, path_parameters) if path_parameters else path_parameters


@pytest.fixture(scope="module")
def running(
    postgres_server: str, database_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    with (
        servers.database(postgres_server, database_template) as database_url,
        running_gateway(
            database_url, tmp_path_factory.mktemp("fuzz"), REPLIQUE_GATEWAY__FAILED_KEYS_PER_MINUTE="100000"
        ) as found,
    ):
        furnish(found, database_url)
        yield found


def test_the_api_keeps_to_its_document(api: Any, running: Running) -> None:
    headers = {**HEADERS, "X-Organization": ORG}
    broken: dict[str, str] = {}
    walked = 0
    for found in api.get_all_operations():
        operation = found.ok()
        walked += 1

        @BOUNDED
        @given(case=operation.as_strategy())
        def one(case: schemathesis.Case) -> None:
            response = case.call(base_url=running.url, headers=headers, timeout=20)
            # What fits the schema may still mean nothing: a persona nobody applied.
            case.validate_response(response, excluded_checks=[positive_data_acceptance])
            check_typed(response)

        try:
            one()
        except Exception as error:  # noqa: BLE001  (each operation is told)
            broken[operation.label] = str(error)[:1500]

    assert broken == {}
    assert walked > 40


def check_typed(response: Any) -> None:
    """Every refusal is a problem with a code of ours."""
    if response.status_code >= 400:
        found = response.json()
        assert response.headers["content-type"] == ["application/problem+json"], response.headers
        assert (found["status"], found["code"]) == (response.status_code, f"AR-{response.status_code}"), found
        assert found["request_id"] == response.headers["x-request-id"][0]


def test_nothing_of_it_was_a_fault_of_ours(running: Running) -> None:
    log = running.log.read_text()

    assert [line for line in log.splitlines() if "request_failed" in line or "Traceback" in line] == []
