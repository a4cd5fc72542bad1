"""`tracing_program.py SOCKET PROGRAM …`: runs the agent in this process and notes which of its functions are called.

Whoever listens at SOCKET gets, for each line that it writes, a line of JSON: the functions called since the line
before, each as `file: name`, in the order of their first call.
"""

from __future__ import annotations

import json
import runpy
import socket
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

_ROOT = Path(__file__).parents[2]
_OWN = {"acp_adapter", "agent_core", "tools"}
_files: dict[str, str] = {}
"""By a code's file, its path in the project; empty for others' code."""
_called: list[tuple[str, str]] = []


def _trace(frame: FrameType, event: str, _: Any) -> None:
    if event != "call":
        return
    code = frame.f_code
    file = _files.get(code.co_filename)
    if file is None:
        file = _files[code.co_filename] = _own_path(code.co_filename)
    if file:
        _called.append((file, code.co_qualname))


def _own_path(filename: str) -> str:
    path = Path(filename)
    if not path.is_relative_to(_ROOT):
        return ""
    inside = path.relative_to(_ROOT)
    return str(inside) if inside.parts[0] in _OWN else ""


def _report(editor: socket.socket) -> None:
    sys.setprofile(None)
    with editor.makefile("rw", encoding="utf-8") as lines:
        for _ in lines:
            taken, _called[:] = list(dict.fromkeys(_called)), []
            lines.write(json.dumps([f"{file}: {name}" for file, name in taken]) + "\n")
            lines.flush()


def _main() -> None:
    editor = socket.socket(socket.AF_UNIX)
    editor.connect(sys.argv[1])
    threading.Thread(target=_report, args=(editor,), daemon=True).start()
    sys.argv[:] = sys.argv[2:]
    threading.setprofile(_trace)
    sys.setprofile(_trace)
    runpy.run_path(sys.argv[0], run_name="__main__")


_main()
