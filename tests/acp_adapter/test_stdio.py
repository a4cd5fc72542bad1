"""Claiming stdin and stdout, shown in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def _run(script: str, *args: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    code = f"import os, sys\nfrom pathlib import Path\nfrom acp_adapter.process import claim_stdio\n{script}"
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-c", code, *args], capture_output=True, timeout=20, cwd=_ROOT, check=True, **options
    )


_TALK = """
stdio = claim_stdio(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
print("a stray print", flush=True)
os.system("echo a stray child; cat")
os.write(stdio.writer, os.read(stdio.reader, 100))
"""


def test_stray_output_goes_to_its_file_and_stray_reads_find_nothing(tmp_path: Path) -> None:
    stray = tmp_path / "stdout.log"
    stray.write_text("from before\n")
    ended = _run(_TALK, str(stray), input=b"protocol")
    assert ended.stdout == b"protocol"
    assert stray.read_text() == "from before\na stray print\na stray child\n"


def test_a_file_that_has_grown_over_its_bound_is_set_aside(tmp_path: Path) -> None:
    stray = tmp_path / "stdout.log"
    with stray.open("wb") as file:
        file.truncate(6 * 1024 * 1024)
    assert _run(_TALK, str(stray), input=b"protocol").stdout == b"protocol"
    assert stray.read_text() == "a stray print\na stray child\n"
    assert (tmp_path / "stdout.log.1").stat().st_size == 6 * 1024 * 1024


def test_without_a_file_stray_output_is_gone(tmp_path: Path) -> None:
    assert _run(_TALK, input=b"protocol").stdout == b"protocol"


def test_a_file_that_cannot_be_opened_is_done_without(tmp_path: Path) -> None:
    assert _run(_TALK, str(tmp_path / "missing" / "stdout.log"), input=b"protocol").stdout == b"protocol"


def test_the_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    stray = tmp_path / "stdout.log"
    _run(_TALK, str(stray), input=b"x")
    assert stray.stat().st_mode & 0o077 == 0


def test_children_do_not_inherit_the_private_descriptors() -> None:
    script = (
        "s = claim_stdio(None)\nkept = [os.get_inheritable(fd) for fd in (s.reader, s.writer)]\n"
        "os.write(s.writer, repr(kept).encode())"
    )
    assert _run(script, input=b"").stdout == b"[False, False]"


def test_a_closed_stderr_does_not_become_the_protocol() -> None:
    script = "os.close(2)\ns = claim_stdio(None)\nos.write(s.writer, repr(min(s.reader, s.writer) > 2).encode())"
    assert _run(script, input=b"").stdout == b"True"


def test_a_closed_stdout_is_an_error() -> None:
    script = "os.close(1)\ntry:\n    claim_stdio(None)\nexcept OSError:\n    os.write(2, b'refused')"
    assert _run(script, input=b"").stderr == b"refused"


def test_a_closed_stdin_is_an_error_and_stdout_stays_as_it_was() -> None:
    script = "os.close(0)\ntry:\n    claim_stdio(None)\nexcept OSError:\n    os.write(1, b'refused')"
    assert _run(script).stdout == b"refused"
