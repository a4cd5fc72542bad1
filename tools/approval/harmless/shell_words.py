"""Words of the shell itself that change only what nobody looks at."""

from __future__ import annotations

import re
from itertools import pairwise

from tools.approval.harmless.forms import Call
from tools.bash.reading import UNKNOWN

# Names that no program looks at: `read PATH` would let every later word run something else.
_OWN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_HARMLESS_NAME = re.compile(
    r"[a-z_][a-z0-9_]*|LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|COLUMNS|LINES|TERM|FORCE_COLOR|CI|CLICOLOR|OLDPWD"
)
_LOWER_CASE_THAT_COUNTS = frozenset({
    "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "rsync_proxy", "path", "fpath", "cdpath",
    "module_path", "manpath", "prompt", "ps1", "precmd", "preexec", "psvar", "argv", "histchars",
})  # fmt: skip
_NOT_LOOKED_AT = re.compile(r"[-+][euxofC]+|pipefail|errexit|nounset|xtrace|noglob|noclobber|--")
_SHOPTS = frozenset({"-s", "-u", "-q", "nullglob", "globstar", "dotglob", "extglob", "failglob", "nocaseglob"})
# Not `-i`: whatever the variable is given later is computed.
_DECLARED = re.compile(r"-[rxgaA]+|--")
_STORES = re.compile(r"%[-+ #'0-9.*hljztL]*n")


def is_harmless_name(name: str) -> bool:
    """True when a variable of this name changes nothing about what programs do later,
    but for language and colours.
    """
    return _HARMLESS_NAME.fullmatch(name) is not None and name not in _LOWER_CASE_THAT_COUNTS


def tests(call: Call) -> bool:
    """`test` and `[`, but with `-v` an index (`name[$(…)]`) is run; what `[[` and `((` compare is not told."""
    arguments = call.invocation.arguments
    texts = [argument.text for argument in arguments]
    if call.invocation.program in {"[[", "(("} or call.invocation.adds_unknown or "-v" in texts or "-R" in texts:
        return False
    # Two that nobody knows may be `-v` and a name.
    return not any(one.splits for one in arguments) and all(
        one.is_known or other.is_known for one, other in pairwise(arguments)
    )


def printf(call: Call) -> bool:
    """`-v` sets a variable whose name may be an index that is run, and `%n` one that programs are looked for in."""
    first = call.texts[0] if call.texts else None
    if first is None or first.startswith("-v") or any(map(_STORES.search, filter(None, call.texts))):
        return False
    # What is not known of the format may be `%n` as well.
    return UNKNOWN not in (call.texts[1] or UNKNOWN if first == "--" and call.texts[1:] else first)


def reads(call: Call) -> bool:
    """`read` into variables of one's own."""
    return call.are_known and all(text == "-r" or _is_own(text) for text in call.texts)


def sets(call: Call) -> bool:
    """`set` with options that only make the shell stricter."""
    return call.are_known and bool(call.texts) and all(text and _NOT_LOOKED_AT.fullmatch(text) for text in call.texts)


def shopts(call: Call) -> bool:
    """`shopt` with options about globs."""
    return call.are_known and bool(call.texts) and all(text in _SHOPTS for text in call.texts)


def declares(call: Call) -> bool:
    """`export NAME=value` and its like, but not without names: that shows the variables."""
    if not call.are_known:
        return False
    operands = [text for text in call.texts if text is not None and not _DECLARED.fullmatch(text)]
    return bool(operands) and all(is_harmless_name(text.partition("=")[0]) for text in operands)


def unsets(call: Call) -> bool:
    """`unset` of variables of one's own."""
    return call.are_known and all(_is_own(text) for text in call.texts)


def _is_own(text: str | None) -> bool:
    return text is not None and _OWN_NAME.fullmatch(text) is not None and is_harmless_name(text)
