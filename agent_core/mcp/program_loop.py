"""An event loop for packages that start a program by themselves and leave nobody a say in what variables it gets."""

from __future__ import annotations

import asyncio
import os
from asyncio import SubprocessTransport
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    _Loop = asyncio.SelectorEventLoop
else:
    # On Windows, only the proactor starts programs.
    _Loop = getattr(asyncio, "ProactorEventLoop", asyncio.SelectorEventLoop)

_Protocol = TypeVar("_Protocol", bound=asyncio.BaseProtocol)
_given: ContextVar[Mapping[str, str] | None] = ContextVar("variables_of_programs", default=None)


class ProgramLoop(_Loop):
    """What a task starts within `programs_get` gets those variables in place of this process's."""

    async def subprocess_exec(
        self, protocol_factory: Callable[[], _Protocol], program: Any, *args: Any, **kwargs: Any
    ) -> tuple[SubprocessTransport, _Protocol]:
        """As every loop's."""
        if (given := _given.get()) is not None:
            kwargs["env"] = {**given, **_added(kwargs.get("env"))}
        return await super().subprocess_exec(protocol_factory, program, *args, **kwargs)


@contextmanager
def programs_get(variables: Mapping[str, str]) -> Iterator[None]:
    """Programs that this task, and the tasks that it begins, start meanwhile get these; and what is added for them.

    Raises:
        RuntimeError: the task runs on a loop that does not see to it.
    """
    sees_to_it = isinstance(asyncio.get_running_loop(), ProgramLoop)
    if not sees_to_it:
        raise RuntimeError("programs that are started on this loop would get all variables of this process")
    token = _given.set(variables)
    try:
        yield
    finally:
        _given.reset(token)


def _added(wanted: Mapping[str, str] | None) -> dict[str, str]:
    """What whoever starts the program has added to this process's variables."""
    return {name: value for name, value in (wanted or {}).items() if os.environ.get(name) != value}
