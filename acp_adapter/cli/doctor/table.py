"""Every check, in the order in which they are told."""

from __future__ import annotations

from dataclasses import dataclass

from acp_adapter.cli.doctor.checks.database import check_database
from acp_adapter.cli.doctor.checks.editors import check_editors
from acp_adapter.cli.doctor.checks.elsewhere import check_elsewhere
from acp_adapter.cli.doctor.checks.home import check_home, check_leftovers, check_permissions, check_space
from acp_adapter.cli.doctor.checks.imports import check_imports
from acp_adapter.cli.doctor.checks.mcp import check_servers, try_servers
from acp_adapter.cli.doctor.checks.model import check_key, check_model, check_sign_in
from acp_adapter.cli.doctor.checks.plugins import check_plugins
from acp_adapter.cli.doctor.checks.program import check_packages, check_python
from acp_adapter.cli.doctor.checks.programs import check_git, check_search
from acp_adapter.cli.doctor.checks.running import check_running
from acp_adapter.cli.doctor.checks.sandbox import check_sandbox
from acp_adapter.cli.doctor.checks.server import check_server
from acp_adapter.cli.doctor.checks.settings import check_settings
from acp_adapter.cli.doctor.side_by_side import Check

_MODEL = "model"

CHECKS = (
    Check("python", check_python),
    Check("packages", check_packages),
    Check("imports", check_imports),
    Check("server", check_server, 40.0, waits=True),
    Check("home", check_home),
    Check("permissions", check_permissions),
    Check("leftovers", check_leftovers),
    Check("disk", check_space),
    Check("settings", check_settings),
    Check("key", check_key),
    Check("sign-in", check_sign_in, 90.0, waits=True),
    Check(_MODEL, check_model, 90.0, waits=True),
    # It reads every page: a second for a few hundred MB.
    Check("database", check_database, 300.0),
    Check("sandbox", check_sandbox, 60.0),
    Check("ripgrep", check_search),
    Check("git", check_git),
    Check("mcp server", check_servers),
    Check("terminal", check_elsewhere, 120.0, waits=True),
    Check("plugins", check_plugins, 60.0),
    Check("editor", check_editors),
    Check("running", check_running),
)
"""All of them. The names are part of what `--json` promises."""

_CONNECTED = Check("mcp server", try_servers, 300.0)


@dataclass(frozen=True, slots=True)
class Wish:
    """Which checks are wanted.

    Attributes:
        quick: none that waits for a server or a program of others.
        asks_model: the model is asked.
        connects: MCP servers are connected to.
    """

    quick: bool = False
    asks_model: bool = True
    connects: bool = False

    def checks(self) -> tuple[Check, ...]:
        """The checks."""
        chosen = (check for check in CHECKS if not self._leaves_out(check))
        return tuple(_CONNECTED if self.connects and check.look is check_servers else check for check in chosen)

    def left_out(self) -> tuple[str, ...]:
        """The names of those that are not made."""
        return tuple(check.name for check in CHECKS if self._leaves_out(check))

    def _leaves_out(self, check: Check) -> bool:
        return (self.quick and check.waits) or (not self.asks_model and check.name == _MODEL)
