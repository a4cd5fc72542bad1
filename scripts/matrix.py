"""`python -m scripts.matrix`: the suite with each supported Python that is here, and with different packages.

They are the lowest and the newest that pyproject.toml allows, as uv resolves them, and the locked ones. Each run has
an environment in .cache/matrix, with its log beside it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "matrix"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PACKAGES = ("lowest", "locked", "newest")
TESTS = ("--dist", "worksteal", "-m", "not slow and not long")
_RESOLUTION = {"lowest": "lowest-direct", "newest": "highest"}
_SUMMARY = re.compile(r"^(?:\d+ \w+(?:, )?)+ in [\d.]+s.*$", re.MULTILINE)


class NotInstalled(Exception):
    """An environment could not be made; the text is what uv said."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run ended; `code` is that of pytest, None where nothing was run."""

    python: str
    packages: str
    code: int | None
    told: str


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a Markdown table."""
    lines = ["| Python | packages | outcome |", "|---|---|---|"]
    for each in outcomes:
        verdict = "—" if each.code is None else "passed" if each.code == 0 else f"FAILED ({each.code})"
        lines.append(f"| {each.python} | {each.packages} | {verdict}: {each.told} |")
    return "\n".join(lines)


def summary_of(log: str) -> str:
    """Pytest's last line about how many passed."""
    found = _SUMMARY.findall(log)
    return found[-1] if found else "ended without a summary"


def interpreter(version: str) -> str | None:
    """The path of that Python, or None: it is not here. Nothing is downloaded."""
    found = _uv("python", "find", "--no-python-downloads", version)
    return found.stdout.strip() if found.returncode == 0 else None


def place_of(version: str, packages: str) -> Path:
    """The environment of that run."""
    return PLACE / f"{version}-{packages}"


def log_of(version: str, packages: str) -> Path:
    """What pytest told in that run. The dot in a version is none before a suffix: each would have the same log."""
    return PLACE / f"{version}-{packages}.log"


def run(version: str, packages: str, tests: Sequence[str]) -> Outcome:
    """Make the environment, and run the tests in it."""
    python = interpreter(version)
    if python is None:
        return Outcome(version, packages, None, "this Python is not here")
    try:
        made = _install(python, place_of(version, packages), packages)
    except NotInstalled as problem:
        return Outcome(version, packages, 1, f"could not be installed: {problem}")
    log = log_of(version, packages)
    environ = {**os.environ, "PATH": f"{made.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    with log.open("wb") as file:
        ran = subprocess.run(
            [made, "-m", "pytest", *tests], cwd=ROOT, env=environ, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    return Outcome(version, packages, ran.returncode, summary_of(log.read_text(errors="replace")))


def main() -> int:
    """Run what is asked for, one after the other; 1 if anything failed."""
    parser = argparse.ArgumentParser("python -m scripts.matrix", description=__doc__)
    parser.add_argument("--python", action="append", choices=PYTHONS, help="only this version (may be repeated)")
    parser.add_argument("--packages", action="append", choices=PACKAGES, help="only these (may be repeated)")
    parser.add_argument("--workers", default="3", help="how many processes share the suite")
    parser.add_argument("tests", nargs="*", help="pytest's arguments in place of the suite's")
    chosen = parser.parse_args()
    tests = chosen.tests or ("-n", chosen.workers, *TESTS)
    if shutil.which("uv") is None:
        print("uv is needed (https://docs.astral.sh/uv/): it resolves the lowest packages.", file=sys.stderr)
        return 2
    outcomes = []
    for version in chosen.python or PYTHONS:
        for packages in chosen.packages or PACKAGES:
            outcomes.append(run(version, packages, tests))
            print(table(outcomes[-1:]).splitlines()[-1], flush=True)
    print(f"\n{table(outcomes)}")
    return int(any(each.code for each in outcomes))


def _install(python: str, place: Path, packages: str) -> Path:
    _need(_uv("venv", "--quiet", "--clear", "--python", python, str(place)))
    made, wanted = place / "bin" / "python", ROOT / "requirements.lock"
    if packages in _RESOLUTION:
        wanted = place / "requirements.txt"
        asked = ("--extra", "dev", "--python", str(made), "--resolution", _RESOLUTION[packages])
        _need(_uv("pip", "compile", "--quiet", *asked, "pyproject.toml", "--output-file", str(wanted)))
    _need(_uv("pip", "install", "--quiet", "--python", str(made), "--requirement", str(wanted)))
    _need(_uv("pip", "install", "--quiet", "--python", str(made), "--no-deps", "--editable", "."))
    return made


def _uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["uv", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def _need(ran: subprocess.CompletedProcess[str]) -> None:
    if ran.returncode:
        raise NotInstalled(" ".join(ran.stderr.split())[:300])


if __name__ == "__main__":
    sys.exit(main())
