"""The entry for the ACP registry keeps that registry's own rules, also those about what the program says first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field

from acp_adapter import __version__

FOLDER = Path(__file__).parents[2] / "acp_registry"
ENTRY = FOLDER / "agent.json"
ICON = FOLDER / "icon.svg"


class Run(BaseModel):
    """How a package of PyPI's or npm's is run."""

    model_config = ConfigDict(extra="forbid", strict=True)
    package: str
    cmd: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}


class Distribution(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    uvx: Run | None = None
    npx: Run | None = None


class Entry(BaseModel):
    """The form of an entry; nothing else may be in it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    id: str = Field(pattern="^[a-z][a-z0-9-]*$")
    name: str = Field(min_length=1)
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    description: str = Field(min_length=1)
    distribution: Distribution
    repository: AnyUrl | None = None
    website: AnyUrl | None = None
    authors: list[str] = []
    license: str | None = None
    license_url: AnyUrl | None = None


# What the registry's check sends: one request, with the older way to say that there is a terminal to sign in.
ASKED = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": 1,
        "clientInfo": {"name": "registry", "version": "1"},
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": True},
            "terminal": True,
            "_meta": {"terminal_output": True, "terminal-auth": True},
        },
    },
}


def test_the_entry_is_of_the_registrys_form_and_its_versions_are_this_programs() -> None:
    found = Entry.model_validate_json(ENTRY.read_text("utf-8"))
    assert found.version == __version__
    assert found.distribution.uvx is not None
    assert found.distribution.uvx.package == f"{_project_name()}=={__version__}"
    assert found.distribution.uvx.cmd == "hermes-acp"


def test_the_icon_is_a_small_square_in_the_colour_of_the_text() -> None:
    text = ICON.read_text("utf-8")
    drawing = ET.fromstring(text)
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert (drawing.get("width"), drawing.get("height"), drawing.get("viewBox")) == ("16", "16", "0 0 16 16")
    colours = {each.get(name) for each in drawing.iter() for name in ("fill", "stroke")} - {None}
    assert colours <= {"currentColor", "none", "inherit"}
    assert "currentColor" in colours
    assert "<!--" not in text


@pytest.mark.parametrize("arguments", [[], ["--offline"]])
def test_in_an_empty_home_the_first_line_is_the_answer_and_offers_a_way_to_sign_in(
    arguments: list[str], tmp_path: Path
) -> None:
    allowed = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "acp_adapter", *arguments],
        check=False,
        cwd=tmp_path,
        env={**allowed, "HOME": str(tmp_path), "TERM": "dumb", "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        input=f"{json.dumps(ASKED)}\n",
        capture_output=True,
        text=True,
        timeout=50,
    )
    first, *others = ran.stdout.splitlines()
    answer = json.loads(first)
    assert (answer["id"], answer["result"]["protocolVersion"]) == (1, 1)
    methods = answer["result"]["authMethods"]
    assert any(
        each.get("type", "agent") in {"agent", "terminal"} or "terminal-auth" in each.get("_meta", {})
        for each in methods
    )
    # A method of the newer kind is for clients that say that they know it.
    assert all(each.get("type") != "terminal" for each in methods)
    assert [line for line in others if not line.startswith("{")] == []
    assert ran.stderr == ""


def _project_name() -> str:
    found = re.search(r'^name = "(.*)"$', (FOLDER.parent / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]
