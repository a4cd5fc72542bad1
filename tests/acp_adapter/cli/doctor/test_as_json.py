"""The JSON: one object, in the form that the documents promise."""

import json
import re
from pathlib import Path

from acp_adapter.cli.doctor.report import Mended, as_json, failing, warning, well
from acp_adapter.cli.doctor.run import CHECKS

DOCS = Path(__file__).parents[4] / "docs" / "doctor.md"


def told(*findings, **more):
    return json.loads(as_json("/home/me/.hermes", findings, **more))


def test_it_has_everything_the_screen_has():
    value = told(failing("key", "none", "Set it."), left_out=("model",), mended=[Mended("x", True, "y")])
    assert value["findings"] == [
        {
            "check": "key",
            "state": "fail",
            "text": "none",
            "fix": "Set it.",
            "mends": False,
        }
    ]
    assert (value["left_out"], value["mended"]) == (["model"], [{"check": "x", "done": True, "text": "y"}])


def test_the_state_is_the_worst_of_all():
    states = [told(*found)["state"] for found in ((), (well("a", ""),), (warning("a", ""), well("a", "")))]
    assert [*states, told(failing("a", ""), warning("a", ""))["state"]] == ["ok", "ok", "warn", "fail"]


def test_the_documents_promise_its_keys_and_the_names_of_all_checks():
    page = DOCS.read_text(encoding="utf-8")
    promised = set(re.findall(r"`([^`\n]+)`", page))
    keys = {*told(), *told(well("a", "b"))["findings"][0], "done"}
    assert keys <= promised
    assert {check.name for check in CHECKS} <= promised
