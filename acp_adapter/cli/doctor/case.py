"""What the checks look at, and how those that wait are ended."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.home import Home
    from tools.redaction import Redact


class Endings:
    """What ends the checks that still wait, from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: list[Callable[[], object]] = []
        self._over = False

    @contextlib.contextmanager
    def by(self, call: Callable[[], object]) -> Iterator[None]:
        """As long as this lasts, `call` ends it; at once where all is over already."""
        with self._changed:
            self._calls.append(call)
            over = self._over
        if over:
            call()
        try:
            yield
        finally:
            with self._changed:
                self._calls.remove(call)
                self._changed.notify_all()

    def end(self, seconds: float) -> None:
        """End whatever waits, and let it tidy up for at most so long."""
        with self._changed:
            self._over = True
            calls = list(self._calls)
        for call in calls:
            with contextlib.suppress(OSError):
                call()
        with self._changed:
            self._changed.wait_for(lambda: not self._calls, seconds)


@dataclass(frozen=True, slots=True)
class Case:
    """What is looked at.

    Attributes:
        user: the person's home directory, where editors keep their settings.
        environ: this process's environment.
        scratch: an empty directory, which is removed afterwards.
        plugins: held while plugins are loaded: two checks do that.
    """

    home: Home
    user: Path
    environ: Mapping[str, str]
    profile: str | None
    scratch: Path
    endings: Endings = field(default_factory=Endings)
    plugins: threading.Lock = field(default_factory=threading.Lock)

    def config(self) -> Configuration | None:
        """The settings; None where they cannot be used, which the check of the settings tells."""
        from agent_core.config import load  # noqa: PLC0415 - loads what settings are made of
        from agent_core.errors import SettingsError  # noqa: PLC0415 - the same

        try:
            return load(self.home, environ=self.environ)
        except SettingsError:
            return None

    def redactor(self) -> Redact:
        """What takes secrets out of what is told: those that look like some, and those of the settings by value."""
        from agent_core.known_secrets import teach  # noqa: PLC0415 - as above
        from tools.redaction import Redactor  # noqa: PLC0415 - the same

        redact = Redactor()
        config = self.config()
        if config is not None:
            teach(redact.learn, config)
        return redact
