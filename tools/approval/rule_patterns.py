"""Which texts, hosts and paths a rule means."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tools.approval.commands.bash import UNKNOWN
from tools.approval.rules import GLOB_SIGNS, PermissionRule
from tools.text.globs import GlobError, split, spread

# Whether a text fits a pattern in which `*` is any text and `?` one character; also where parts are not known.

_LONGEST = 8_000


def fits(pattern: str, text: str) -> bool:
    """Whether `text` fits, whatever stands for its unknown parts: only a `*` covers one of them."""
    return len(text) <= _LONGEST and _fits(_with_optional_rest(pattern), text)


def may_fit(pattern: str, text: str) -> bool:
    """Whether `text` could fit, if its unknown parts are what they may be; letter case does not count."""
    if len(text) > _LONGEST:
        return True
    folded = _with_optional_rest(pattern.casefold())
    # With no sign in it, what is denied is denied with more words, too.
    patterns = folded if "*" in pattern or "?" in pattern else (*folded, f"{pattern.casefold()} *")
    if UNKNOWN not in text:
        return _fits(patterns, text.casefold())
    return any(_could_reach_end(each, text.casefold()) for each in patterns)


def _with_optional_rest(pattern: str) -> tuple[str, ...]:
    """`make *` is `make` alone, too."""
    return pattern, pattern.removesuffix(" *")


def _fits(patterns: tuple[str, ...], text: str) -> bool:
    return any(_compiled(pattern).fullmatch(text) for pattern in patterns)


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Several stars in a row would only make it slow.
    parts = re.split(r"(\*+|\?)", pattern)
    signs = {"?": f"[^{UNKNOWN}]"}
    text = "".join(".*" if part.startswith("*") else signs.get(part, re.escape(part)) for part in parts)
    return re.compile(text, re.DOTALL)


def _could_reach_end(pattern: str, text: str) -> bool:
    """Follow every way through the pattern at once; an unknown part leads to any later place."""
    end = len(pattern)
    places = _past_stars({0}, pattern)
    for sign in text:
        if not places:
            return False
        if sign == UNKNOWN:
            places = set(range(min(places), end + 1))
            continue
        stay = {place for place in places if place < end and pattern[place] == "*"}
        step = {place + 1 for place in places if place < end and pattern[place] in {sign, "?"}}
        places = _past_stars(stay | step, pattern)
    return end in places


def _past_stars(places: set[int], pattern: str) -> set[int]:
    found = set(places)
    for place in places:
        after = place
        while after < len(pattern) and pattern[after] == "*":
            after += 1
            found.add(after)
    return found


@functools.lru_cache(maxsize=512)
def path_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of paths as an expression: `*` stays within a name, `**` goes over several."""
    text = ""
    for part in re.split(r"(\*\*/|/\*\*\Z|\*\*|\*|\?)", pattern):
        match part:
            case "**/":
                text += "(?:.*/)?"
            case "/**":
                text += "/.*"
            case "**":
                text += ".*"
            case "*":
                text += "[^/]*"
            case "?":
                text += "[^/]"
            case _:
                text += re.escape(part)
    return re.compile(text, re.DOTALL)


# Which hosts a rule denies.


def denies_host(pattern: str, place: str) -> bool:
    """Whether a denying rule means `place`: as written, with any port where none is written, and every host below.

    Args:
        place: a host, with a port or without.
    """
    wanted = place.lower()
    host = _without_port(wanted).rstrip(".")
    return any(fits(each, text) for each in (pattern, f"*.{pattern}") for text in (wanted, host))


def _without_port(place: str) -> str:
    host, _, port = place.rpartition(":")
    # Without brackets an address of several parts has no port: its last part may look like one.
    return host if port.isdigit() and (":" not in host or host.endswith("]")) else place


# Rules about files: `read: secrets/**`, `write: src/**`, `delete: *.tmp`.
# A pattern with a slash in it is a path: from each of the session's directories, from `~/` or from `/`. One without
# is a name, wherever it is. A slash at the end means a directory with everything below, which is denied wherever it
# is and allowed where it is from the session's directories.


def covers_path(rule: PermissionRule, path: Path, roots: tuple[Path, ...], *, is_risky: bool) -> bool:
    """Whether an allowing rule means `path`; one that is sensitive has to be named as it is.

    Args:
        path: symbolic links resolved, like the roots.
    """
    if is_risky and rule.has_globs:
        return False
    below = rule.pattern.endswith("/")
    if _is_name(rule.pattern) and not below:
        return any(root in path.parents for root in roots) and _whole(rule.pattern, path.name)
    text = str(path)
    return any(_whole(f"{place}/**" if below else place, text) for place in _places(rule.pattern, roots))


