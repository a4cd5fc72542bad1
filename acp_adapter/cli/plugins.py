"""`hermes-acp plugins`: what plugins there are, which are on, and which projects' may run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from acp_adapter.cli.main import FAILED, add_profile, command_parser, home_of, say_failed
from acp_adapter.format import one_line, safe_text
from agent_core.config import ConfigSource
from agent_core.plugins.plugin import PluginStatus
from agent_core.plugins.plugins import Plugins
from tools.home_tools import LoadFailed
from tools.toolsets import load_builtin_tools

_EPILOG = """\
Plugins are folders with a plugin.yaml in the folder plugins of your home of settings, and installed packages that
name one. A project's (.hermes/plugins and .hermes/hooks in it) run only once you have trusted the project, as it was
then.

list runs the plugins that are on, to see whether they work. What is decided here counts for what is started later.

exit codes:
  0    it was done
  1    it could not be done; stderr says why; list: a plugin does not work
  2    the command line was wrong

examples:
  hermes-acp plugins list
  hermes-acp plugins disable weather
  hermes-acp plugins trust ~/src/app
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp plugins` with the arguments `argv`; the result is the exit code."""
    options = _parsed(argv)
    try:
        plugins = Plugins(ConfigSource(home_of(options)))
        match options.action:
            case "list":
                return _list(plugins, options.project, as_json=options.json)
            case "enable" | "disable":
                return _switch(plugins, options.name, off=options.action == "disable")
            case "trust":
                return _trust(plugins, options.project)
            case _:
                return _untrust(plugins, options.project)
    except LoadFailed as problem:
        return say_failed("plugins", f"Nothing was trusted: it {problem}.")


def _list(plugins: Plugins, project: Path, *, as_json: bool) -> int:
    load_builtin_tools()  # plugins may replace or extend our own
    plugins.load()
    here = plugins.project(project)
    here.look()
    statuses = (*plugins.statuses, *here.statuses)
    if as_json:
        print(json.dumps([_as_entry(each) for each in statuses], indent=1))
    elif not statuses:
        print("There are no plugins.")
    else:
        for each in statuses:
            print(
                one_line(
                    f"{f'{each.name} {each.version}'.strip():<24} {each.origin:<8} {each.state:<10} {each.place}"
                )
            )
            for line in (each.description, each.offers.told, f"it {each.detail}" if each.detail else ""):
                if line:
                    print(f"    {one_line(line)}")
    return FAILED if any(each.state == "failed" for each in statuses) else 0


def _switch(plugins: Plugins, name: str, *, off: bool) -> int:
    settings = plugins.settings()
    plugins.state.disable(name, off=off)
    print(
        f"The plugin {one_line(name)} is {'off' if off else 'on'} where the program starts from now on; one of a "
        "project's from the next prompt on."
    )
    if not off and not settings.allows(name):
        return say_failed(
            "plugins",
            f"config.yaml keeps it off all the same: look at plugins.enabled and plugins.disabled for {name}.",
        )
    return 0


def _trust(plugins: Plugins, project: Path) -> int:
    things = plugins.project(project).trust()
    if not things:
        return say_failed(
            "plugins", f"{project} brings no plugins (.hermes/plugins) and no hooks (.hermes/hooks/hooks.yaml)."
        )
    print(f"Trusted, as they are now in {safe_text(str(project))}:")
    for name, digest in things.items():
        print(f"  {one_line(name)}  (content {digest[:12]})")
    return 0


def _untrust(plugins: Plugins, project: Path) -> int:
    if not plugins.state.untrust(project):
        return say_failed("plugins", f"Nothing of {project} was trusted.")
    print(f"Nothing of {safe_text(str(project))} is trusted any more.")
    return 0


def _as_entry(status: PluginStatus) -> dict[str, object]:
    return {
        "name": status.name,
        "version": status.version,
        "from": status.origin,
        "place": status.place,
        "state": status.state,
        "detail": status.detail,
        "offers": status.offers.told,
    }


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = command_parser("plugins", "Look at plugins, switch them, and say which projects' may run.", _EPILOG)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list them, and say what is wrong with which", allow_abbrev=False)
    listing.add_argument("--json", action="store_true", help="print a JSON array")
    enable = actions.add_parser("enable", help="switch one on again", allow_abbrev=False)
    disable = actions.add_parser("disable", help="switch one off", allow_abbrev=False)
    trust = actions.add_parser("trust", help="let run what a project brings, as it is now", allow_abbrev=False)
    untrust = actions.add_parser("untrust", help="take that back", allow_abbrev=False)
    for action in (enable, disable):
        action.add_argument("name", metavar="NAME", help="the plugin's name")
    for action in (trust, untrust):
        action.add_argument("project", metavar="PATH", type=_directory, help="the project's directory")
    listing.add_argument(
        "--project", metavar="PATH", type=_directory, default=Path.cwd(), help="the project's too (default: here)"
    )
    for action in (listing, enable, disable, trust, untrust):
        add_profile(action, "whose plugins are meant")
    return parser.parse_args(argv)


def _directory(value: str) -> Path:
    path = Path(value).expanduser().absolute()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {value!r}")
    return path
