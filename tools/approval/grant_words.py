"""Grants and refusals as a person reads them in a list."""

from __future__ import annotations

from collections.abc import Mapping

from tools.approval.scopes import CommandsLike, FilesBelow, Grant, OfServer, PublicWeb, SameKind, SameThing

_WORDS: Mapping[SameKind, str] = {
    "read": "read {0}",
    "secrets": "let commands read the secret files of {0}",
    "write": "edit {0}",
    "delete": "delete {0}",
    "run": "run `{1}` in {0}",
    "outside": "run `{1}` in {0} without the sandbox",
    "type": "type into `{1}`, started in {0}",
    "mcp": "call {1} of the MCP server {0}",
    "own": "call your tool {0}",
    "browse": "use pages of {0}",
    "fetch": "fetch pages of {0}",
    "connect": "let commands reach {0}",
    "search": "search with {0}",
    "memory": "change what is remembered ({0})",
}


def words_of(grant: Grant) -> str:
    """What it is about, on one line: «run `make test` in /srv/project»."""
    match grant:
        case SameThing(kind=kind, what=what):
            words = _WORDS[kind].format(*what)
        case CommandsLike(prefix=prefix):
            words = f"run `{prefix.shown}` in {prefix.cwd}"
        case FilesBelow(kind=kind, directory=directory):
            words = f"{'read' if kind == 'read' else 'edit files'} below {directory}"
        case OfServer(server=server):
            words = f"call every tool of the MCP server {server}"
        case PublicWeb():
            words = "fetch every public web page"
    return " ".join(words.split())
