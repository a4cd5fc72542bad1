"""The layer that tells where the agent works. It comes last: it differs from session to session."""

from __future__ import annotations

from collections.abc import Iterator

from agent_core.prompt.facts import PromptFacts
from tools.environments.git import GitState
from tools.untrusted.scanner import scan

_LONGEST_SUBJECT = 72


def environment_text(facts: PromptFacts) -> str:
    """Directories, machine, repository, programs and date, a line each."""
    return "\n".join(["# Where you work", *_lines(facts)])


def _lines(facts: PromptFacts) -> Iterator[str]:
    if facts.machine:
        yield f"Files and commands are those of another machine: {facts.machine}"
    yield f"Working directory: {facts.cwd}"
    if facts.copy:
        yield facts.copy
    for root in facts.roots:
        if root != facts.cwd:
            yield f"Further directory of the session: {root}"
    yield f"System: {facts.system}; commands run in {facts.shell}"
    if facts.commands:
        yield facts.commands
    yield _repository(facts.git, facts) if facts.git is not None else "In no git repository."
    if facts.programs:
        yield f"On PATH: {', '.join(facts.programs)}"
    if facts.python:
        yield f"Python: {facts.python}"
    if facts.missing:
        yield f"Not on PATH, though the project seems to need it: {', '.join(facts.missing)}"
    yield f"Today is {facts.today}."


def _repository(git: GitState, facts: PromptFacts) -> str:
    told = [f"branch {git.branch}" if git.branch else "no branch checked out"]
    if git.is_dirty is not None:
        told.append("with uncommitted changes" if git.is_dirty else "nothing uncommitted")
    if git.commit:
        told.append(f"last commit {git.commit}{_subject(git)}")
    place = f"Git repository at {git.root}" if git.root != facts.cwd else "Git repository"
    return f"{place}, as it was at the session's start: {', '.join(told)}"


def _subject(git: GitState) -> str:
    """The commit's subject, a short line in quotes; left out where it looks like an attack on agents."""
    line = "".join(char if char.isprintable() else " " for char in git.subject)
    found = scan(line, "context")
    short = " ".join(found.cleaned.split()).replace('"', "'")
    if not short or found.is_blocked:
        return ""
    return f' "{short if len(short) <= _LONGEST_SUBJECT else short[: _LONGEST_SUBJECT - 1].rstrip() + "…"}"'
