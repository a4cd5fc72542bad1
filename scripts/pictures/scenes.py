"""What is run for the pictures, and where: a home of its own, a small project, the embedded stand-in for a model."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.pictures.pseudo_terminal import Step, played

_ROOT = Path(__file__).parents[2]
_AGENT = (sys.executable, "-P", "-m", "acp_adapter")
_SUMS = "def difference(a, b):\n    return a + b\n"
_CHECK = 'python3 -c "import sums; print(sums.difference(5, 3))"'
_PROMPT = (
    "say The sign is wrong: I mend it, then look.",
    "edit sums.py a + b => a - b",
    f"run {_CHECK}",
    "say Mended.",
)
_ASKED = "Ctrl-C cancels the turn"
_CHANGING = (
    (re.compile(r"\bses_[0-9a-f]{8,}"), "ses_4b5c828ff52f"),
    (re.compile(r"\b\d+\.\d+ s\b"), "… s"),
    (re.compile(r"/\S*?/hermes-acp-demo-\w+/project/"), ""),
    (re.compile(r" in \d+\.\d+s"), " in …s"),
)
"""What differs from run to run: ids, times, places."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One run.

    Attributes:
        title: above the picture; what was typed to begin.
        steps: what is typed, and what is waited for before.
        begins, ends: the first line that is shown has this, the last one that; '' for all.
        until: the moment that is shown, by what is written last; '' for the end.
    """

    name: str
    title: str
    arguments: Sequence[str]
    steps: Sequence[Step] = ()
    begins: str = ""
    ends: str = ""
    until: str = ""


SCENES = (
    Scene("demo", "hermes-acp demo", ("demo",), begins="A project with a bug", ends="The discount is wrong"),
    Scene("mended", "hermes-acp demo", ("demo",), begins="edit     ", ends="Fixed: "),
    Scene(
        "question",
        "hermes-acp chat --offline",
        ("chat", "--offline"),
        (
            Step(">", "\\\r".join(_PROMPT) + "\r"),
            Step(_ASKED, "y"),
            Step("end_turn", ""),
            Step(">", "/exit\r"),
        ),
        begins="> say The sign",
        until=_ASKED,
    ),
)


class Stage:
    """A person's home with a project."""

    def __init__(self, place: Path) -> None:
        self.user = place / "me"
        self.project = self.user / "project"
        self.project.mkdir(parents=True)
        (self.project / "sums.py").write_text(_SUMS, encoding="utf-8")
        self._environment = {
            "HOME": str(self.user),
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(_ROOT),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }

    def play(self, scene: Scene) -> list[str]:
        """The lines of the scene's terminal that are shown, with their colours."""
        raw = played([*_AGENT, *scene.arguments], scene.steps, self.project, self._environment, scene.until)
        lines = [self._settled(line) for line in raw]
        first = next((at for at, line in enumerate(lines) if scene.begins in _plain(line)), 0)
        last = next(
            (at for at, line in enumerate(lines[first:], first) if scene.ends in _plain(line)), len(lines) - 1
        )
        return lines[first : last + 1] if scene.ends else lines[first:]

    def pages(self) -> dict[str, Path]:
        """Pages for the browser, by the picture's name: an exported session, and a recording."""
        recording = self.user / "wire.jsonl"
        self._run("prompt", "--offline", "--approve", "all", "--record", str(recording), "\n".join(_PROMPT))
        listed = self._run("sessions", "list", "--json")
        [session] = re.findall(r'"id": "(ses_\w+)"', listed)
        self._run("sessions", "export", session, "--format", "html", "--output", str(self.user / "session.html"))
        self._run("inspect", str(recording))
        found = {"session.png": self.user / "session.html", "recording.png": self.user / "wire.html"}
        for page in found.values():
            page.write_text(page.read_text(encoding="utf-8").replace(str(self.user), "/home/me"), encoding="utf-8")
        return found

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*_AGENT, *arguments],
            cwd=self.project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def _settled(self, line: str) -> str:
        text = line.replace(str(self.user), "/home/me").replace(sys.executable, "python")
        for pattern, fixed in _CHANGING:
            text = pattern.sub(fixed, text)
        return text


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", line)
