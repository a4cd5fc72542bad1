"""The table of built-in commands, and those of them that are prompts."""

from __future__ import annotations

from collections.abc import Mapping

from acp_adapter.commands.command import AsPrompt, Desk, Outcome, SlashCommand, Told, Typed, code, plain
from acp_adapter.commands.custom import show_skills
from acp_adapter.commands.info import (
    manage_tasks,
    show_context,
    show_cost,
    show_servers,
    show_settings,
    show_status,
    show_tools,
    show_version,
    stop_turn,
)
from acp_adapter.commands.session import compact, export, fork, name_session, reset, rewind
from acp_adapter.commands.settings import (
    choose_effort,
    choose_mode,
    choose_model,
    manage_memory,
    manage_permissions,
    plan_first,
    show_plugins,
    trust_project,
)
from agent_core.errors import RequestError
from agent_core.events import Command
from tools.light_dataclass import dataclass

# Commands that go on as prompts: `/init`, `/review`, `/queue`, `/steer`.

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


# The table, and names that people know from other agents. A new command is an entry here and a function.


def _help(_typed: Typed, desk: Desk) -> Told:
    """All commands, the person's own too."""
    others = desk.commands_beside(BUILT_IN)
    lines = [_line(command.offer) for command in COMMANDS]
    if others.own:
        lines += ["", "Your own:", *map(_line, others.own)]
    if others.added:
        lines += ["", "From plugins:", *map(_line, others.added)]
    if others.skills:
        lines += ["", "Skills:", *map(_line, others.skills)]
    if others.prompts:
        lines += ["", "Prompts of MCP servers:", *map(_line, others.prompts)]
    return Told("\n".join(lines))


def _line(command: Command) -> str:
    # A person's own hint often has brackets, as in `[version]`.
    hint = command.hint if command.hint.startswith(("[", "<")) else f"<{command.hint}>"
    typed = f"/{command.name} {hint}" if command.hint else f"/{command.name}"
    return f"- {code(typed)}: {plain(command.description)}"


COMMANDS = (
    SlashCommand("help", "Show all commands", _help),
    SlashCommand("model", "Show the models, or choose one", choose_model, "model"),
    SlashCommand("mode", "Show the permission modes, or choose one", choose_mode, "mode"),
    SlashCommand(
        "permissions",
        "Show what you have allowed and refused, take an answer back, or let it reach further",
        manage_permissions,
        "revoke number, widen number letter, or forget-refusals",
    ),
    SlashCommand(
        "memory",
        "Show what is remembered over sessions, forget or add an entry",
        manage_memory,
        "forget number, or add text",
    ),
    SlashCommand("tools", "Show the tools that the model has", show_tools),
    SlashCommand("skills", "Show the skills, and what is wrong with those that cannot be used", show_skills),
    SlashCommand("plugins", "Show the plugins, and how it stands with them", show_plugins),
    SlashCommand(
        "trust", "Show what this project brings that would run with your rights, or trust it", trust_project, "all"
    ),
    SlashCommand("mcp", "Show how it stands with this session's MCP servers", show_servers),
    SlashCommand(
        "tasks",
        "Show what runs in the background, or stop it",
        manage_tasks,
        "stop id",
        at_once=True,
    ),
    SlashCommand("status", "Show what the agent is doing, and for how long", show_status, "forget", at_once=True),
    SlashCommand("context", "Show what fills the model's window", show_context),
    SlashCommand("compact", "Compress the conversation, so that the model has room again", compact, "what to keep"),
    SlashCommand("cost", "Show what this session has used and cost", show_cost),
    SlashCommand("undo", "Take the last turn back: the conversation, and the files it changed", rewind),
    SlashCommand("rewind", "Take several turns back, with the files they changed", rewind, "how many turns"),
    SlashCommand("redo", "Bring back what the last undo or rewind took away", rewind),
    SlashCommand("reset", "Let the model begin anew; the conversation stays in view", reset),
    SlashCommand("fork", "Copy this conversation into a session of its own", fork),
    SlashCommand("title", "Show this session's title, or give it another", name_session, "title"),
    SlashCommand("export", "Write this conversation to a file", export, "html, md or jsonl"),
    SlashCommand("init", "Study the project and write AGENTS.md", write_agents_file, "what to mind"),
    SlashCommand("review", "Review what is not committed, or what you name; nothing is changed", review, "what"),
    SlashCommand("steer", "Tell the model something while it works", steer, "what to say", at_once=True),
    SlashCommand("queue", "Send a prompt when the running one is over", queue, "prompt"),
    SlashCommand("version", "Show which version this is", show_version),
)

