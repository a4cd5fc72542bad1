"""The port to whoever keeps what files were before they change, so that a person can take a turn back.

The gated ports call it after the approval and right before the effect. It never fails: what it could not keep, it
notes, and the person is told when they ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from tools.ports import CommandSpec
from tools.result import ChangedFile

TakeBack = Callable[[], None]
"""Says of a change that it was not made, since something else was found than it was to be made from."""


class FileHistory(Protocol):
    """The history of one tool call. Paths are absolute with symbolic links resolved."""

    def writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        """`path` is about to hold `after` in place of `before`; None stands for no file."""
        ...

    def moving(self, source: Path, target: Path) -> TakeBack:
        """The file `source` is about to become `target`, where nothing is."""
        ...

    def command(
        self, spec: CommandSpec, unkept: Callable[[str], object] = lambda _: None
    ) -> AbstractContextManager[Sequence[ChangedFile]]:
        """A command runs inside the `with`: what it overwrites, moves or deletes is kept where that can be foreseen,
        and what it has changed is found afterwards: it is in the given sequence then, as far as it was seen.

        Args:
            unkept: is told, before the command runs, what could not be kept in time of what it would take. What it
                raises keeps the command from running.
        """
        ...


def nothing_noted() -> None:
    """There is nothing to take back."""


class NoHistory:
    """Keeps nothing."""

    def writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:  # noqa: ARG002
        """Do nothing."""
        return nothing_noted

    def moving(self, source: Path, target: Path) -> TakeBack:  # noqa: ARG002
        """Do nothing."""
        return nothing_noted

    @contextmanager
    def command(
        self,
        spec: CommandSpec,  # noqa: ARG002
        unkept: Callable[[str], object] = lambda _: None,  # noqa: ARG002
    ) -> Iterator[Sequence[ChangedFile]]:
        """Do nothing."""
        yield ()
