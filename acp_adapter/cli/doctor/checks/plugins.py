"""Whether the plugins of the home and of packages work, shown by loading them; and which projects are trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, well


def check_plugins(case: Case) -> Iterator[Finding]:
    """Each plugin, and each project whose own things are trusted."""
    from agent_core.config import ConfigSource  # noqa: PLC0415 - loads what settings are made of
    from agent_core.plugins.plugins import Plugins  # noqa: PLC0415 - the same
    from agent_core.providers.shared_file import SharedFileError  # noqa: PLC0415 - the same
    from tools.toolsets import load_builtin_tools  # noqa: PLC0415 - the same

    plugins = Plugins(ConfigSource(case.home))
    with case.plugins:
        load_builtin_tools()
        plugins.load()
    for status in plugins.statuses:
        text = f"{status.name} ({status.origin}): {status.state}{f', it {status.detail}' if status.detail else ''}"
        facts: dict[str, Any] = {"plugin": status.name, "status": status.state}
        if status.state == "failed":
            yield failing("plugins", text, f"Mend it, or run `hermes-acp plugins disable {status.name}`.", **facts)
        else:
            yield well("plugins", text, **facts)
    try:
        for project, things in plugins.state.projects().items():
            yield well("plugins", f"trusted in {project}: {', '.join(things)}", project=str(project))
    except SharedFileError as problem:
        yield failing("plugins", problem.public)
