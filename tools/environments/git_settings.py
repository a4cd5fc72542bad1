"""The settings in a repository's `.git/config` that make git run programs, or send data elsewhere.

An address of a remote is one of them: its host is reached without a question from the next session on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# As git reads its files: only these are spaces, only a line feed ends a line, and a comment is never continued.
_SPACES = " \t\r"
_SECTION = re.compile(r'\[([A-Za-z0-9.-]*)(?:[ \t\r]+"((?:\\[^\n]|[^"\\\n])*)")?[ \t\r]*\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t\r]*")
_BYTE_ORDER_MARK = "\ufeff"
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n"}
_RUNS = re.compile(
    r"""
    core\.(?:hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|worktree|alternaterefscommand)
  | (?:alias|pager|includeif|guitool|browser|man|mergetool|difftool|instaweb|trailer|hook|sendemail)\..*
  | include\.path
  | filter\..*\.(?:clean|smudge|process)
  | diff\.(?:external|.*\.(?:command|textconv))
  | merge\..*\.driver
  | credential\.(?:.*\.)?helper
  | url\..*\.(?:insteadof|pushinsteadof)
  | gpg\.(?:.*\.)?program | gpg\.ssh\.defaultkeycommand
  | sequence\.editor | interactive\.difffilter
  | uploadpack\.packobjectshook | remote\..*\.(?:url|pushurl|uploadpack|receivepack|vcs|proxy)
  | submodule\..*\.update | protocol\..* | http\.(?:.*\.)?(?:proxy|sslverify|cookiefile) | receive\.procreceiverefs
  | tar\..*\.command | imap\.tunnel | init\.templatedir
  | lfs\.(?:url|pushurl|standalonetransferagent|.*\.(?:path|args|clean|smudge|url|lfsurl))
    """,
    re.VERBOSE | re.DOTALL,
)
# They name a remote, or say by themselves where data goes.
_WHERE_TO = re.compile(r"branch\..*\.(?:remote|pushremote)|remote\.pushdefault", re.DOTALL)


def running_settings(config: bytes) -> frozenset[tuple[str, str]]:
    """Those settings in the text of a config file: (section.subsection.key, value), the names in lower case."""
    return frozenset((name, value) for name, value in all_settings(config) if _counts(name, value))


def all_settings(config: bytes) -> Iterator[tuple[str, str]]:
    """Each setting in the text of a config file, in order: (section.subsection.key, value), the names in lower case.

    A file that git refuses is read on behind the line that it refuses: other readers may be less strict.
    """
    text = config.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")
    at, section = 0, ""
    while at < len(text):
        if text[at] in "\n" + _SPACES:
            at += 1
        elif found := _SECTION.match(text, at):
            section = ".".join(part for part in (found[1], _unescaped(found[2])) if part).lower()
            at = found.end()
        elif found := _KEY.match(text, at):
            value, at = _value(text, found.end())
            yield ".".join(part for part in (section, found[1].lower()) if part), value
        else:
            at = _line_end(text, at)


def hooks_directories(config: bytes) -> tuple[str, ...]:
    """What `core.hooksPath` says: each value, where it says several."""
    return tuple(value for name, value in sorted(running_settings(config)) if name == "core.hookspath")


def included_files(config: bytes) -> tuple[str, ...]:
    """The files that git reads with this one, whatever the condition, as they are named."""
    found = (
        value for name, value in all_settings(config) if re.fullmatch(r"include(?:if\..*)?\.path", name, re.DOTALL)
    )
    return tuple(dict.fromkeys(found))


def _counts(name: str, value: str) -> bool:
    # The name of a remote is nothing to ask about, an address in its place is.
    return bool(_RUNS.fullmatch(name)) or (
        bool(_WHERE_TO.fullmatch(name)) and (":" in value or value.startswith("/"))
    )


def _unescaped(subsection: str | None) -> str:
    return re.sub(r"\\(.)", r"\1", subsection or "")


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str, int]:
    """What stands behind a key, and where the rest of the file begins. A key alone has the value ''."""
    if at >= len(text) or text[at] != "=":
        return "", _line_end(text, at)
    at += 1
    value: list[str] = []
    is_quoted = False
    kept = 0  # what comes behind the last character that counts is cut off: spaces, outside quotes
    while at < len(text) and text[at] != "\n":
        char = text[at]
        if char in "#;" and not is_quoted:
            at = _line_end(text, at)
            break
        at += 1
        if char == '"':
            is_quoted = not is_quoted
            kept = len(value)
        elif char == "\\":
            following = text[at : at + 1]
            at += 1
            if following != "\n":
                value.append(_ESCAPED.get(following, following))
                kept = len(value)
        elif char in _SPACES and not is_quoted:
            value += char if value else ""
        else:
            value.append(char)
            kept = len(value)
    return "".join(value[:kept]), at
