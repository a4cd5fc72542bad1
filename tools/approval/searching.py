"""Commands that print what is in whole directories, whatever files there are: searches below them."""

from __future__ import annotations

import functools
import re
from pathlib import Path

_SEARCHERS = frozenset({"rg", "ag", "ack", "ugrep", "rgrep"})
_GREPS = frozenset({"grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep"})
# In a cluster of short options; long ones may be abbreviated.
_GOES_DOWN = re.compile(r"-[A-Za-z0-9]*[rR].*|--(?:r|de).*|-d.*|--di.*", re.DOTALL)


@functools.lru_cache(maxsize=256)
def searches_below(command: str, cwd: Path) -> bool:
    """Whether one of the programs that `command` runs prints lines of files that the command does not name.

    True as well where it is not sure which options a program gets.
    """
    from tools.bash.read import read_command  # noqa: PLC0415 - much to load, and a start needs none of it

    for each in read_command(command, cwd).invocations:
        texts = [argument.text if argument.is_known else "-r" for argument in each.arguments]
        if each.program in _SEARCHERS or (each.program == "git" and "grep" in texts):
            return True
        may_go_down = each.adds_unknown or any(map(_GOES_DOWN.fullmatch, texts))
        if (each.program in _GREPS or each.program == "diff") and may_go_down:
            return True
    return False
