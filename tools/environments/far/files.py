"""Files on another machine. No policy here: `gated_files` stands in front."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from tools.environments.far.file_calls import FileCalls, Told
from tools.environments.file_errors import file_error
from tools.environments.local_files import is_pseudo
from tools.errors import FileAccessError, FileChanged, FileMissing, FileRefused
from tools.light_dataclass import dataclass
from tools.ports import FileStat, Interrupt, SearchQuery, SearchResult

_MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FarFileSystem:
    """Implements `tools.ports.FileSystem` on another machine, and `Resolves`.

    Attributes:
        where: what messages call the machine.
        search_with: searches there; takes the query, and what ends it.
        reach: sees to a connection before something is asked for; raises CommandError.
    """

    calls: FileCalls
    where: str
    search_with: Callable[[SearchQuery, Interrupt | None], SearchResult]
    interrupt: Interrupt | None = None
    reach: Callable[[], object] | None = None

    def resolve(self, path: Path) -> Path:
        """Where the path leads, with all links resolved."""
        told, data = self._ask("resolve", str(path))
        self._check("look at", path, told)
        return Path(os.fsdecode(data))

    def leads(self, places: Sequence[str]) -> Sequence[Path]:
        """Where what fits absolute patterns of a shell leads, with all links resolved."""
        told, data = self._ask("leads", "/", b"\0".join(map(os.fsencode, places)))
        self._check("look at", Path("/"), told)
        return [Path(os.fsdecode(name)) for name in data.split(b"\0") if name]

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path, None when nothing is there."""
        told, _ = self._ask("stat", str(path))
        if told.get("errno") in {"ENOENT", "ENOTDIR"}:
            return None
        self._check("look at", path, told)
        return FileStat(told["kind"], told["size"], told["mtime"], told["mode"])

    def open(self, path: Path) -> BinaryIO:
        """The content of a regular file, all of it."""
        self._refuse_pseudo(path)
        told, data = self._ask("read", str(path), most=_MOST_BYTES)
        self._check("read", path, told)
        return io.BytesIO(data)

    def open_saved(self, path: Path) -> BinaryIO:
        """As `open`: no editor has another text of it."""
        return self.open(path)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`, whole or not at all; what is in the file now is `data`."""
        self._refuse_pseudo(path)
        if expected is None:
            told, _ = self._ask("create", str(path), data)
            self._check("create", path, told)
        else:
            told, _ = self._ask("write", str(path), expected + data, expected=len(expected))
            self._check("write", path, told)
        return data

    def remarks(self) -> tuple[str, ...]:
        """None: what was written was written by us."""
        return ()

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory, sorted."""
        if is_pseudo(path):
            raise FileRefused(f"Could not list {path}: what is below /proc, /sys and /dev is not looked at.")
        told, data = self._ask("list", str(path))
        self._check("list", path, told)
        return [os.fsdecode(name) for name in data.split(b"\0") if name]

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file, or a link to a file, whose content is `expected`."""
        self._refuse_pseudo(path)
        told, _ = self._ask("remove", str(path), expected)
        self._check("delete", path, told)

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is; the target's parents are created."""
        told, _ = self._ask("rename", str(source), target=str(target))
        if told.get("refused") == "exists":
            raise FileChanged(f"There is already something at {target}; nothing was changed. Look at it first.")
        self._check("move", source, told)

    def change_mode(self, path: Path, mode: int) -> None:
        """Give a file other permission bits."""
        told, _ = self._ask("mode", str(path), mode=mode)
        self._check("change the mode of", path, told)

    def search(self, query: SearchQuery) -> SearchResult:
        """Search names or content below a path, there."""
        facts = self.stat(query.path)
        if facts is None:
            raise FileMissing(f"Could not search {query.path}: there is nothing at that path on {self.where}.")
        if facts.kind == "other" or is_pseudo(query.path):
            raise FileRefused(f"Could not search {query.path}: it is neither a directory nor a regular file.")
        return self.search_with(query, self.interrupt)

    def _refuse_pseudo(self, path: Path) -> None:
        if is_pseudo(path):
            raise FileRefused(f"Could not read {path}: files below /proc, /sys and /dev are not read as text.")

    def _ask(self, do: str, path: str, body: bytes = b"", **fields: Any) -> tuple[Told, bytes]:
        if self.reach is not None:
            self.reach()
        return self.calls.ask(do, path, body, **fields)

    def _check(self, trying: str, path: Path, told: Told) -> None:
        if (word := told.get("refused")) is not None:
            raise _refused(trying, path, word, told.get("text", ""))
        if (name := told.get("errno")) is None:
            return
        number = getattr(errno, name, errno.EIO)
        raise file_error(trying, path, OSError(number, told.get("text") or os.strerror(number), str(path)))


def _refused(trying: str, path: Path, word: str, text: str) -> FileAccessError:
    match word:
        case "changed":
            return FileChanged(f"{path} has changed since it was read; nothing was written. Read it again.")
        case "exists":
            return FileChanged(f"{path} already exists; nothing was written. Read it first.")
        case "size":
            return FileRefused(
                f"Could not {trying} {path}: it has {text} bytes, and {_MOST_BYTES} at most are fetched. "
                "Use head, tail or sed in the terminal."
            )
        case "link":
            return FileRefused(
                f"Could not {trying} {path}: it is a symbolic link that leads elsewhere from there. Use the terminal."
            )
        case _:
            kind = "a directory" if text == "directory" else "a device, pipe or socket"
            return FileRefused(f"Could not {trying} {path}: it is {kind}, not a regular file.")
