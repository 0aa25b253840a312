"""Rules, alerts and the dashboard ask for metrics that exist, with labels that they have."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml

from tests.architecture.test_guides import commands
from workers.adapters.postgres.counts import Counts
from workers.adapters.postgres.measures import Measures
from workers.gateway.metrics import families

DEPLOY = Path(__file__).parents[4] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
OWN_OF_PROMETHEUS = {"up": {"job", "instance"}}
SEEDS = {
    "bell_ai_cost_usd": {"org_id", "model"},
    "bell_ai_tokens_input": {"org_id", "model", "cached"},
    "bell_ai_tokens_output": {"org_id", "model"},
    "bell_ai_quota_usage": {"org_id", "plan"},
    "bell_ai_quota_exceeded": {"org_id"},
    "reciprok_ai_cost_eur": set[str](),
}


def served() -> dict[str, set[str]]:
    """Every series that `/metrics` may show, with its labels."""
    found: dict[str, set[str]] = {}
    for family in families(Counts(queues=[], on_hold=0, dead_letters={}, measures=Measures.of([])), {}):
        labels = set(getattr(family, "_labelnames", ()))
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
        for ending in endings:
            found[family.name + ending] = labels | ({"le"} if ending == "_bucket" else set())
    return found


def rules() -> list[dict[str, Any]]:
    listed = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())["rule_files"]
    assert sorted(listed) == sorted(path.name for path in PROMETHEUS.glob("*.rules.yml"))
    groups = [group for name in listed for group in yaml.safe_load((PROMETHEUS / name).read_text())["groups"]]
    assert len({group["name"] for group in groups}) == len(groups)
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = json.loads((DEPLOY / "grafana" / "replique.json").read_text())["panels"]
    return shown


def expressions() -> list[str]:
    asked = [target["expr"].replace("$__rate_interval", "5m") for panel in panels() for target in panel["targets"]]
    return [rule["expr"] for rule in rules()] + asked


def parts(expression: str) -> list[promql.Expr]:
    """The expression and all in it. Raises ValueError when it is no PromQL."""
    found: list[promql.Expr] = []
    promql.walk(promql.parse(expression), found.append)  # type: ignore[arg-type]
    return found


def selectors(expression: str) -> Iterator[promql.VectorSelector]:
    for part in parts(expression):
        if isinstance(part, promql.VectorSelector):
            yield part
        if isinstance(part, promql.MatrixSelector):
            yield part.vector_selector


def faults(expression: str, known: dict[str, set[str]]) -> list[str]:
    found, labels = [], set[str]()
    for selector in selectors(expression):
        if (name := selector.name or "") not in known:
            found.append(f"there is no {name}")
            continue
        labels |= known[name]
        asked = {matcher.name for matcher in selector.matchers.matchers}
        found += [f"{name} has no label {label}" for label in asked - known[name]]
    for part in parts(expression):
        if isinstance(part, promql.AggregateExpr) and part.modifier is not None:
            wanted = set(part.modifier.labels) - {"instance"}
            found += [f"nothing has a label {label}" for label in wanted - labels]
    return found


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_asks_for_what_there_is(expression: str) -> None:
    assert faults(expression, served() | OWN_OF_PROMETHEUS) == []


def test_the_check_sees_what_is_not_there() -> None:
    known = {"a": {"x"}}

    assert faults('sum by (x) (rate(a{x="1"}[5m]))', known) == []
    assert faults("b", known) == ["there is no b"]
    assert faults('a{y="1"}', known) == ["a has no label y"]
    assert faults("sum by (z) (a)", known) == ["nothing has a label z"]
    with pytest.raises(ValueError):
        parts("sum by (x (a)")


def test_the_older_names_are_recorded_with_their_labels() -> None:
    recorded: dict[str, set[str]] = {}
    for rule in rules():
        if "record" in rule:
            outer = promql.parse(rule["expr"])
            assert isinstance(outer, promql.AggregateExpr)
            by = set(outer.modifier.labels) if outer.modifier else set()
            recorded.setdefault(rule["record"], set()).update(by | set(rule.get("labels", {})))

    assert recorded == SEEDS


def test_an_alert_says_what_is_wrong_and_what_to_type_first() -> None:
    alerts = [rule for rule in rules() if "alert" in rule]
    known = commands()

    assert len({alert["alert"] for alert in alerts}) == len(alerts) > 10
    for alert in alerts:
        assert set(alert) <= {"alert", "expr", "for", "labels", "annotations"}
        assert alert["labels"]["severity"] in {"page", "warn"}
        assert set(alert["annotations"]) == {"summary", "first"}
        typed = re.match(r"replique ((?:jobs|dead) [a-z]+|[a-z]+)", alert["annotations"]["first"])
        assert typed is not None, alert
        assert typed[1] in known


def test_each_panel_has_a_place_of_its_own_and_a_sentence() -> None:
    taken = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert panel["description"]
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_every_metric_is_looked_at() -> None:
    asked = {selector.name for expression in expressions() for selector in selectors(expression)}
    bare = {re.sub(r"_(bucket|sum|count)$", "", name) for name in served()}

    assert bare - {re.sub(r"_bucket$", "", name or "") for name in asked} == set()
