"""The settings in a repository's `.git/config` that make git run programs, or send data elsewhere.

An address of a remote is one of them: its host is reached without a question from the next session on.
"""

from __future__ import annotations

import re

_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:\\.|[^"\\])*)")?\s*\]')
_ENTRY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$", re.DOTALL)
_CONTINUED = re.compile(r"\\\r?\n")
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
    """,
    re.VERBOSE | re.DOTALL,
)

# What commands that only look make git run: status, diff, log.
_LOOKING = re.compile(
    r"core\.(?:fsmonitor|hookspath|pager|attributesfile|worktree|alternaterefscommand)|pager\..*|include(?:if)?\..*"
    r"|diff\..*|filter\..*|gpg\..*",
    re.DOTALL,
)
_BUILT_IN = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", ""})


def looking_settings(config: bytes) -> tuple[str, ...]:
    """The names of those settings that git follows also where it only looks."""
    found = sorted(running_settings(config))
    return tuple(name for name, value in found if _LOOKING.fullmatch(name) and value.lower() not in _BUILT_IN)


def running_settings(config: bytes) -> frozenset[tuple[str, str]]:
    """Those settings in the text of a config file: (section.subsection.key, value), the names in lower case.

    What is read is not what git does to the letter: a line that git would refuse may count as a setting.
    """
    text = _CONTINUED.sub("", config.decode("utf-8", "replace"))
    found, section = set(), ""
    for line in text.splitlines():
        rest = line.strip()
        # A section's first entry may stand behind it on the same line.
        while header := _SECTION.match(rest):
            section = ".".join(part for part in (header[1], header[2]) if part).lower()
            rest = rest[header.end() :].strip()
        if (entry := _ENTRY.match(rest)) and _RUNS.fullmatch(name := f"{section}.{entry[1].lower()}"):
            found.add((name, (entry[2] or "").strip()))
    return frozenset(found)


def hooks_directories(config: bytes) -> tuple[str, ...]:
    """What `core.hooksPath` says: each value, where it says several."""
    values = (value for name, value in sorted(running_settings(config)) if name == "core.hookspath")
    return tuple(value.strip('"') for value in values)
