"""Commands that go on as prompts: `/init`, `/review`, `/queue`, `/steer`."""

from __future__ import annotations

from acp_adapter.commands.command import AsPrompt, Desk, Outcome, Told, Typed
from agent_core.errors import RequestError

_INIT = """\
Write the file AGENTS.md in the root of this project: what a coding agent that knows nothing of it must know to work \
in it well.

1. Look before you write. Read the README, the build and dependency files, the settings of linters and test runners, \
the continuous-integration files, and enough of the source to see how it is put together. Read what instructions for \
agents there are already, whatever their files are called.
2. If AGENTS.md exists, improve it: keep what is right, correct what is not, add what is missing. Never drop a rule \
that someone wrote by hand without saying so.
3. Write only what you have seen to be so, and what cannot be guessed from a glance at the files: the exact commands \
to set up, build, check and test, with the one for a single test; the structure in a few lines, with the ways that \
data and calls take through it; the conventions that the code really follows; what is generated and must not be \
edited; traps. Try commands that are quick and harmless before you write them down.
4. Be short: under about 120 lines, in plain sentences and lists. No praise, no general advice, no list of all files.

At the end tell in a few sentences what you found and what you were not sure of.\
"""
_REVIEW = """\
Review {what}. Change nothing: no edits, no commits, no commands that have an effect beyond reading and running the \
project's own checks.

1. Find out what belongs to it. {how} Read the code around it as well: callers, tests, what relies on how it was \
before.
2. Look for, in this order: wrong results, lost data, races and failures that nobody handles; security; behaviour \
that changes without being meant to; missing or weak tests; needless complexity. Leave style to the tools.
3. Make sure before you report: read the code that proves it, or run a test. What you could not make sure of is a \
question, not a finding.

Report the findings, the most serious first. For each: the place as path:line, what happens and when, and what would \
mend it. If there is nothing wrong, say so, and what you have looked at.\
"""
_UNCOMMITTED = (
    "`git status` and `git diff HEAD` tell; new files count too. If nothing is uncommitted, take the last commit, "
    "and say so."
)
_NAMED = (
    "It may be a branch, a commit or a range (take the changes that it brings), a path (take what is there), or a "
    "description; say which you took it for."
)


def write_agents_file(typed: Typed, _desk: Desk) -> AsPrompt:
    """Have the model study the project and write AGENTS.md."""
    return AsPrompt(f"{_INIT}\n\nMind this as well: {typed.rest}" if typed.rest else _INIT)


def review(typed: Typed, _desk: Desk) -> AsPrompt:
    """Have the model review what is not committed, or what is named."""
    if not typed.rest:
        return AsPrompt(_REVIEW.format(what="the uncommitted changes of this project", how=_UNCOMMITTED))
    return AsPrompt(_REVIEW.format(what=f"this: {typed.rest}", how=_NAMED))


def queue(typed: Typed, _desk: Desk) -> AsPrompt:
    """A prompt for when the running one is over: that is when it comes here.

    Raises:
        RequestError: there is nothing to send.
    """
    return AsPrompt(_words(typed))


def steer(typed: Typed, desk: Desk) -> Outcome:
    """Tell the running turn's model something; a prompt as any other where none runs.

    Raises:
        RequestError: there is nothing to tell.
    """
    words = _words(typed)
    if not desk.steer(words):
        return AsPrompt(words)
    return Told("Passed on: the model reads it with its next step.", notice=True)


def _words(typed: Typed) -> str:
    if not typed.rest:
        raise RequestError(f"Write what to say behind it, as in /{typed.command.name} Only look at the tests.")
    return typed.rest
