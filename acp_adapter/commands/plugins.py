"""`/plugins` shows the plugins, `/trust` lets those run that the project brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from acp_adapter.commands.command import Desk, Told, Typed
from acp_adapter.commands.markdown import code, plain, table
from agent_core.errors import RequestError

if TYPE_CHECKING:
    from agent_core.plugins.offers import PluginStatus

_NONE = (
    "There are no plugins. Your own are folders with a plugin.yaml in {place}, a project's are in .hermes/plugins."
)
_HOW = (
    "Look at it first. `/trust all`, or `/trust NAME …`, trusts this content: what is changed later does not run "
    "before you trust it again. `/trust none` takes that back."
)


def show_plugins(_typed: Typed, desk: Desk) -> Told:
    """The plugins: where they come from, how it stands with them, what they offer."""
    plugins, cwd = desk.factory.plugins, desk.session.seed.cwd
    statuses = plugins.seen(cwd)
    if not statuses:
        return Told(_NONE.format(place=code(str(desk.factory.home.root / "plugins"))))
    rows = [
        (plain(_name(each)), each.origin, each.state, plain(each.offers.told or each.description))
        for each in statuses
    ]
    notes = [f"- {code(each.name)} {plain(each.detail)}." for each in statuses if each.detail]
    return Told("\n".join((table(("plugin", "from", "state", "offers"), rows), *([""] if notes else []), *notes)))


def trust_project(typed: Typed, desk: Desk) -> Told:
    """Show what the project brings that would run with the person's rights, or trust it as it is now.

    Raises:
        RequestError: there is nothing of that name, or it cannot be read.
    """
    from agent_core.providers.shared_file import SharedFileError  # noqa: PLC0415 - few people type it
    from tools.home_tools import LoadFailed  # noqa: PLC0415

    project, wanted = desk.factory.plugins.project(desk.session.seed.cwd), typed.words.split()
    brought = {each.name: each.folder for each in project.brought()}
    try:
        if wanted == ["none"]:
            was = desk.factory.plugins.state.untrust(project.root)
            end = "what was loaded is used until this program ends" if was else "nothing was trusted"
            return Told(f"Nothing that this project brings is trusted any more; {end}.")
        if not brought:
            return Told("This project brings nothing that could be trusted: no plugins, no hooks.")
        if not wanted:
            return Told(_asked(brought, project.show(), project.statuses))
        names = list(brought) if wanted == ["all"] else wanted
        if unknown := [name for name in names if name not in brought]:
            raise RequestError(f"This project brings no {' and no '.join(unknown)}. It brings {', '.join(brought)}.")
        trusted = project.trust(names)
    except (LoadFailed, SharedFileError) as problem:
        raise RequestError(f"Nothing was trusted: it {problem}") from problem
    lines = [f"- {code(name)}, content {digest[:12]}" for name, digest in trusted.items()]
    problems = [f"- {plain(text)}" for text in project.problems()]
    return Told("\n".join(("Trusted as they are now, from the next prompt on:", *lines, *problems)))


def _asked(brought: Mapping[str, object], digests: Mapping[str, str], statuses: tuple[PluginStatus, ...]) -> str:
    lines = [
        f"- {code(name)}: {code(str(folder))}" + (f", content {digest[:12]}" if (digest := digests.get(name)) else "")
        for name, folder in brought.items()
    ]
    known = [f"- {plain(each.problem)}" for each in statuses if each.problem]
    return "\n".join((
        "This project brings code that would run with your rights, outside the sandbox:",
        *lines,
        *known,
        "",
        _HOW,
    ))  # fmt: skip


def _name(status: PluginStatus) -> str:
    return f"{status.name} {status.version}".rstrip()
