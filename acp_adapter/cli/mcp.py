"""`hermes-acp mcp`: the MCP servers of your settings, looked at, tried, and signed in at."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from acp_adapter.cli.main import add_profile, command_parser, home_of, say_failed
from acp_adapter.format import one_line, safe_text
from agent_core.config import load
from agent_core.mcp.factory import configured_servers, variables_of
from agent_core.mcp.oauth import ServerTokens, signs_in
from agent_core.mcp.sign_in import Found, look, sign_in
from agent_core.mcp.specs import McpFailure, ServerSpec, Transport

_EPILOG = """\
SERVER is a name from mcp_servers in config.yaml, or the address of a server that your editor's settings have.

exit codes:
  0    it was done; test: the server can be used
  1    it could not be done; stderr says why
  2    the command line was wrong

examples:
  hermes-acp mcp list
  hermes-acp mcp login https://mcp.example.com/mcp
  hermes-acp mcp test github
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp mcp` with the arguments `argv`; the result is the exit code."""
    options = _parsed(argv)
    try:
        config = load(home_of(options))
        specs = configured_servers(config, Path.cwd())
        tokens = ServerTokens(config.home.root)
        if options.action == "list":
            return _list(specs, tokens, as_json=options.json)
        spec = _named(options.server, specs, "sse" if getattr(options, "sse", False) else "http")
        if spec is None:
            return say_failed(
                "mcp", f"There is no server {options.server!r} in mcp_servers. Look at `hermes-acp mcp list`."
            )
        if options.action == "logout":
            return _logout(spec, tokens)
        if options.action == "test":
            return _test(spec, tokens, variables_of(config.settings))
        return _login(spec, tokens, opens=not options.no_browser)
    except McpFailure as problem:
        return say_failed("mcp", str(problem))


def _list(specs: Sequence[ServerSpec], tokens: ServerTokens, *, as_json: bool) -> int:
    rows = [(spec, _state(spec, tokens)) for spec in specs]
    if as_json:
        entries = [
            {"name": spec.name, "transport": spec.transport, "place": spec.place(), "state": state}
            for spec, state in rows
        ]
        print(json.dumps(entries, indent=1))
    elif not rows:
        print("There are no servers in mcp_servers. Your editor's own are in its settings.")
    for spec, state in () if as_json else rows:
        print(one_line(f"{spec.name}  {spec.transport}  {spec.place()}{f'  ({state})' if state else ''}"))
    return 0


def _state(spec: ServerSpec, tokens: ServerTokens) -> str:
    if spec.problem:
        return spec.problem
    return "signed in" if spec.transport != "stdio" and tokens.has(spec.url) else ""


def _named(name: str, specs: Sequence[ServerSpec], kind: Transport) -> ServerSpec | None:
    found = next((spec for spec in specs if name in {spec.name, spec.url.rstrip("/") or None}), None)
    if found is None and name.startswith(("https://", "http://")):
        return ServerSpec(name, kind, url=name)
    return found


def _login(spec: ServerSpec, tokens: ServerTokens, *, opens: bool) -> int:
    if not signs_in(spec):
        return say_failed(
            "mcp", f"{spec.name} has no sign-in: it is a program, or has an Authorization header of its own."
        )

    def show(url: str) -> None:
        print(f"Open this page to sign in at {safe_text(spec.place())}:\n\n  {safe_text(url)}\n")
        if sys.stdin.isatty():
            print("If the browser is on another machine, paste the address that it ends at here.")
        sys.stdout.flush()
        if opens and _has_browser():
            webbrowser.open(url)

    found = sign_in(spec, Path.cwd(), tokens, show, _pasted() if sys.stdin.isatty() else None)
    is_in = tokens.has(spec.url)
    told = f"Signed in at {safe_text(spec.place())}" if is_in else f"{safe_text(spec.name)} needs no sign-in"
    print(f"{told}: {_counted(found)}.")
    return 0


def _logout(spec: ServerSpec, tokens: ServerTokens) -> int:
    gone = spec.transport != "stdio" and tokens.forget(spec.url)
    print(f"{'Forgotten' if gone else 'Nothing was kept'}: {safe_text(spec.place())}")
    return 0


def _test(spec: ServerSpec, tokens: ServerTokens, variables: Mapping[str, str]) -> int:
    print(f"{safe_text(spec.name)} can be used: {_counted(look(spec, Path.cwd(), tokens, variables))}.")
    return 0


def _counted(found: Found) -> str:
    return f"{found.tools} tools, {found.prompts} prompts, {found.resources} resources"


def _has_browser() -> bool:
    return sys.platform in {"darwin", "win32"} or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def _pasted() -> Callable[[], Awaitable[str]]:
    async def line() -> str:
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        # No thread waits for it: that would keep the program from its end.
        loop.add_reader(sys.stdin, arrived.set)
        try:
            await arrived.wait()
        finally:
            loop.remove_reader(sys.stdin)
        return sys.stdin.readline()

    return line


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = command_parser(
        "mcp", "Look at the MCP servers of your settings, try them, and sign in at them.", _EPILOG
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the servers of the settings", allow_abbrev=False)
    listing.add_argument("--json", action="store_true", help="print a JSON array")
    test = actions.add_parser("test", help="connect to a server, and say what it offers", allow_abbrev=False)
    login = actions.add_parser("login", help="sign in at a server", allow_abbrev=False)
    login.add_argument("--no-browser", action="store_true", help="only print the address")
    logout = actions.add_parser("logout", help="forget the sign-in at a server", allow_abbrev=False)
    for action in (test, login):
        action.add_argument("--sse", action="store_true", help="an address is that of a server of the older kind")
    for action in (test, login, logout):
        action.add_argument("server", metavar="SERVER", help="its name, or its address")
    for action in (listing, test, login, logout):
        add_profile(action, "whose settings are meant")
    return parser.parse_args(argv)
