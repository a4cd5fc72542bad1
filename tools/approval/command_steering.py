"""Which further words make of a command another one: options that name a program, a script or other settings.

«Always `pytest …`» is a yes to the tests of a directory, not to `pytest -p evil`. What is known to change only how
much is shown, or what is left out, may come along; what names code, settings, another place or another server asks.
No list of options is ever complete, so what a word leads to is looked at as well (`command_operands`).
"""

from __future__ import annotations

import re

_SHORT = re.compile(r"-[AGHJ-NQSU-Zahi-nqsu-z]+\d*|-[jn]?\d+")
# Long ones with one dash, as go has them; and what pytest is to sum up.
_SHORT_WORDS = re.compile(r"-(?:run|race|short|bench|benchmem|cover|failfast|json|parallel|timeout|count)|-r[a-zA-Z]")
_LONG = re.compile(r"--[A-Za-z][\w-]*|--")
_STEERS = re.compile(
    r"config|settings|option|override|(?<!max)fil[er]|exec|eval|shell|script|cmd|command|runner|tool|wrapper|interpreter"
    r"|python|node|plugin|require|import|load|init|prefix|root|dir|path|cwd|project|manifest|template|hook|ssh|rc$"
    r"|registry|index|url|host|remote|proxy|endpoint|server|global|force|verify|unsafe|insecure|trust|allow|output|^--out"
    r"|env|user|reporter|formatter|transform|resolver|preset|extension|package|justfile|makefile|amend|delete|hard|with$"
    r"|source|publish|upload|push|define|property|sandbox|preload|entry|main"
)
_SETTING = re.compile(r"\w+=(.*)", re.DOTALL)
_SWITCH = re.compile(r"[\d.]*|yes|no|true|false|on|off", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w+.-]+://|[\w.@-]+:[^:\s]")


def is_mild_option(word: str) -> bool:
    """Whether `word`, which begins with `-`, is an option without a value that only changes how a program does it."""
    if word.startswith("--"):
        return _LONG.fullmatch(word) is not None and not _STEERS.search(word)
    return _SHORT.fullmatch(word) is not None or _SHORT_WORDS.fullmatch(word) is not None


def is_address(word: str) -> bool:
    """Whether `word` is a page's address, or a file's on another machine; `a.py::test` and `fix: it` are none."""
    return _ADDRESS.match(word) is not None


def sets_something(word: str) -> bool:
    """Whether `word` gives a variable a value that is more than a switch: `CC=x`, but not `VERBOSE=1`."""
    found = _SETTING.fullmatch(word)
    return found is not None and not _SWITCH.fullmatch(found[1])


def is_switch(word: str) -> bool:
    """Whether `word` gives a variable a value that is a switch: `VERBOSE=1`."""
    return _SETTING.fullmatch(word) is not None and not sets_something(word)
