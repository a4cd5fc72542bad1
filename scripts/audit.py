"""`make audit`: whether a known hole is in one of the packages that `requirements.lock` names.

`pip-audit` asks the database of osv.dev; it has an environment of its own, as nothing else needs it. Without the
network nothing was looked at: that is said, and is no failure.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

_PLACE = Path(".cache/audit")
_PACKAGE = "pip-audit>=2.10,<3"
_NO_NETWORK = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ServiceError", "No matching distribution")
_ASKED = ("--require-hashes", "--disable-pip", "--vulnerability-service", "osv", "--progress-spinner", "off")


def main(lock: str) -> int:
    """Look `lock` up; the exit code is 1 where there is a hole, or the look itself failed."""
    program = _PLACE / "bin" / "pip-audit"
    if not program.exists():
        venv.create(_PLACE, with_pip=True)
        installing = [str(_PLACE / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", _PACKAGE]
        made = subprocess.run(installing, check=False, capture_output=True, text=True)
        if made.returncode:
            return verdict(made.returncode, made.stderr)
    looked = subprocess.run([str(program), "-r", lock, *_ASKED], check=False, capture_output=True, text=True)
    sys.stdout.write(looked.stdout)
    return verdict(looked.returncode, looked.stderr)


def verdict(code: int, complaint: str) -> int:
    """The exit code for what `pip-audit` or its installer said, and the words for whoever runs it."""
    if code and any(sign in complaint for sign in _NO_NETWORK):
        sys.stderr.write("make audit: skipped, nothing was looked at: the database cannot be reached from here.\n")
        return 0
    # Of a traceback the last line says what happened.
    sys.stderr.write("".join(f"{line}\n" for line in complaint.strip().splitlines()[-1:]))
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
