"""Python, the packages, and whose modules are loaded under our names."""

import importlib.util
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import acp_adapter
from acp_adapter.cli.doctor.installation import check_python
from acp_adapter.cli.doctor.report import check_imports, foreign_packages

ROOT = Path(acp_adapter.__file__).parents[1]


def test_this_python_is_well():
    assert [finding.state for finding in check_python(None)] == ["ok"]


def test_our_own_packages_are_no_strangers():
    assert [finding.state for finding in check_imports(None)] == ["ok"]


def test_files_that_another_distribution_put_under_our_names_are_told(monkeypatch):
    owners = {"tools": ["hermes-editor-agent", "hermes-agent"], "acp": ["agent-client-protocol"]}
    monkeypatch.setattr(metadata, "packages_distributions", lambda: owners)
    (finding,) = check_imports(None)
    assert (finding.state, finding.text.startswith("hermes-agent put files into tools/")) == ("fail", True)


def test_a_package_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert all("not there" in finding.text for finding in foreign_packages())


def test_a_foreign_tools_on_the_path_is_told_though_nothing_could_run_with_it(tmp_path, monkeypatch):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("raise SystemExit('theirs')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    command = [sys.executable, "-P", "-m", "acp_adapter", "doctor", "--quick"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert f'"import tools" finds {tmp_path / "tools"}' in ran.stdout
    assert f"Take {tmp_path} out of PYTHONPATH" in ran.stdout
    ran = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    (finding,) = json.loads(ran.stdout)["findings"]
    assert finding["text"].startswith("«import tools»")
