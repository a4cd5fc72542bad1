"""What is not installed is named where it is needed, with the line that installs it in this very environment."""

from __future__ import annotations

import importlib.util
import io
import logging
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.errors import SettingsError
from agent_core.lsp.diagnostics import LanguageServers
from agent_core.plugins.shipped.daytona import DaytonaCloud
from agent_core.plugins.shipped.modal import ModalCloud
from agent_core.plugins.shipped.vercel import VercelCloud
from agent_core.providers import bedrock, sdk_provider
from agent_core.service_loop import ServiceLoop
from agent_core.settings import keyring
from agent_core.telemetry import exporter
from tests.support.choices import choice_for
from tests.support.tool_context import call, make_context
from tools.browser.port import missing
from tools.documents.kinds import document_of
from tools.documents.reading import document_text
from tools.environments.guardian import Guardian
from tools.environments.http_client import ask_engines
from tools.environments.remote.cloud import Terms
from tools.errors import CommandError, ToolError, install_line
from tools.outline import languages
from tools.ports import WebError
from tools.toolsets import load_builtin_tools
from tools.web.reading import html_to_text, pdf_text

ROOT = Path(__file__).parents[1]
EXTRAS = frozenset(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]) - {"dev"}
LIBRARIES = (
    "azure.identity",
    "botocore",
    "daytona",
    "ddgs",
    "html_to_markdown",
    "keyring",
    "lxml",
    "modal",
    "pypdf",
    "vercel",
)


def raised(kind: type[Exception], work: Callable[[], object]) -> list[str]:
    with pytest.raises(kind) as refused:
        work()
    return [str(refused.value)]


def of_documents(folder: Path) -> list[str]:
    document = document_of(folder / "a.pdf", b"%PDF-")
    assert document is not None
    ctx = make_context(folder)
    return raised(ToolError, lambda: document_text(io.BytesIO(b"%PDF-"), folder / "a.pdf", document, ctx))


def of_language_servers(folder: Path, told: pytest.LogCaptureFixture) -> list[str]:
    loop, guardian = ServiceLoop(), Guardian()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", "/nowhere/python")
        servers = LanguageServers([folder], loop=loop, guardian=guardian, variables={"PATH": "/nowhere"})
    with told.at_level(logging.INFO, "agent_core.lsp.diagnostics"):
        for text in ("a = 1\n", "a = 2\n"):
            servers.after(folder / "a.py", text, servers.before(folder / "a.py", None), CancelToken())
    servers.close()
    loop.stop()
    assert len(told.messages) == 1, "it is told once"
    return told.messages


def of_a_map(folder: Path) -> list[str]:
    load_builtin_tools()
    (folder / "old.go").write_text("package a\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(languages.TONGUES, "go", languages.Tongue("go", "tree_sitter_absent"))
        return [call(make_context(folder), "repo_map").text]


def of_the_web() -> list[str]:
    return [
        *raised(WebError, lambda: html_to_text("<p>x</p>", "http://127.0.0.1/")),
        *raised(WebError, lambda: pdf_text(b"%PDF-", CancelToken())),
        *raised(WebError, lambda: ask_engines("x", 1, 1)),
    ]


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_extra_that_is_missing_is_named_with_the_line_that_installs_it(
    extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (*LIBRARIES, "google.auth", "opentelemetry.exporter.otlp.proto.http"):
        monkeypatch.setitem(sys.modules, name, None)
    told: Mapping[str, Callable[[], list[str]]] = {
        "azure": lambda: raised(
            SettingsError, lambda: sdk_provider.check_installed("entra", choice_for("https://a.b"))
        ),
        "bedrock": lambda: raised(SettingsError, bedrock.check_installed),
        "browser": lambda: [missing()],
        "daytona": lambda: raised(CommandError, lambda: DaytonaCloud(Terms())),
        "docs": lambda: of_documents(tmp_path),
        "keyring": lambda: raised(SettingsError, lambda: keyring.read("hermes-acp", "A")),
        "lsp": lambda: of_language_servers(tmp_path, caplog),
        "map": lambda: of_a_map(tmp_path),
        "modal": lambda: raised(CommandError, lambda: ModalCloud(Terms())),
        "otel": lambda: raised(SettingsError, exporter.check_installed),
        "vercel": lambda: raised(CommandError, lambda: VercelCloud(Terms())),
        "vertex": lambda: raised(
            SettingsError, lambda: sdk_provider.check_installed("google", choice_for("https://a.b"))
        ),
        "web": of_the_web,
    }
    texts = told[extra]()
    assert texts
    for text in texts:
        assert install_line(extra) in text


@pytest.mark.parametrize(("pip", "begins"), [(True, [sys.executable, "-m", "pip"]), (False, ["uv", "pip"])])
def test_the_line_installs_into_the_environment_that_runs(
    pip: bool, begins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object() if pip else None)
    words = shlex.split(install_line.__wrapped__("web"))
    assert words[: len(begins)] == begins
    assert sys.executable in words
    assert words[-1] == "hermes-editor-agent[web]"