BUILT_IN: Mapping[str, SlashCommand] = {command.name: command for command in COMMANDS}

FOR_THE_MODEL = "If this was for the model, send it again with a word before it."


@dataclass(frozen=True, slots=True)
class Known:
    """What a name does that people know from other agents. It is not offered.

    Attributes:
        words: how many may follow it; with more, it is for the model (`/login answers with 404`). None: any number.
    """

    command: SlashCommand
    words: int | None = 0


def _same_as(name: str, words: int | None = 0) -> Known:
    return Known(BUILT_IN[name], words)


def _say(name: str, text: str, words: int = 0) -> Known:
    """A name that only tells what to type here."""
    told = Told(f"{text} {FOR_THE_MODEL}")

    def tell(_typed: Typed, _desk: Desk) -> Told:
        return told

    return Known(SlashCommand(name, "", tell, at_once=True), words)


_EARLIER = _say(
    "resume",
    "Open an earlier session from your editor's list of sessions. In a terminal, `hermes-acp sessions list` shows "
    "all of them, and `hermes-acp chat --continue` continues the last one of the directory.",
    1,
)
_TAKE_BACK = _say(
    "rollback",
    "`/undo` takes the last turn back, with the files that it changed; `/rewind 3` takes back the last three, and "
    "`/redo` brings them again.",
    1,
)
_LEAVE = _say(
    "quit", "To leave, close the session in your editor. It is saved, and can be opened again from the list."
)
_SETTINGS = Known(SlashCommand("config", "", show_settings, at_once=True))
_THINKING = Known(SlashCommand("reasoning", "", choose_effort), 1)

KNOWN_ELSEWHERE: Mapping[str, Known] = {
    "agents": _same_as("tasks"),
    "approvals": _same_as("permissions"),
    "clear": _same_as("reset"),
    "compress": _same_as("compact", None),
    "config": _SETTINGS,
    "diff": _say(
        "diff",
        "The card of each edit shows its difference. `git diff` in a terminal shows all that is not committed; "
        "`/review` has the model look at it.",
    ),
    "effort": _THINKING,
    "exit": _LEAVE,
    "login": _say(
        "login",
        "Run `hermes-acp setup` in a terminal: it asks for a provider, a model and a key. To sign in at an MCP "
        "server, run `hermes-acp mcp login NAME`.",
        1,
    ),
    "new": _same_as("reset"),
    "plan": Known(SlashCommand("plan", "", plan_first), None),
    "quit": _LEAVE,
    "reasoning": _THINKING,
    "resume": _EARLIER,
    "retry": _say(
        "retry", "`/undo` takes the last turn back, with the files that it changed. Then send your message again."
    ),
    "rollback": _TAKE_BACK,
    "sessions": _EARLIER,
    "settings": _SETTINGS,
    "stop": Known(SlashCommand("stop", "", stop_turn, at_once=True)),
    "usage": _same_as("cost"),
    "yolo": _say(
        "yolo",
        "Nothing was changed. `/mode dont_ask` runs everything in this session without asking, risky commands too; "
        "`/mode accept_edits` stops the questions about edits alone.",
    ),
}
"""By name. A command, skill or MCP prompt that is called so comes first."""