def denies_path(rule: PermissionRule, path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a denying rule means `path` or a directory that it is in. Letter case does not protect."""
    parts = path.parts
    if _is_name(rule.pattern):
        wanted = rule.pattern.rstrip("/").casefold()
        return any(_whole(wanted, part.casefold()) for part in parts[1:])
    above = ("/".join(("", *parts[1:end])) or "/" for end in range(len(parts), 0, -1))
    places = [place.casefold() for place in _places(rule.pattern, roots)]
    return any(_whole(place, text.casefold()) for text in above for place in places)


def spelled_out(rule: PermissionRule) -> Iterator[PermissionRule]:
    """A denying rule, and each that its commas and braces stand for: `*.pem,*.key`, `secrets/{a,b}`.

    Only more is denied by that: the rule itself counts as it is written, too.
    """
    yield rule
    if rule.kind not in {"read", "write", "delete"}:
        return
    parts = split(rule.pattern)
    if any(not part.strip("*/") for part in parts):
        return  # `*,v` is a name with a comma: nobody denies everything, and a little more
    for part in parts:
        with contextlib.suppress(GlobError):
            yield from (replace(rule, pattern=form) for form in spread(part) if form.strip("*/"))


def with_real_places(
    rule: PermissionRule, roots: tuple[Path, ...] = (), resolve: Callable[[str], str] = os.path.realpath
) -> Iterator[PermissionRule]:
    """The rule, and the same for where its paths really are, if links lead there. Looks at the disk.

    Args:
        roots: the session's directories: what a name or a path from there leads to is meant as well.
        resolve: where a path leads; of another machine's, as that has it.
    """
    yield rule
    if rule.kind not in {"read", "write", "delete"}:
        return
    end = "/" if rule.pattern.endswith("/") else ""
    for place in _places(rule.pattern, roots):
        fixed, rest = _fixed_part(place)
        real = resolve(fixed)
        if real != fixed:
            yield replace(rule, pattern=f"{real.rstrip('/')}/{rest}".rstrip("/") + end or "/")


def below_home(rule: PermissionRule, home: str) -> PermissionRule:
    """The rule for the home of another machine, where it names a place in the home. `home` may be a pattern."""
    if rule.kind not in {"read", "write", "delete"} or not _is_from_home(rule.pattern):
        return rule
    return replace(rule, pattern=f"{home.rstrip('/')}/{rule.pattern[2:]}")


def places_denied(rules: Iterable[PermissionRule], roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """The paths that denying rules name without a pattern: a sandbox can hide these as a whole."""
    found = (
        Path(place)
        for rule in rules
        if rule.kind == "read"
        for place in _places(rule.pattern.removesuffix("/**"), roots)
        if GLOB_SIGNS.isdisjoint(place)
    )
    return tuple(dict.fromkeys(found))


def moved(rule: PermissionRule, root: Path, to: Path) -> Iterator[PermissionRule]:
    """The same for a copy `to` of the directory `root`, where the rule names what is there by its whole path.

    What it names from the session's directories, or by its name, it means there anyhow.
    """
    if rule.kind not in {"read", "write", "delete"}:
        return
    if not (rule.pattern.startswith("/") or _is_from_home(rule.pattern)):
        return
    (place,) = _places(rule.pattern, ())
    parts, end = place.split("/"), "/" if rule.pattern.endswith("/") else ""
    for at, above in enumerate(root.parts):
        if at == len(parts):  # the rule is about a directory that `root` is in
            break
        if parts[at] == "**":
            yield replace(rule, pattern="/".join((str(to), *parts[at:])) + end)
            return
        if at and not _whole(parts[at].casefold(), above.casefold()):
            return
    yield replace(rule, pattern="/".join((str(to), *parts[len(root.parts) :])) + end)


def _is_name(pattern: str) -> bool:
    return not pattern.startswith("/") and "/" not in pattern.rstrip("/") and not _is_from_home(pattern)


def _is_from_home(pattern: str) -> bool:
    return pattern.partition("/")[0] == "~"


def _places(pattern: str, roots: tuple[Path, ...]) -> tuple[str, ...]:
    """The absolute patterns that a pattern stands for as a path, without a slash at the end."""
    if _is_from_home(pattern):
        return (str(Path.home() / pattern[2:]),)
    if pattern.startswith("/"):
        return (pattern.rstrip("/") or "/",)
    inside = pattern.removeprefix("./").rstrip("/")
    return tuple(f"{root}/{inside}" for root in roots)


def _fixed_part(place: str) -> tuple[str, str]:
    """The directories before the first sign of a pattern, and the rest."""
    parts = place.split("/")
    first = next((at for at, part in enumerate(parts) if not GLOB_SIGNS.isdisjoint(part)), len(parts))
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def _whole(pattern: str, text: str) -> bool:
    return path_pattern(pattern).fullmatch(text) is not None
