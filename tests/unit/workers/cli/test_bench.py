"""`replique bench` finds its modules, and what they draw and print holds."""

from xml.etree import ElementTree

import pytest

from tests.bench.contenders.work import Done
from tests.bench.report import Report, Table, bars
from workers.cli.bench import ROOT, Bench


@pytest.mark.parametrize("name", Bench)
def test_every_benchmark_that_is_offered_is_there(name: Bench) -> None:
    assert (ROOT / "tests" / "bench" / f"{name.value.replace('-', '_')}.py").is_file()


def test_bars_are_as_long_as_their_values_and_names_are_escaped() -> None:
    drawn = ElementTree.fromstring(bars("a < b", [("one & two", 2.0, True), ("three", 4.0, False)], "ms"))

    lengths = [float(node.attrib["width"]) for node in drawn.iter() if node.attrib.get("height") == "22"]
    texts = [node.text for node in drawn.iter() if node.tag.endswith("text")]
    assert lengths[1] == 2 * lengths[0]
    assert "one & two" in texts
    assert "4.00 ms" in texts


def test_a_report_is_a_table_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    Report([Table("T", ["a", "b"], [["1", "2"]])], ["a note"]).show(as_json=False)

    assert capsys.readouterr().out == "\n**T**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\na note\n"


def test_a_loop_that_skips_work_is_no_competitor() -> None:
    done = Done()
    done.look_up("x", 3)
    done.set_plan(["a", "b"])
    done.send_message("one")

    with pytest.raises(RuntimeError, match="did not do its work"):
        done.require_complete()
