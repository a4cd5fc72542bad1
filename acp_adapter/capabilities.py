"""What the client can do, read once from `initialize` into a frozen object. What is not offered is not used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


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


def read_capabilities(raw: object) -> ClientCapabilities:
    """The capabilities in `initialize`'s `clientCapabilities`; whatever is malformed counts as not offered."""
    caps = raw if isinstance(raw, Mapping) else {}
    files, meta, session = _part(caps, "fs"), _part(caps, "_meta"), _part(caps, "session")
    questions = _part(caps, "elicitation")
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
        background_turns=_offers(_part(meta, "hermes"), "backgroundTurns"),
    )


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = value.get(key)
    return part if isinstance(part, Mapping) else {}


def _offers(value: Mapping[str, Any], key: str) -> bool:
    """An offer without a value of its own is an object, empty or not; false and null are none."""
    return isinstance(value.get(key), Mapping) or value.get(key) is True
