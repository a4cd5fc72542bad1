"""Files that are no files, huge or damaged ones: plain git hangs or gives up, and we must do neither."""

from __future__ import annotations

import functools
import os

from tests.support.hostile_repositories.site import KINDS, Kind, Site, kind

_SPRINGS = "true > ../../outside/SPRUNG"


def _hangs(command: str) -> str:
    return f"timeout 1 {command}; [ $? = 124 ] && {_SPRINGS}"


def _gives_up(command: str) -> str:
    return f"{command} || {_SPRINGS}"


def _pipe(name: str, site: Site) -> None:
    path = site.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


# Where the pipe is, and which program of those that read it hangs.
_PIPES = {
    ".git/HEAD": "git status",
    ".git/config": "git status",
    ".git/index": "git status",
    ".git/commondir": "git status",
    ".git/packed-refs": "git log -1 nothing",
    ".git/refs/heads/main": "git log -1",
    ".git/info/exclude": "git status",
    ".git/info/attributes": "git diff",
    ".git/objects/info/alternates": "git log -1",
    ".gitattributes": "cat .gitattributes",
    ".gitignore": "cat .gitignore",
    ".gitmodules": "cat .gitmodules",
    ".env": "cat .env",
    ".envrc": "cat .envrc",
    ".mcp.json": "cat .mcp.json",
    ".hermes/config.yaml": "cat .hermes/config.yaml",
    ".hermes/hooks/hooks.yaml": "cat .hermes/hooks/hooks.yaml",
    "AGENTS.md": "cat AGENTS.md",
    "HERMES.md": "cat HERMES.md",
    "CLAUDE.md": "cat CLAUDE.md",
    ".cursorrules": "cat .cursorrules",
    "pyproject.toml": "cat pyproject.toml",
    "package.json": "cat package.json",
}
KINDS.extend(
    Kind(f"pipe in place of {name}", functools.partial(_pipe, name), _hangs(control))
    for name, control in _PIPES.items()
)


@kind("excludes file that is a pipe", _hangs("git status"))
def excludes(site: Site) -> None:
    _pipe("ignored", site)
    site.set("core.excludesFile", "{workspace}/ignored")


@kind("include of a pipe", _hangs("git status"))
def included_pipe(site: Site) -> None:
    _pipe("settings", site)
    site.set("include.path", "../settings")


@kind("include of a device without an end", _gives_up("git status"))
def included_device(site: Site) -> None:
    site.set("include.path", "/dev/zero")


@kind("config that is a directory", _gives_up("git status"))
def config_directory(site: Site) -> None:
    (site.workspace / ".git" / "config").unlink()
    site.write(".git/config/x", "")


@kind("config that includes itself", _gives_up("git status"))
def endless_includes(site: Site) -> None:
    site.set("include.path", "config")


@kind("config that git cannot read", _gives_up("git status"))
def broken_config(site: Site) -> None:
    site.write(".git/config", "[core\n")


@kind("index that is damaged", _gives_up("git status"))
def broken_index(site: Site) -> None:
    site.write(".git/index", b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"x" * 1000)


@kind("index of a version to come", _gives_up("git status"))
def new_index(site: Site) -> None:
    site.write(".git/index", b"DIRC\0\0\0\x63" + b"\0" * 100)


@kind("commit that is damaged", _gives_up("git log -1"))
def broken_commit(site: Site) -> None:
    name = site.git("rev-parse", "HEAD")
    path = site.workspace / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"nothing")


@kind("branch that names itself", _gives_up("git log -1"))
def endless_branch(site: Site) -> None:
    site.write(".git/refs/heads/main", "ref: refs/heads/main\n")


@kind("HEAD that leads out of the repository", _gives_up("git log -1"))
def head_outside(site: Site) -> None:
    site.write(".git/HEAD", "ref: ../../outside/trap\n")


@kind("extension that git does not know", _gives_up("git status"))
def extension(site: Site) -> None:
    site.set("core.repositoryFormatVersion", "1")
    site.set("extensions.unknown", "true")


@kind("file of 64 GiB", _hangs("git diff"), can_be_copied=False)
def huge_file(site: Site) -> None:
    site.write(".gitattributes", "* -text\n")
    os.truncate(site.workspace / "data.txt", 64 * 1024**3)


@kind("name that is no UTF-8, and one with a line feed", "git status --porcelain | grep -q 'n.*ew' && " + _SPRINGS)
def odd_names(site: Site) -> None:
    for name in (b"\xff\xfe", b"n\new", b"-rf", b"$(true)", b"'"):
        with open(os.fsencode(site.workspace) + b"/" + name, "wb"):  # noqa: PTH123 - no text
            pass
