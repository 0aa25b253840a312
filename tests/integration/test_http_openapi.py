"""The OpenAPI document says what the routes do; that answers keep to it is checked on every call of the other tests."""

import re
from pathlib import Path
from typing import Any

from schemas.webhooks import EVENTS
from tests.builders_face import ROUTES, a_gateway, the_document
from workers.gateway.auth import need_of


async def test_the_document_is_served_openly(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        served = await gateway.call("GET", "/openapi.json", key=None)

    assert served.json() == the_document()


def test_every_route_is_documented_with_its_key_and_its_refusals() -> None:
    for route in ROUTES:
        for method in route.methods or ():
            operation = the_document()["paths"][route.path][method.lower()]
            refused = {status: response for status, response in operation["responses"].items() if status >= "400"}
            guarded = need_of(route.endpoint) is not None
            assert operation["description"]
            assert operation.get("security", []) == ([{"key": []}] if guarded else [])
            assert {"401", "429"} & refused.keys() == ({"401", "429"} if guarded else set())
            assert ("403" in refused) == (guarded or bool({"sig", "stripe-signature"} & set(_queries(operation))))
            assert "500" in refused
            assert {tuple(response["content"]) for response in refused.values()} == {("application/problem+json",)}
            assert ("404" in refused) or not guarded


def test_every_reference_leads_somewhere() -> None:
    schemas = the_document()["components"]["schemas"]
    wanted = set(_references(the_document()))

    assert {f"#/components/schemas/{name}" for name in schemas} >= wanted
    assert "HTTPValidationError" not in schemas


def test_request_bodies_refuse_unknown_fields_in_the_document_too() -> None:
    schemas = the_document()["components"]["schemas"]
    bodies = {"MessageIn", "MessagePatch", "ContactIn", "AttachmentIn", "KeyIn", "Manifest", "OrganizationDocument"}
    bodies |= {"CandidatePatch", "PriceIn", "InstructionIn", "ReasonIn"}

    assert {name: schemas[name].get("additionalProperties") for name in bodies} == dict.fromkeys(bodies, False)


def _queries(operation: Any) -> list[str]:
    return [parameter["name"] for parameter in operation.get("parameters", [])]


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    return [found for item in node for found in _references(item)] if isinstance(node, list) else []


def test_outgoing_events_are_in_the_document_and_in_the_readme() -> None:
    webhooks = the_document()["webhooks"]
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    listed = {row[1]: row[2] for row in re.finditer(r"^\| `([a-z]+\.[a-z]+)` \|.*\| (.*) \|$", readme, re.M)}

    assert set(webhooks) == set(EVENTS) == set(listed)
    for kind, row in listed.items():
        outside = re.sub(r"\([^)]*\)", "", row)
        assert re.findall(r"`(\w+)`", outside) == list(EVENTS[kind].model_fields)
        headers = {parameter["name"] for parameter in webhooks[kind]["post"]["parameters"]}
        assert headers == {"webhook-id", "webhook-timestamp", "webhook-signature"}
