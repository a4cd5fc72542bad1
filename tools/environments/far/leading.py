"""A script that leads a process group of its own, where whoever starts it does not see to that."""

from __future__ import annotations

from tools.environments.far.wrapping import quoted

_LEADING = """s={script}
kill -0 "-$$" 2>/dev/null || {{ command -v setsid >/dev/null && exec setsid {terminal}sh -c "$s"; }}
eval "$s"
"""


def leading(script: str, *, terminal: bool = False) -> str:
    """The script, as the leader of a group; with `terminal` its input becomes the terminal that controls it.

    Without `setsid` there it runs as it was started: then a signal may not reach all that it has started, and what is
    left is ended with the connection.
    """
    return _LEADING.format(script=quoted(script), terminal="-c " if terminal else "")
