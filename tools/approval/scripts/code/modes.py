"""What a script makes of the permissions of files."""

from __future__ import annotations

import re

from tools.approval.dangers.devices import opens_to_others
from tools.approval.scripts.code.calls import Call
from tools.approval.scripts.effects import Effects
from tools.bash.reading import UNKNOWN

_DECIMAL = re.compile(r"[1-9]\d{0,8}")
# Whoever names more of them names one that is looked at.
_MAX_PATHS = 8


def change_mode(call: Call, first_path: int, effects: Effects) -> None:
    """Note what `call` does as the `chmod` of a shell.

    Args:
        first_path: 0 where the path comes before the mode, 1 where paths follow it.
    """
    effects.doubt()
    # What is in brackets counts as a word of its own: `chmod(a[1], 0o777)`.
    modes = [_mode(call, place) for place in (range(1, len(call.words)) if not first_path else (0,))] or [UNKNOWN]
    mode = next((one for one in modes if UNKNOWN not in one and opens_to_others(one)), modes[0])
    paths = call.words[first_path:] if first_path else call.words[:1]
    known = [path for path in paths if UNKNOWN not in path][:_MAX_PATHS]
    for path in known:
        effects.does("chmod {0} -- {1}", mode, path)
    if len(known) < len(paths) and UNKNOWN not in mode and opens_to_others(mode):
        effects.does("chmod {0} -- {1}", mode, UNKNOWN)


def _mode(call: Call, place: int) -> str:
    """The mode as a shell writes it: 493 is `755`, as `0o755` and `0755` are."""
    written = call.word(place)
    is_number = any(token.kind == "number" and token.text == written for token in call.tokens)
    if is_number and _DECIMAL.fullmatch(written):
        return f"{int(written):o}"
    return written.lower().removeprefix("0o")
