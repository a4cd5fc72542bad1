"""Inside WSL, a Windows editor is understood and shown its own paths; anybody else sees nothing of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.transport import EditorPaths
from acp_adapter.wsl import Wsl, find_wsl
from tests.support.each import each
from tests.support.editor import PLAIN
from tests.support.in_memory import serving

UBUNTU = Wsl("Ubuntu")


def request(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params}


def mapped(cwd: str, wsl: Wsl = UBUNTU) -> str:
    changed: str = EditorPaths(lambda: wsl).incoming(request(cwd=cwd))["params"]["cwd"]
    return changed


@each(
    ("said", "ours"),
    [
        (r"C:\Users\me\my project", "/mnt/c/Users/me/my project"),
        ("d:/work", "/mnt/d/work"),
        ("C:\\", "/mnt/c/"),
        (r"\\wsl$\Ubuntu\home\me", "/home/me"),
        (r"\\wsl.localhost\ubuntu\home\me", "/home/me"),
        ("//wsl.localhost/Ubuntu/home/me", "/home/me"),
        (r"\\wsl$\Ubuntu", "/"),
        (r"\\wsl$\Debian\home\me", r"\\wsl$\Debian\home\me"),
        (r"\\server\share\x", r"\\server\share\x"),
        ("/home/me", "/home/me"),
        ("relative", "relative"),
    ],
)
def test_a_directory_of_windows_is_the_same_directory_here(said: str, ours: str) -> None:
    assert mapped(said) == ours


def test_drives_are_where_wsl_conf_says(tmp_path: Path) -> None:
    settings = tmp_path / "wsl.conf"
    settings.write_text("# mine\n[boot]\nsystemd=true\n[automount]\nenabled = true\nroot = /win/\n")
    found = find_wsl({"WSL_DISTRO_NAME": "Ubuntu"}, tmp_path / "absent", settings)
    assert found == Wsl("Ubuntu", "/win/")
    assert mapped(r"C:\x", found) == "/win/c/x"


def test_it_is_wsl_by_its_variable_or_its_kernel_and_nothing_else_is(tmp_path: Path) -> None:
    kernel = tmp_path / "osrelease"
    kernel.write_text("5.15.167.4-microsoft-standard-WSL2\n")
    assert find_wsl({}, kernel, tmp_path / "absent") == Wsl("")
    kernel.write_text("6.1.0-28-amd64\n")
    assert find_wsl({}, kernel, tmp_path / "absent") is None


def test_outside_wsl_nothing_is_mapped() -> None:
    paths = EditorPaths(lambda: None)
    message = request(cwd=r"C:\Users\me")
    assert paths.incoming(message) is message
    sent = {"path": "/mnt/c/x"}
    assert paths.outgoing(sent) is sent


def test_an_editor_with_linux_paths_is_never_asked_about_wsl() -> None:
    def find() -> Wsl | None:
        raise AssertionError

    paths = EditorPaths(find)
    assert paths.incoming(request(cwd="/home/me"))["params"] == {"cwd": "/home/me"}
    assert paths.outgoing({"path": "/home/me"}) == {"path": "/home/me"}


def test_links_directories_and_mcp_programs_are_mapped_and_words_are_not() -> None:
    message = request(
        cwd=r"C:\a",
        additionalDirectories=[r"\\wsl$\Ubuntu\srv"],
        mcpServers=[{"name": "x", "command": r"C:\Program Files\x.exe", "args": [r"C:\stays"]}],
        prompt=[
            {"type": "text", "text": r"look at C:\a\b.py"},
            {"type": "resource_link", "uri": "file:///C:/a/b%20c.py#L3", "name": "b c.py"},
            {"type": "resource", "resource": {"uri": "file://wsl%24/Ubuntu/srv/x.py", "text": r"C:\b"}},
            {"type": "resource_link", "uri": "https://example.com/C:/x", "name": "x"},
        ],
    )
    params = EditorPaths(lambda: UBUNTU).incoming(message)["params"]
    assert params["additionalDirectories"] == ["/srv"]
    assert params["mcpServers"] == [{"name": "x", "command": "/mnt/c/Program Files/x.exe", "args": [r"C:\stays"]}]
    assert params["prompt"] == [
        {"type": "text", "text": r"look at C:\a\b.py"},
        {"type": "resource_link", "uri": "file:///mnt/c/a/b%20c.py#L3", "name": "b c.py"},
        {"type": "resource", "resource": {"uri": "file:///srv/x.py", "text": r"C:\b"}},
        {"type": "resource_link", "uri": "https://example.com/C:/x", "name": "x"},
    ]


@each(
    ("cwd", "path", "shown"),
    [
        (r"C:\a", "/mnt/c/Users/me/x.py", r"C:\Users\me\x.py"),
        (r"C:\a", "/mnt/c", "C:\\"),
        (r"C:\a", "/mnt/wslg/x", r"\\wsl.localhost\Ubuntu\mnt\wslg\x"),
        (r"C:\a", "/home/me/x.py", r"\\wsl.localhost\Ubuntu\home\me\x.py"),
        (r"\\wsl$\Ubuntu\home", "/home/me/x.py", r"\\wsl$\Ubuntu\home\me\x.py"),
        (r"C:\a", "x.py", "x.py"),
    ],
)
def test_a_path_is_shown_as_the_editor_opens_it_and_comes_back_the_same(cwd: str, path: str, shown: str) -> None:
    paths = EditorPaths(lambda: UBUNTU)
    paths.incoming(request(cwd=cwd))
    update = {"params": {"update": {"locations": [{"path": path}], "rawInput": {"command": "/bin/ls /home"}}}}
    sent = paths.outgoing(update)["params"]["update"]
    assert sent == {"locations": [{"path": shown}], "rawInput": {"command": "/bin/ls /home"}}
    assert paths.incoming(request(cwd=shown))["params"]["cwd"].rstrip("/") == path


@each(
    ("uri", "shown"),
    [
        ("file:///mnt/c/a%20b/x.py", "file:///C:/a%20b/x.py"),
        ("file:///home/me/x.py", "file://wsl.localhost/Ubuntu/home/me/x.py"),
        ("https://example.com/home", "https://example.com/home"),
    ],
)
def test_links_are_shown_as_the_editor_opens_them(uri: str, shown: str) -> None:
    paths = EditorPaths(lambda: UBUNTU)
    paths.incoming(request(cwd=r"C:\a"))
    assert paths.outgoing({"uri": uri}) == {"uri": shown}


def test_where_the_distributions_name_is_unknown_its_own_files_keep_their_paths() -> None:
    paths = EditorPaths(lambda: Wsl(""))
    paths.incoming(request(cwd=r"C:\a"))
    assert paths.outgoing({"path": "/home/me", "uri": "file:///home"}) == {"path": "/home/me", "uri": "file:///home"}


async def test_a_windows_editor_works_in_a_directory_of_wsl(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way: it names its directory, sees an edit where it can open it, and finds the session again."""
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")
    here = r"\\wsl$\Ubuntu" + str(workspace).replace("/", "\\")
    async with serving(home, check=False) as editor:
        await editor.initialize(PLAIN)
        session = (await editor.request("session/new", {"cwd": here, "mcpServers": []}))["sessionId"]
        answer = await editor.prompt(session, "edit sums.py a - b => a + b")
        assert answer["stopReason"] == "end_turn"
        listed = await editor.request("session/list", {"cwd": here})
    assert "a + b" in (workspace / "sums.py").read_text()
    cards = editor.cards(session).values()
    shown = [part["path"] for card in cards for part in card["content"] if part["type"] == "diff"]
    places = [place["path"] for card in cards for place in card.get("locations", ())]
    assert set(shown) == {here + r"\sums.py"}
    assert set(places) == {here + r"\sums.py"}
    assert [each["cwd"] for each in listed["sessions"]] == [here]
