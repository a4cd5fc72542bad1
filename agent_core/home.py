"""The directory that settings, logs and sessions live in. Only the standard library: it is needed at once."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from agent_core.errors import SettingsError
from tools.light_dataclass import dataclass

_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Home:
    """Paths below `HERMES_HOME` (a profile's own directory where one is chosen)."""

    root: Path

    @property
    def config_file(self) -> Path:
        """The user's settings."""
        return self.root / "config.yaml"

    @property
    def env_file(self) -> Path:
        """Keys, as NAME=value lines, for this program only."""
        return self.root / ".env"

    @property
    def database(self) -> Path:
        """Every session, in one file."""
        return self.root / "hermes-acp.db"

    @property
    def blobs(self) -> Path:
        """What files were before they were changed, by the content's hash."""
        return self.root / "blobs"

    @property
    def outputs(self) -> Path:
        """Outputs that were too long to show, by session and call; for seven days."""
        return self.root / "outputs"

    @property
    def trajectories(self) -> Path:
        """Finished turns, as data to train with, where they are wanted."""
        return self.root / "trajectories"

    @property
    def running(self) -> Path:
        """What the turns of each process are doing, while they run."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        """Where logs rotate."""
        return self.root / "logs"

    def make(self, directory: Path) -> Path:
        """Create `directory` (and the home) readable by the user alone.

        Raises:
            OSError: it cannot be created.
        """
        for path in (self.root, directory):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory


def find_home(environ: Mapping[str, str], profile: str | None = None) -> Home:
    """The home that the environment and `--profile` name.

    Raises:
        SettingsError: HERMES_HOME is relative, nobody knows the user's directory, or the profile's name could leave
            the home directory.
    """
    configured = environ.get("HERMES_HOME", "").strip()
    try:
        root = Path(configured).expanduser() if configured else Path.home() / ".hermes"
    except RuntimeError as problem:  # a user whom the system does not know, and no HOME
        raise SettingsError("There is no home directory. Set HOME, or HERMES_HOME to an absolute path.") from problem
    if not root.is_absolute():
        raise SettingsError(f"HERMES_HOME is {configured!r}: it must be an absolute path.")
    if profile is None:
        return Home(Path(os.path.abspath(root)))  # noqa: PTH100 - resolve() would follow links
    if not _PROFILE.fullmatch(profile):
        raise SettingsError(f"--profile {profile!r}: a profile's name is made of letters, digits, '.', '_' and '-'.")
    return Home(Path(os.path.abspath(root)) / "profiles" / profile)  # noqa: PTH100


def user_cache(variables: Mapping[str, str]) -> Path:
    """What of ours is in the user's cache, where commands may see it: none sees the home of this program."""
    cache = variables.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache.startswith("/") else Path.home() / ".cache") / "hermes-acp"
