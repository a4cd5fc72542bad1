"""The choices of a new session as they were shown last time: the first `session/new` is answered with them.

To find them out, settings and models have to be loaded, which takes longer than all else that the answer needs. So
they are kept in a file of the home, with a digest of everything that they come from: files, variables, the command
line, and what the client can show. They count only while that is the same. Once the server is loaded they are looked
at again, and the client is shown what has changed nevertheless.

Nothing is decided by this file: which model is asked, and what is asked about, comes from the settings alone.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from acp_adapter import __version__
from agent_core.signed_out import FILE_NAME as SIGNED_OUT
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NONBLOCK

if TYPE_CHECKING:
    from acp_adapter.capabilities import ClientCapabilities
    from agent_core.home import Home

log = logging.getLogger(__name__)

FILE_NAME = "first-answer.json"
_FILES = ("config.yaml", ".env", "model-lists.json", "oauth_tokens.json")
"""What models and their servers are known by, in the home."""
_SAID = re.compile(r"HERMES_|MODEL|PROVIDER|BASE_URL|ENDPOINT|HOST|REGION|PROJECT")
_SECRET = re.compile(r"KEY|TOKEN|SECRET")
"""Whether there is a key decides; some editors make tokens of their own for each start."""
_MOST = 8
"""Clients and command lines of one home that are remembered: an editor each."""
_LOCK_SECONDS = 2.0
_MOST_BYTES = 4 * 1024 * 1024
"""A longer file is none of ours."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the command line chose."""

    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    profile: str | None = None
    verbose: bool = False
    record: str | None = None


class Shown(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """What a client was told of a new session.

    Attributes:
        choices: the answer to `session/new` but for the id.
        editor_terminals: the one choice of a session that the settings decide and that needs no question.
    """

    choices: Mapping[str, Any]
    editor_terminals: bool


class FirstAnswer:
    """The memory of one home, for a process with this command line."""

    def __init__(self, home: Home, options: ServerOptions, environ: Mapping[str, str] | None = None) -> None:
        self._home = home
        self._options = options
        self._environ = os.environ if environ is None else environ

    def recall(self, client: ClientCapabilities) -> Shown | None:
        """What such a client was shown when everything was as it is now; None where nobody knows."""
        if os.path.lexists(self._home.root / SIGNED_OUT):
            return None
        try:
            kept = json.loads(_read(os.path.join(self._home.root, FILE_NAME)))  # noqa: PTH118 - as below
            found = kept["answers"][self._origin(client)]
            modes, options, terminals = found["modes"], found["configOptions"], found["editorTerminals"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        if not (isinstance(modes, dict) and isinstance(options, list) and isinstance(terminals, bool)):
            return None
        return Shown({"modes": modes, "configOptions": options}, terminals)

    def keep(self, client: ClientCapabilities, shown: Shown) -> None:
        """Remember what such a client is shown; where that cannot be written, the next start takes its time."""
        self._change(client, {**shown.choices, "editorTerminals": shown.editor_terminals})

    def forget(self, client: ClientCapabilities) -> None:
        """What such a client was shown is not so: the next start finds out itself."""
        self._change(client, None)

    def _change(self, client: ClientCapabilities, entry: Mapping[str, Any] | None) -> None:
        from agent_core.providers.shared_file import SharedFile, SharedFileError  # noqa: PLC0415 - later

        try:
            with SharedFile(self._home.root / FILE_NAME, durable=False).locked(_LOCK_SECONDS) as draft:
                known = draft.content.get("answers")
                answers = dict(known) if isinstance(known, dict) else {}
                origin = self._origin(client)
                answers.pop(origin, None)
                if entry is not None:
                    answers[origin] = entry
                # The last ones are the youngest.
                draft.content["answers"] = dict([*answers.items()][-_MOST:])
                draft.save()
        except SharedFileError as problem:
            log.info("the first answer is not remembered: %s", problem)

    def _origin(self, client: ClientCapabilities) -> str:
        """A digest of all that the choices come from."""
        import hashlib  # noqa: PLC0415 - after the first answer

        root = self._home.root
        origin = (
            __version__,
            sys.version,
            tuple(client),
            (self._options.model, self._options.provider, self._options.base_url),
            [_stamp(os.path.join(root, name)) for name in _FILES],  # noqa: PTH118 - a Path each is dearer than the rest
            sorted(filter(None, map(_relevant, self._environ.items()))),
        )
        return hashlib.blake2b(repr(origin).encode("utf-8", "replace"), digest_size=20).hexdigest()


def _relevant(variable: tuple[str, str]) -> tuple[str, str] | None:
    name, value = variable
    if _SECRET.search(name.upper()):
        return (name, "set") if value.strip() else None
    return variable if _SAID.search(name.upper()) else None


def _read(path: str) -> bytes:
    """A regular file's content: the first session waits for nothing else.

    Raises:
        OSError, ValueError: there is none.
    """
    descriptor = os.open(path, os.O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - by descriptor
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_BYTES:
            raise ValueError("not ours")
        return file.read(_MOST_BYTES)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
