"""Answers `initialize` and the first `session/new` while the server still loads (it takes a third of a second)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from acp_adapter.capabilities import ClientCapabilities, client_name, read_capabilities
from acp_adapter.errors import wire_error
from acp_adapter.handshake import (
    Greeting,
    SessionSeed,
    initialize_result,
    open_session,
    reopen_session,
    shown_of,
)
from acp_adapter.transport import Transport
from agent_core.errors import HermesError

if TYPE_CHECKING:
    from acp_adapter.first_answer import FirstAnswer, Shown
    from agent_core.config import Configuration

# How long the server's loading waits for a `session/new` that follows `initialize`: it would slow that answer down.
_PATIENCE = 0.3


class Warmup:
    """Loads the settings' code, then, after the first session's answer or a short wait, the server's."""

    def __init__(self, load_server: Callable[[], None], load_sdk: Callable[[], None]) -> None:
        self._load_server = load_server
        self._load_sdk = load_sdk
        self._answered = threading.Event()

    def start(self) -> None:
        """Begin to load, on a thread of its own."""
        threading.Thread(target=self._run, name="warm-up", daemon=True).start()

    def hurry(self) -> None:
        """The first session is answered: load the rest now."""
        self._answered.set()

    def _run(self) -> None:
        import agent_core.config  # noqa: PLC0415
        import agent_core.providers.available_models  # noqa: F401, PLC0415

        self._answered.wait(_PATIENCE)
        self._load_server()
        if not self._answered.is_set():  # there is time: what comes next may need the SDK at once
            self._load_sdk()


def greet(
    transport: Transport,
    configure: Callable[[], Configuration],
    memory: FirstAnswer | None = None,
    load_server: Callable[[], None] = lambda: None,
    load_sdk: Callable[[], None] = lambda: None,
) -> Greeting:
    """Answer what can be answered without the SDK; whatever else comes is put back for the server.

    Args:
        configure: loads the settings; called at the first `session/new` that `memory` does not know the answer to.
        load_server: loads the server's code, on a thread of its own; `load_sdk` the protocol's SDK, where there is
            time.
    """
    greeting = Greeting(memory=memory)
    warmup = Warmup(load_server, load_sdk)
    while message := transport.take():
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize" and isinstance(params.get("protocolVersion"), int) and "id" in message:
            info = params.get("clientInfo")
            greeting.initialized, greeting.client_name = True, client_name(info)
            greeting.client = read_capabilities(params.get("clientCapabilities"), info)
            transport.answer(message["id"], result=initialize_result(greeting.client))
            warmup.start()
        elif method == "session/new" and greeting.initialized and _well_formed(params):
            opened = _answer_session(transport, message, greeting.client, configure, memory)
            greeting.seed, greeting.shown = opened or (None, None)
            break
        else:
            transport.put_back(message)
            break
    else:
        greeting.ended = True
    warmup.hurry()
    return greeting


def _well_formed(params: dict[str, Any]) -> bool:
    """Whether the SDK would accept these parameters; what it would refuse is left to its own error texts."""
    directories, servers = params.get("additionalDirectories", []), params.get("mcpServers")
    return (
        isinstance(params.get("cwd"), str)
        and isinstance(servers, list)
        and isinstance(directories, list)
        and all(isinstance(path, str) for path in directories)
    )


def _answer_session(
    transport: Transport,
    message: dict[str, Any],
    client: ClientCapabilities,
    configure: Callable[[], Configuration],
    memory: FirstAnswer | None,
) -> tuple[SessionSeed, Shown] | None:
    params = message["params"]
    asked = params["cwd"], params.get("additionalDirectories", []), params["mcpServers"]
    try:
        shown = None if memory is None else memory.recall(client)
        if shown is not None:
            seed = reopen_session(*asked, shown)
        else:
            config = configure()
            seed = open_session(*asked, config)
            shown = shown_of(seed, config, client)
    except HermesError as problem:
        transport.answer(message["id"], error=wire_error(problem))
        return None
    except Exception:  # noqa: BLE001 - the server meets it again, and has a log to tell it to
        transport.put_back(message)
        return None
    transport.answer(message["id"], result={"sessionId": seed.session_id, **shown.choices})
    return seed, shown
