"""What a shell command would do: safe, ordinary, dangerous or forbidden.

The command is read with a grammar; each program that it may run is judged by what it does (`dangers/`), each script
in it by its own language (`scripts/`), and patterns are a second net. What is not understood is never safe.
"""

from __future__ import annotations

from pathlib import Path

from tools.approval.commands.classes import CommandClass


def classify_command(command: str, cwd: Path | None = None, roots: tuple[Path, ...] = ()) -> CommandClass:
    """The strongest class of all that `command` may run. Never raises; text alone, no disk.

    Args:
        cwd: where it would run, absolute; relative paths count as inside where it is not known.
        roots: what the session may change, absolute; `cwd` where there are none.
    """
    from tools.approval.commands.classification import classify  # noqa: PLC0415 - much to load

    return classify(command, cwd, roots)


def load_classifier() -> None:
    """Import what `classify_command` needs, so that the first command does not wait for it."""
    import tools.approval.commands.classification  # noqa: F401, PLC0415 - that is what it is for


def detect_dangerous_command(command: str) -> tuple[bool, str]:
    """Whether `command` would not simply run, and why."""
    found = classify_command(command)
    return found.level in {"dangerous", "forbidden"}, found.why
