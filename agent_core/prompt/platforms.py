"""The layer that says how answers are shown."""

from __future__ import annotations

from collections.abc import Mapping

_HINTS: Mapping[str, str] = {
    "acp": "Your answers are shown as Markdown in the editor's agent panel, which is narrow: prefer short paragraphs "
    "and lists, avoid wide tables. Tool calls, diffs and command output are shown to the user as they happen: do not "
    "repeat them. Name places as path:line.",
    "cli": "Your answers are shown in a terminal, as plain text: little Markdown, short lines, no tables. "
    "Name places as path:line.",
    "sub-agent": "You are a sub-agent: another agent has given you a task and waits for your report. Nobody answers "
    "questions: decide for yourself, stay within the task, and say what you could not do. Your last message is all "
    "that it gets of your work: what you found or did, what is left open; complete, short, places as path:line.",
}


def platform_text(platform: str) -> str:
    """The hint for what shows the answers («acp», «cli», «sub-agent»); '' for what is not known."""
    return _HINTS.get(platform, "")
