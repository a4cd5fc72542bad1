"""Which rules about files and hosts mean a call of an MCP server: those that mean what it is given.

A server is no program of ours: neither a gate nor a sandbox stands between it and the files, and what it does with a
name nobody sees. So a text that names what must not be read is denied. One that names what must not be changed, or
has such a name among other words, may be meant for something else: that is asked about.

It reads what commands are read with, which takes a while to load, so that it is imported with the first call.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tools.approval.rules.hosts import denies_host
from tools.approval.rules.named import names_in
from tools.approval.rules.paths import denies_path
from tools.approval.rules.rule import Hit, PermissionRule, RuleKind

_KINDS: frozenset[RuleKind] = frozenset({"host", "read", "write", "delete"})
_CHANGES: frozenset[RuleKind] = frozenset({"write", "delete"})
_MOST_TEXTS, _MOST_WORDS, _LONGEST = 1_000, 500, 4_096
_HOST = re.compile(r"://(?:[^\s/@]*@)?(\[[0-9a-f:.]+\]|[^\s/:?#@]+)(:\d+)?", re.IGNORECASE)
# A bare word is a name where there is such a file; with one of these it may be of one that is to come.
_LIKE_A_NAME = re.compile(r"[/.~]")
_ANYTHING = "\0"  # a name that only a pattern for all names fits: who is given a directory looks below it
_AROUND = "'\"`()[]{}<>,;"


def hit_of(
    arguments: str, rules: Sequence[PermissionRule], roots: tuple[Path, ...], *, only_reads: bool
) -> Hit | None:
    """The first denying rule that means what a server is given, a sure one first; None where there is none.

    Args:
        arguments: JSON text.
        roots: the session's directories with symbolic links resolved.
        only_reads: it is asked for a resource.
    """
    about = [rule for rule in rules if rule.kind in _KINDS and not (only_reads and rule.kind in _CHANGES)]
    if not about:
        return None
    texts = list(islice(_texts(arguments), _MOST_TEXTS))
    for rule in about:
        if rule.kind not in _CHANGES and any(_means(rule, text, roots) for text in texts):
            return Hit(rule)
    for rule in about:
        if any(_means(rule, word, roots) for text in texts for word in _words(text)):
            return Hit(rule, is_sure=False)
    return None


def _texts(arguments: str) -> Iterator[str]:
    """Each line of each text in the arguments, of keys too, of the shortest text first: long ones are contents."""
    try:
        given = json.loads(arguments)
    except ValueError:
        given = arguments
    for text in sorted(_strings(given), key=len):
        yield from (line.strip() for line in text.splitlines() if line.strip())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from _strings(each)


def _words(text: str) -> Iterator[str]:
    yield text
    words = (word.strip(_AROUND) for word in text.split(maxsplit=_MOST_WORDS))
    yield from (word for word in words if word != text and _LIKE_A_NAME.search(word))


def _means(rule: PermissionRule, text: str, roots: tuple[Path, ...]) -> bool:
    readings = {text, unquote(text)}
    if rule.kind == "host":
        places = {place for reading in readings for place in _hosts(reading)}
        return any(denies_host(rule.pattern, place) for place in places)
    return any(
        # Unlike a path's own methods these raise for no name: a sentence may be too long for one.
        denies_path(rule, path / _ANYTHING if os.path.isdir(path) else path, roots)  # noqa: PTH112
        for reading in map(_shortened, readings)
        if len(reading) <= _LONGEST
        for root in roots
        for path in names_in(reading, root)
        if _LIKE_A_NAME.search(reading) or os.path.exists(path)  # noqa: PTH110
    )


def _shortened(text: str) -> str:
    """A long text may be a short name with much that means nothing: `././`."""
    return os.path.normpath(text) if len(text) > _LONGEST else text


def _hosts(text: str) -> Iterator[str]:
    if not re.search(r"\s|/", text):
        yield text
    yield from (found[1] + (found[2] or "") for found in _HOST.finditer(text.replace("\\", "/")))
