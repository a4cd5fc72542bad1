"""What the client can do, read once from `initialize` into a frozen object. What is not offered is not used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ClientHabits:
    """How a client treats what it is sent, where the protocol leaves that to it.

    Attributes:
        collapses_options: the answers of a permission question may become one button for each kind, without their
            names, so that two of a kind cannot be told apart. True of every client that is not known to show names.
        keeps_first_title: a tool call's card keeps the title it was made with, whatever later updates say.
    """

    collapses_options: bool = True
    keeps_first_title: bool = False

    def __or__(self, other: ClientHabits) -> ClientHabits:
        """What either of them permits."""
        return ClientHabits(
            self.collapses_options and other.collapses_options, self.keeps_first_title and other.keeps_first_title
        )


_SHOWS_NAMES = ClientHabits(collapses_options=False)
_HABITS = {
    "agent-shell": _SHOWS_NAMES,
    "agentic.nvim": ClientHabits(collapses_options=False, keeps_first_title=True),
    "jupyter ai": _SHOWS_NAMES,
    "toad": _SHOWS_NAMES,
    "vscode-acp-client": _SHOWS_NAMES,
    "zed": _SHOWS_NAMES,
}
"""By `clientInfo.name`, in small letters. A client stands here because its source was read: "agent-shell" (Emacs),
"Agentic.nvim", "Jupyter AI" (JupyterLab), "toad", "vscode-acp-client" (VS Code, formulahendry.acp-client), "zed".
Known to collapse options, as unknown clients are taken to do: "CodeCompanion.nvim", "vscode-acp", and avante, which
sends no name."""
_FAMILIES = {"jetbrains.": _SHOWS_NAMES, "hermes-acp ": _SHOWS_NAMES}
"""By the beginning of the name: "JetBrains.PyCharm", and this program's own clients."""


def client_name(client_info: object) -> str:
    """What the client calls itself in `initialize`'s `clientInfo` (plain data or the SDK's model); '' without one."""
    name = client_info.get("name") if isinstance(client_info, Mapping) else getattr(client_info, "name", None)
    return name if isinstance(name, str) else ""


def habits_of(client_info: object) -> ClientHabits:
    """What is known of the client that sent this `clientInfo`; of an unknown one the cautious guess."""
    name = client_name(client_info).lower()
    family = next((habits for beginning, habits in _FAMILIES.items() if name.startswith(beginning)), ClientHabits())
    return _HABITS.get(name, family)


class ClientCapabilities(NamedTuple):  # the cheapest to define: the first answer waits for this
    """The client's offers, as far as this agent uses them (ACP v1, initialization: `clientCapabilities`).

    Attributes:
        read_files, write_files: it answers `fs/read_text_file`, `fs/write_text_file`.
        terminals: it answers `terminal/*`.
        terminal_auth: it runs our command in a terminal to sign in.
        terminal_auth_meta: the same, as older clients know it (`_meta["terminal-auth"]`).
        terminal_output: it shows live output sent in `_meta` (terminal_info, terminal_output, terminal_exit).
        boolean_options: it shows config options that are switches.
        form_questions, url_questions: it answers `elicitation/create` in that mode.
        notices: it shows short notes outside the transcript.
        compaction: it shows where a conversation was compressed.
        subagents: it shows the work of sub-agents.
        background_turns: it shows turns that no prompt asked for, and lets the person cancel them
            (`_meta.hermes.backgroundTurns`).
        habits: how it treats what it is sent, as far as that is known by its name, or said by it
            (`_meta.hermes.optionNames`: it shows the name of each answer of a permission question).
    """

    read_files: bool = False
    write_files: bool = False
    terminals: bool = False
    terminal_auth: bool = False
    terminal_auth_meta: bool = False
    terminal_output: bool = False
    boolean_options: bool = False
    form_questions: bool = False
    url_questions: bool = False
    notices: bool = False
    compaction: bool = False
    subagents: bool = False
    background_turns: bool = False
    habits: ClientHabits = ClientHabits()


def read_capabilities(raw: object, client_info: object = None) -> ClientCapabilities:
    """What `initialize` says of a client; whatever is malformed counts as not offered.

    Args:
        raw: its `clientCapabilities`.
        client_info: its `clientInfo`.
    """
    caps = raw if isinstance(raw, Mapping) else {}
    files, meta, session = _part(caps, "fs"), _part(caps, "_meta"), _part(caps, "session")
    questions, ours, habits = _part(caps, "elicitation"), _part(meta, "hermes"), habits_of(client_info)
    if _offers(ours, "optionNames"):
        habits = ClientHabits(collapses_options=False, keeps_first_title=habits.keeps_first_title)
    return ClientCapabilities(
        read_files=files.get("readTextFile") is True,
        write_files=files.get("writeTextFile") is True,
        terminals=caps.get("terminal") is True,
        terminal_auth=_part(caps, "auth").get("terminal") is True,
        terminal_auth_meta=meta.get("terminal-auth") is True,
        terminal_output=meta.get("terminal_output") is True,
        boolean_options=_offers(_part(session, "configOptions"), "boolean"),
        form_questions=_offers(questions, "form"),
        url_questions=_offers(questions, "url"),
        notices=_offers(session, "notices"),
        compaction=_offers(session, "compaction"),
        subagents=_offers(caps, "subagents"),
        background_turns=_offers(ours, "backgroundTurns"),
        habits=habits,
    )


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = value.get(key)
    return part if isinstance(part, Mapping) else {}


def _offers(value: Mapping[str, Any], key: str) -> bool:
    """An offer without a value of its own is an object, empty or not; false and null are none."""
    return isinstance(value.get(key), Mapping) or value.get(key) is True
