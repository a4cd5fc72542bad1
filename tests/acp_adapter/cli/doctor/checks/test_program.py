"""Python, the packages, and whose modules are loaded under our names."""

import importlib.util
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import acp_adapter
from acp_adapter.cli.doctor.installation import check_packages, check_python, is_within
from acp_adapter.cli.doctor.report import check_imports, foreign_packages

ROOT = Path(acp_adapter.__file__).parents[1]


def test_this_python_and_its_packages_are_well():
    assert [finding.state for look in (check_python, check_packages) for finding in look(None)] == ["ok", "ok"]


def test_a_package_that_is_missing_or_of_another_version_is_told(monkeypatch):
    real = metadata.version

    def version(name):
        if name == "mcp":
            raise metadata.PackageNotFoundError(name)
        return "0.1" if name == "pydantic" else real(name)

    monkeypatch.setattr(metadata, "version", version)
    found = {finding.facts["package"]: finding.state for finding in check_packages(None)}
    assert found == {"mcp": "fail", "pydantic": "warn"}


def test_an_extra_that_is_not_installed_is_no_fault_and_an_old_one_is(monkeypatch):
    old = {"playwright": "0.9", "ruff": "9"}

    def version(name):
        if name in old:
            return old[name]
        raise metadata.PackageNotFoundError(name)

    needed = ["playwright<2,>=1.65; extra == 'browser'", "modal<2,>=1.6; extra == 'modal'", "ruff<1; extra == 'dev'"]
    monkeypatch.setattr(metadata, "requires", lambda _: needed)
    monkeypatch.setattr(metadata, "version", version)
    (finding,) = check_packages(None)
    assert (finding.state, finding.facts["package"]) == ("warn", "playwright")
    assert "[browser]" in finding.fix


def test_a_checkout_that_is_not_installed_is_a_warning(monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert [finding.state for finding in check_packages(None)] == ["warn"]


@pytest.mark.parametrize(
    ("version", "bounds", "within"),
    [
        ("2.3.0", "<3,>=2.3", True),
        ("2.2.9", "<3,>=2.3", False),
        ("3.0", "<3,>=2.3", False),
        ("2.10", ">=2.9", True),
        ("2.3rc1", ">=2.3", True),
        ("1", "", True),
    ],
)
def test_versions_are_compared_as_numbers(version, bounds, within):
    assert is_within(version, bounds) is within


def test_our_own_packages_are_no_strangers():
    assert [finding.state for finding in check_imports(None)] == ["ok"]


def test_files_that_another_distribution_put_under_our_names_are_told(monkeypatch):
    owners = {"tools": ["hermes-editor-agent", "hermes-agent"], "acp": ["agent-client-protocol"]}
    monkeypatch.setattr(metadata, "packages_distributions", lambda: owners)
    (finding,) = check_imports(None)
    assert (finding.state, finding.facts["distributions"]) == ("fail", ["hermes-agent"])


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
    assert [finding["facts"]["package"] for finding in json.loads(ran.stdout)["findings"]] == ["tools"]
