"""The SDKs of services whose sandboxes are this machine: modules for `sys.modules`, which note how they are called.

Each has of its SDK what we use, under the SDK's names; `test_cloud_sdks.py` compares the calls with the real ones.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from tools.environments.guardian import VARIABLE


@dataclass
class Sandboxes:
    """What a service has: its sandboxes by name, and the calls that were made.

    Attributes:
        calls: (what, arguments, named arguments) of each.
        refusal: raised by whatever makes a sandbox.
    """

    folder: Path
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    boxes: dict[str, Box] = field(default_factory=dict)
    refusal: Exception | None = None

    def note(self, what: str, *args: Any, **named: Any) -> None:
        self.calls.append((what, args, named))

    def told(self, what: str) -> list[dict[str, Any]]:
        """The named arguments of all calls of one kind."""
        return [named for name, _, named in self.calls if name == what]

    def make(self, name: str) -> Box:
        if self.refusal is not None:
            raise self.refusal
        self.boxes[name] = Box(self, name)
        return self.boxes[name]

    def end(self) -> None:
        for box in list(self.boxes.values()):
            box.end()


@dataclass
class Box:
    """A sandbox: processes of this machine."""

    owner: Sandboxes
    name: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    is_gone: bool = False
    # What is started while the machine ends ends with it, too.
    lock: threading.Lock = field(default_factory=threading.Lock)

    def popen(self, words: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        # A machine of its own has a disk of its own, and knows nothing of this process.
        env = {**os.environ, "TMPDIR": str(self.owner.folder)}
        env.pop(VARIABLE, None)
        with self.lock:
            if self.is_gone:
                raise RuntimeError(f"the sandbox {self.name} was not found (404)")
            process = subprocess.Popen(list(words), env=env, cwd="/", **streams)
            self.processes.append(process)
        # The first process of a machine reaps what has ended.
        threading.Thread(target=process.wait, daemon=True).start()
        return process

    def end(self) -> None:
        with self.lock:
            self.is_gone = True
        self.owner.boxes.pop(self.name, None)
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()


class LocalTerminal:
    """A program at a terminal."""

    def __init__(self, box: Box, words: Sequence[str], rows: int, columns: int) -> None:
        self._near, far = os.openpty()
        try:
            subprocess.run(["stty", "rows", str(rows), "cols", str(columns)], stdin=far, check=True)
            self.process = box.popen(["setsid", "-c", *words], stdin=far, stdout=far, stderr=far)
        finally:
            os.close(far)
        self._is_over = False

    def read(self) -> bytes:
        while not self._is_over:
            if select.select([self._near], [], [], 0.02)[0]:
                with contextlib.suppress(OSError):
                    return os.read(self._near, 65_536)
                return b""
        return b""

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._near, data) :]

    def kill(self) -> None:
        self._is_over = True
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()

    def __del__(self) -> None:
        os.close(self._near)


def fake_modal(service: Sandboxes) -> dict[str, types.ModuleType]:
    def create(*args: str, **named: Any) -> Any:
        service.note("modal.Sandbox.create", *args, **named)
        return _ModalSandbox(service.make(named["tags"]["hermes-acp"]))

    def found(**named: Any) -> Iterator[Any]:
        service.note("modal.Sandbox.list", **named)
        return iter([_ModalSandbox(box) for box in list(service.boxes.values())])

    def noted(what: str, answer: Any) -> Any:
        return lambda *args, **named: (service.note(what, *args, **named), answer)[1]

    modal = _module("modal")
    modal.App = types.SimpleNamespace(lookup=noted("modal.App.lookup", types.SimpleNamespace(app_id="ap-1")))
    modal.Image = types.SimpleNamespace(
        from_registry=noted("modal.Image.from_registry", "image"),
        debian_slim=noted("modal.Image.debian_slim", "slim"),
    )
    modal.Sandbox = types.SimpleNamespace(create=create, list=found)
    stream_type = _module("modal.stream_type")
    stream_type.StreamType = types.SimpleNamespace(DEVNULL=subprocess.DEVNULL)
    return {"modal": modal, "modal.stream_type": stream_type}


class _ModalSandbox:
    def __init__(self, box: Box) -> None:
        self._box = box

    def get_tags(self) -> dict[str, str]:
        return {"hermes-acp": self._box.name}

    def terminate(self) -> None:
        self._box.owner.note("modal.Sandbox.terminate", None)
        self._box.end()

    def exec(self, *args: str, **named: Any) -> Any:
        self._box.owner.note("modal.Sandbox.exec", None, *args, **named)
        if named.get("pty"):
            return _ModalProcess(LocalTerminal(self._box, args, 24, 80))
        return _ModalProcess(_Pipes(self._box.popen(args, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)))


class _Pipes:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def read(self) -> bytes:
        return os.read(self.process.stdout.fileno(), 65_536)

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()


class _ModalProcess:
    """What is written goes on its way with `drain`, as there."""

    def __init__(self, streams: Any) -> None:
        self._streams = streams
        self._written: list[bytes] = []
        self._ends = False
        self.stdin = self

    @property
    def stdout(self) -> Iterator[bytes]:
        while data := self._streams.read():
            yield data

    def write(self, data: bytes) -> None:
        self._written.append(data)

    def write_eof(self) -> None:
        self._ends = True

    def drain(self) -> None:
        written, self._written = b"".join(self._written), []
        self._streams.write(written)
        if self._ends and isinstance(self._streams, _Pipes):
            self._streams.close()

    def wait(self) -> int:
        return self._streams.process.wait()


def fake_daytona(service: Sandboxes) -> dict[str, types.ModuleType]:
    class Daytona:
        def create(self, params: Any, **named: Any) -> Any:
            service.note("daytona.Daytona.create", None, params, **named)
            return _DaytonaSandbox(service.make(params.name))

        def list(self, query: Any) -> Iterator[Any]:
            service.note("daytona.Daytona.list", None, query)
            return iter([_DaytonaSandbox(box) for box in list(service.boxes.values()) if query.name in box.name])

    def fields(what: str) -> Any:
        return lambda **named: (service.note(what, **named), types.SimpleNamespace(**named))[1]

    daytona = _module("daytona")
    daytona.Daytona = Daytona
    for name in ("CreateSandboxFromImageParams", "CreateSandboxFromSnapshotParams"):
        setattr(daytona, name, fields(f"daytona.{name}"))
    for name in ("ListSandboxesQuery", "PtySize", "Resources"):
        setattr(daytona, name, fields(f"daytona.{name}"))
    return {"daytona": daytona}


class _DaytonaSandbox:
    def __init__(self, box: Box) -> None:
        self._box = box
        self.name = box.name
        self.process = self

    def create_pty_session(self, **named: Any) -> Any:
        self._box.owner.note("daytona._sync.process.Process.create_pty_session", None, **named)
        size = named["pty_size"]
        return _PtyHandle(LocalTerminal(self._box, ["bash", "--norc", "--noprofile", "-i"], size.rows, size.cols))

    def delete(self) -> None:
        self._box.owner.note("daytona._sync.sandbox.Sandbox.delete", None)
        self._box.end()


class _PtyHandle:
    def __init__(self, terminal: LocalTerminal) -> None:
        self._terminal = terminal

    def send_input(self, data: str | bytes) -> None:
        self._terminal.write(data.encode() if isinstance(data, str) else data)

    def __iter__(self) -> Iterator[bytes]:
        while data := self._terminal.read():
            yield data

    def kill(self) -> None:
        self._terminal.kill()

    def disconnect(self) -> None:
        return


def fake_vercel(service: Sandboxes) -> dict[str, types.ModuleType]:
    def create(**named: Any) -> Any:
        service.note("vercel.sandbox.sync.create_sandbox", **named)
        return _VercelSandbox(service.make(named["name"]))

    def found(*, query: Any) -> Iterator[Any]:
        service.note("vercel.sandbox.sync.query_sandboxes", query=query)
        return iter([_VercelSandbox(box) for box in list(service.boxes.values()) if query.name_prefix in box.name])

    def fields(what: str) -> Any:
        return lambda **named: (service.note(what, **named), types.SimpleNamespace(**named))[1]

    sdk = _module("vercel.sandbox.sync")
    sdk.create_sandbox, sdk.query_sandboxes = create, found
    sdk.SandboxResources = fields("vercel.sandbox.sync.SandboxResources")
    sdk.SandboxQueryByName = fields("vercel.sandbox.sync.SandboxQueryByName")
    sdk.NetworkPolicy = types.SimpleNamespace(allow_all=lambda: "allow-all", deny_all=lambda: "deny-all")
    return {"vercel": _module("vercel"), "vercel.sandbox": _module("vercel.sandbox"), "vercel.sandbox.sync": sdk}


class _VercelSandbox:
    def __init__(self, box: Box) -> None:
        self._box = box
        self.name = box.name

    @contextlib.contextmanager
    def open_interactive(self, command: str, args: Sequence[str], **named: Any) -> Iterator[Any]:
        self._box.owner.note("vercel.sandbox.sync.SyncSandbox.open_interactive", None, command, args, **named)
        terminal = LocalTerminal(self._box, [command, *args], named["rows"], named["cols"])
        try:
            yield types.SimpleNamespace(
                stream=types.SimpleNamespace(read=lambda _most: terminal.read(), write=terminal.write)
            )
        finally:
            terminal.kill()

    def destroy(self, **named: Any) -> None:
        self._box.owner.note("vercel.sandbox.sync.SyncSandbox.destroy", None, **named)
        self._box.end()


def _module(name: str) -> Any:
    module = types.ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    return module


FAKES = {"modal": fake_modal, "daytona": fake_daytona, "vercel": fake_vercel}
