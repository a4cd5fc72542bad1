"""Signs of life of a server of the network: nobody tells of its end while nothing is asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agent_core.mcp.errors import McpCallFailed, McpFailure, McpServerFault
from agent_core.mcp.failures import CLOSED
from agent_core.mcp.peer import Peer

log = logging.getLogger(__name__)


async def keep_alive(
    peer: Peer, every: float, patience: float, is_busy: Callable[[], bool], give_up: Callable[[McpFailure], None]
) -> None:
    """Ask `peer` for a sign of life again and again; returns once there is no more use in that.

    Args:
        every: seconds between two questions; 0: none is asked.
        patience: seconds for an answer.
        is_busy: a call runs, so that nothing need be asked, and the answer might have to wait.
        give_up: is told that it is not there.
    """
    while every and peer.answers_pings:
        await asyncio.sleep(every)
        if is_busy():
            continue
        try:
            async with asyncio.timeout(patience):
                await peer.ping()
        except McpServerFault:
            log.info("a server answers no ping now", exc_info=True)
        except McpCallFailed:
            log.debug("a server knows no pings", exc_info=True)
            return
        except TimeoutError:
            if not is_busy():
                give_up(McpFailure(f"It gave no sign of life for {patience:g} s."))
                return
        except Exception as problem:  # noqa: BLE001 - whatever it is, the server is not there
            give_up(problem if isinstance(problem, McpFailure) else McpFailure(CLOSED))
            return
